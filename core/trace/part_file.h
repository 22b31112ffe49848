#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/message.h"
#include "core/trace/recorder.h"
#include "core/trace/trace.h"

namespace meshscope::trace {

/// The run that a part file belongs to; its first chunk.
struct PartHead {
    RunInfo info;  ///< what is known before the first step; losses, norms and weights are left out
    std::vector<Group> groups;
    int64_t run = 0;  ///< the same for all parts of one run, another for the next
    int32_t rank = 0;
};

/// Where a rank's part lies while a run that will write `trace_path` lasts: "hsdp.mscope.rank-3.part".
std::string part_path(const std::string& trace_path, int32_t rank);

/// Whether a rank of a run that was to write `trace_path` left its steps beside it.
bool has_parts(const std::string& trace_path, int32_t ranks);

/// What one rank recorded, appended while its run lasts, so that a run that is killed leaves it. The file is
/// eight bytes "MESHPART" and then chunks: 8 bytes length, and what a Packer laid down, whose last four bytes
/// are the CRC-32C of the rest. It is for the same build on the same kind of machine, and outlives the
/// process, not a power cut: nothing is forced to the disk.
///
/// It is a copy for bad days, so nothing throws: what could not be written is kept in failure(), and nothing
/// more is appended after it.
class PartWriter {
  public:
    /// Creates the file, or empties the one that an earlier run left.
    PartWriter(const std::string& trace_path, const PartHead& head);
    ~PartWriter();
    PartWriter(const PartWriter&) = delete;
    PartWriter& operator=(const PartWriter&) = delete;

    /// One chunk. Cost: one copy and one write().
    void append(const RankRecord& rows, std::span<const double> losses, std::span<const double> grad_norms);

    /// "part.taken" {path}, "part.cannot_write" {path, reason}.
    const std::optional<Message>& failure() const { return failure_; }

  private:
    void write(std::span<const std::byte> bytes);

    std::string path_;
    int file_ = -1;
    std::optional<Message> failure_;
};

/// A part file as far as it is whole.
struct Part {
    PartHead head;
    RankRecord record;
    std::vector<double> losses, grad_norms;  ///< one a step that this rank knows
    bool cut = false;                        ///< its last chunk was not whole, and is left out
};

/// Reads a part file up to its first chunk that is cut or damaged. Throws IoError "trace.cannot_open" {path,
/// reason}; InputError "part.foreign" {path} when its head is no part file's of this build.
Part read_part(const std::string& path);

/// Removes the parts of ranks 0 to ranks - 1, as far as they are there.
void remove_parts(const std::string& trace_path, int32_t ranks) noexcept;

}  // namespace meshscope::trace
