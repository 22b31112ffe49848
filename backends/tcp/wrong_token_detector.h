#pragma once

#include <chrono>

#include "backends/tcp/handshake.h"

namespace meshscope::backends::tcp {

/// Whether a client that is not let in holds another token than the server, which says nothing to strangers:
/// it ends the connection right after the proof. Once, that may have another reason (the server ended in that
/// moment, or was crowded); several times in a row, with time between them, it has none.
class WrongTokenDetector {
  public:
    static constexpr int kTries = 3;
    static constexpr std::chrono::milliseconds kBetweenTries{400};

    /// Takes how a try ended; true when the token is another one.
    bool is_settled_by(Refusal refusal) {
        in_a_row_ = refusal == Refusal::unanswered ? in_a_row_ + 1 : 0;
        return in_a_row_ >= kTries;
    }
    /// How long to wait before the next try, where it is `usual` otherwise.
    std::chrono::milliseconds pause(std::chrono::milliseconds usual) const {
        return in_a_row_ > 0 ? kBetweenTries : usual;
    }

  private:
    int in_a_row_ = 0;
};

}  // namespace meshscope::backends::tcp
