#pragma once

#include <atomic>
#include <string>

#include "backends/registry.h"
#include "core/run/checkpoint/load.h"
#include "core/run/run.h"
#include "tests/folder.h"

namespace checkpoint_test {

using namespace meshscope;

inline const std::string kSingle = "[parallel]\ndata = \"none\"\n";
inline const std::string kDdp3 = "[mesh]\nshape = [3]\n[parallel]\ndata = \"ddp\"\nbucket_cap_mb = 0.0003\n";
inline const std::string kFsdp4 = "[mesh]\nshape = [4]\n[parallel]\ndata = \"fsdp2\"\n";
inline const std::string kFsdp8 = "[mesh]\nshape = [8]\n[parallel]\ndata = \"fsdp2\"\n";
inline const std::string kFsdp3 = "[mesh]\nshape = [3]\n[parallel]\ndata = \"fsdp2\"\n";
inline const std::string kHsdp =
    "[mesh]\nshape = [2, 3]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n";

inline const std::string kFsdp1 = "[mesh]\nshape = [4]\n[parallel]\ndata = \"fsdp1\"\n";
inline const std::string kZero1 = "[mesh]\nshape = [3]\n[parallel]\ndata = \"zero1\"\n";
inline const std::string kZero2 = "[mesh]\nshape = [4]\n[parallel]\ndata = \"zero2\"\n";

inline const std::string kMixedDdp = kDdp3 + "mixed_precision.param = \"bfloat16\"\n";
inline const std::string kMixedZero2 = kZero2 + "mixed_precision.param = \"bfloat16\"\n";

inline const std::string kDp = "[mesh]\nshape = [3]\n[parallel]\ndata = \"dp\"\n";
inline const std::string kOffload =
    "[mesh]\nshape = [4]\n[parallel]\ndata = \"fsdp2\"\ncpu_offload = true\nreshard_after_forward = 2\n";
inline const std::string kStatic =
    "[mesh]\nshape = [3]\n[parallel]\ndata = \"ddp\"\nbucket_cap_mb = 0.0003\nstatic_graph = "
    "true\ngradient_as_bucket_view = true\n";

inline const std::string kTp = "[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\ndata = \"none\"\n";
inline const std::string kFsdpTp =
    "[mesh]\nshape = [3, 2]\nnames = [\"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n";

inline std::string in_two_stages(const std::string& mesh, const std::string& schedule) {
    return "[mesh]\nshape = " + mesh + "\nschedule = \"" + schedule + "\"\nmicrobatches = 4\n";
}
/// Three replicas: with two the order in which a ring adds is of no account.
inline const std::string kPpDdp = in_two_stages(
    "[2, 3]\nnames = [\"pp\", \"replicate\"]\n[parallel]\ndata = \"ddp\"\nbucket_cap_mb = 0.0002", "GPipe");
inline const std::string kPpZero = in_two_stages(
    "[3, 2]\nnames = [\"shard\", \"pp\"]\n[parallel]\ndata = \"zero1\"\nzero_variant = "
    "\"pytorch\"\nbucket_cap_mb = 0.0002",
    "1F1B");
/// Both stages on each rank of the pipeline.
inline const std::string kPpTp = in_two_stages(
    "[1, 3, 2]\nnames = [\"pp\", \"replicate\", \"tp\"]\n[parallel]\ndata = \"ddp\"\nbucket_cap_mb = 0.0001",
    "ZBVZeroBubble");

inline const std::string kAdamw = "[optimizer]\nkind = \"adamw\"\nlr = 0.01\n";
inline const std::string kMomentum = "[optimizer]\nkind = \"sgd\"\nlr = 0.05\nmomentum = 0.9\n";

/// A small mlp: 10 rows of `up` and 6 of `down`, so that of eight ranks some hold none.
inline std::string text(int steps, const std::string& parallel, const std::string& checkpoint = "",
                        const std::string& optimizer = kAdamw) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 2\nseed = 7\n[data]\n"
           "samples = 480\nseed = 3\n[train]\nsteps = " +
           std::to_string(steps) + "\nglobal_batch = 24\nclip_norm = 1.0\n" + optimizer + parallel +
           (checkpoint.empty() ? "" : "[checkpoint]\n" + checkpoint);
}

inline run::RunResult run_at(const std::string& toml, const test::Folder& folder,
                             run::RunOptions options = {}) {
    return run::run_scenario(scenario::parse_scenario(toml, folder.file("s.toml")),
                             *backends::make_registry(), options);
}

/// Opens a checkpoint as a run of this scenario would.
inline run::checkpoint::Checkpoint open(const std::string& path, const std::string& toml) {
    const scenario::Scenario scenario = scenario::parse_scenario(toml, "s.toml");
    return run::checkpoint::Checkpoint(path, run::checkpoint::identity_of(scenario), scenario,
                                       *nn::make_model(scenario.model));
}

}  // namespace checkpoint_test
