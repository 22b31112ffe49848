#pragma once

#include <span>
#include <vector>

#include "core/comm/schedule/step.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

/// Does a rank's steps over a wire, as they are said: one for each collective that runs.
///
/// Messages of one stretch leave from where they lie; those of several, and packed ones, as a copy. A step
/// that writes where a message still leaves from waits for its receiver. Every message but a silent one is a
/// hop of the record.
class ScheduleRun {
  public:
    /// `input` and `output` as the call has them (they may be the same, or null where the algorithm uses none);
    /// `op` is what is reduced with. All must live as long as the run.
    ScheduleRun(Wire& wire, ReduceOp op, const std::byte* input, std::byte* output)
        : wire_(wire), op_(op), input_(input), output_(output) {}

    void step(const Step& step);
    /// Waits until all that was sent was received.
    void finish() { wire_.wait_all(); }

  private:
    /// A message that may still be read, and where from.
    struct Leaving {
        const std::byte* begin;
        const std::byte* end;
        Wire::Post post;
    };
    const std::byte* at(const Stretch& stretch) const;
    /// The same, to write to: nothing leaves from there any more.
    std::byte* to_write(const Stretch& stretch);
    void send(const Step& step);
    void receive(const Step& step);
    void reduce_pieces(const Step& step);
    void unpack(const std::byte* message, std::span<const Stretch> to);

    Wire& wire_;
    ReduceOp op_;
    const std::byte* input_;
    std::byte* output_;
    std::vector<std::byte*> scratch_;
    std::vector<Leaving> leaving_;
};

/// Says and does all steps of this rank by `algorithm`, which has the op; returns when the result is there and
/// everything sent was received. `call` needs no ranks, rank or element size: they are the wire's.
void run_schedule(Wire& wire, Algorithm algorithm, ScheduleQuery call, ReduceOp op, const std::byte* input,
                  std::byte* output);

}  // namespace meshscope::comm
