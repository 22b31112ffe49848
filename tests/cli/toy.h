#pragma once

#include <string>

/// The smallest scenario: four ranks, two steps.
inline const std::string kToy =
    "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 2\nglobal_batch = 8\n"
    "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n";
