#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/message.h"
#include "core/comm/transport.h"

namespace meshscope::backends::mpi {

/// What a rank says of its end: how its body ended, that it is failing, or that it makes no more calls.
struct End {
    int32_t rank = -1;
    int64_t at_ns = 0;  ///< of the system clock: which of two failures came first
    bool failed = false;
    bool secondary = false;
    bool over = false;  ///< the body is over; else a word ahead
    Message message;    ///< why it failed, see message_of(); without id when that is not yet known
    /// Not 0: only that it ended its calls, for the how many-th time; what follows is on channels from
    /// `first` on (comm::end_calls).
    int64_t rounds_ended = 0;
    comm::Channel first{};
};

std::vector<std::byte> pack(const End& end);
/// Throws InvalidArgument for bytes that pack() did not make.
End unpack_end(std::span<const std::byte> bytes, int32_t rank);

}  // namespace meshscope::backends::mpi
