#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::parallel::pipeline {

/// What a rank does in a pipeline. The words are PyTorch's (torch/distributed/pipelining/schedules.py,
/// _ComputationType): F, I (input gradient), W (weight gradient), B (I and W together), then what lowering
/// adds.
enum class ActionKind : uint8_t {
    forward,
    input_grad,
    weight_grad,
    backward,
    unshard,
    reshard,
    send_f,
    recv_f,
    send_b,
    recv_b,
    wait_send_f,
    wait_recv_f,
    wait_send_b,
    wait_recv_b,
    reduce_grad,
    wait_reduce_grad,
    overlap_f_b
};
inline constexpr int kActionKinds = 17;

/// PyTorch's word: "F", "SEND_F", "OVERLAP_F_B".
std::string_view word(ActionKind kind);

/// F, I, W or B: what takes a stage's time. (OVERLAP_F_B is made of two of them.)
bool is_compute(ActionKind kind);

/// One action of one stage on one micro-batch, or two at once.
struct Action {
    ActionKind kind = ActionKind::forward;
    int32_t stage = -1;         ///< -1 for OVERLAP_F_B
    int32_t microbatch = -1;    ///< -1 where there is none: UNSHARD, RESHARD, REDUCE_GRAD, OVERLAP_F_B
    std::vector<Action> parts;  ///< OVERLAP_F_B's forward and backward

    friend bool operator==(const Action&, const Action&) = default;
};

/// A time slot: an action, or nothing (idle).
using Slot = std::optional<Action>;

/// PyTorch's text: `[stage][kind](micro-batch)`, "2F0", "1UNSHARD", "(0F7;7B3)OVERLAP_F_B".
std::string to_text(const Action& action);
/// "" when idle.
std::string to_text(const Slot& slot);

/// Reads what to_text() writes; spaces round it are skipped, "" is idle. Stricter than PyTorch's, which
/// forgives letters after a match: throws InvalidArgument ("pipeline.bad_action": text).
Slot parse_action(std::string_view text);

}  // namespace meshscope::parallel::pipeline
