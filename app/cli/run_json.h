#pragma once

#include <string>

#include "core/run/run.h"

namespace meshscope::cli {

/// The contract of `run --json`: losses and gradient norms (clipping only) as doubles that read back the
/// same, world size, every rank's collectives in the order it issued them (set-up has step -1), and every
/// rank's memory peak; and where a device tells what its allocator gave out, that.
std::string run_json(const run::RunResult& result);

/// `run --save`: the trained parameters as safetensors, each whole, in float32. Throws IoError
/// "file.cannot_write".
void save_parameters(const run::RunResult& result, const std::string& path);

}  // namespace meshscope::cli
