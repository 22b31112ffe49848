#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/parallel/pipeline/schedule.h"

namespace meshscope::parallel::pipeline {

/// One row a rank, one field a time slot, empty when idle: what PyTorch's _dump_csv writes and _load_csv
/// reads (Python's csv module: rows end with "\r\n"; no action needs quotes).
std::string to_csv(const std::vector<std::vector<Slot>>& order);

/// Reads such a text, with "\n" or "\r\n". Throws InputError ("pipeline.bad_action", with line and column)
/// with every field that is no action. `file` is what messages call it.
std::vector<std::vector<Slot>> from_csv(std::string_view text, const std::string& file);

}  // namespace meshscope::parallel::pipeline
