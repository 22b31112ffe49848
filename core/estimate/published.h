#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/estimate/job.h"
#include "core/time/profile.h"

namespace meshscope::estimate {

/// What kind of memory a source printed.
enum class MemoryKind : uint8_t { allocated, reserved, active, whole_process, unknown };
std::string_view word(MemoryKind kind);

/// A published training run: what it was, and what its source measured.
struct PublishedRun {
    std::string id, family;  ///< the family is the id up to its first "-"
    std::string tier;        ///< "A": dense, 16 bits, every setting stated; "B", "C", "M": docs/validation.md
    std::string gpu;         ///< a hardware profile's name, with the family's network
    int64_t gpus_per_node = 8;
    time::Profile profile;
    Job job;
    std::optional<double> step_ms;
    std::optional<double> memory_bytes;
    MemoryKind memory_kind = MemoryKind::unknown;
    bool last_stage = false;  ///< the memory is the last stage's; else the fullest one's
    std::optional<Message>
        skipped;  ///< why nothing is estimated: no such GPU, fp8, experts, a size not stated
    /// GPUs wait for the host in most of its time, or the model is a toy: no part of scores of time.
    bool launch_bound = false;
};

/// The runs of a file in the form that docs/validation.md describes: a JSON list of objects. A run that this
/// version cannot express is kept and says why it is skipped. Throws IoError, and InputError for a file that
/// is no such list
/// ("estimate.file.…": the row's number and key). Cost: linear in the file.
std::vector<PublishedRun> read_published(const std::string& path);
/// The same of a text that was read from `path`.
std::vector<PublishedRun> parse_published(std::string_view text, const std::string& path);

/// The runs inside this program, core/estimate/published/runs.json: figures and their sources. Read once.
const std::vector<PublishedRun>& published_runs();

}  // namespace meshscope::estimate
