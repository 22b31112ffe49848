#include "core/parallel/pipeline/schedule.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/parallel/pipeline/schedules/interleaved_rank.h"
#include "core/parallel/pipeline/schedules/schedules.h"
#include "core/parallel/pipeline/simulate.h"

namespace meshscope::parallel::pipeline {
namespace {

using RankFunction = std::vector<Slot> (*)(const ScheduleShape&, int32_t);
constexpr std::array<RankFunction, kScheduleKinds> kRankFunctions{schedules::gpipe,
                                                                  schedules::one_f_one_b,
                                                                  schedules::interleaved_1f1b,
                                                                  schedules::looped_bfs,
                                                                  schedules::interleaved_zero_bubble,
                                                                  schedules::zbv_zero_bubble,
                                                                  schedules::dual_pipe_v};

bool is_single(ScheduleKind kind) {
    return kind == ScheduleKind::gpipe || kind == ScheduleKind::one_f_one_b;
}

bool is_v(ScheduleKind kind) {
    return kind == ScheduleKind::zbv_zero_bubble || kind == ScheduleKind::dual_pipe_v;
}

/// The nearest numbers of micro-batches, below and above, that an interleaved schedule can run.
std::array<int64_t, 2> nearest_by_rounds(ScheduleShape shape) {
    const auto possible = [&](int32_t microbatches) {
        shape.microbatches = microbatches;
        return microbatches % schedules::rounds_of(shape) == 0;
    };
    int32_t below = shape.microbatches, above = shape.microbatches;
    while (!possible(below)) --below;  // ends at 1
    while (!possible(above)) ++above;  // ends at the next multiple of the ranks
    return {below, above};
}

}  // namespace

std::string_view name(ScheduleKind kind) {
    return kScheduleNames[static_cast<std::size_t>(kind)];
}

std::optional<ScheduleKind> parse_schedule_kind(std::string_view text) {
    const auto found = std::ranges::find_if(
        kScheduleNames, [&](std::string_view each) { return equal_ignoring_case(text, each); });
    if (found == kScheduleNames.end()) return std::nullopt;
    return static_cast<ScheduleKind>(found - kScheduleNames.begin());
}

int32_t default_stages_per_rank(ScheduleKind kind) {
    return is_single(kind) ? 1 : 2;
}

std::vector<int32_t> rank_of_stage(const ScheduleShape& shape) {
    std::vector<int32_t> ranks;
    for (int32_t stage = 0; stage < shape.stages(); ++stage) {
        const int32_t place = stage % shape.ranks;
        const bool back = is_v(shape.kind) && stage / shape.ranks % 2 == 1;
        ranks.push_back(back ? shape.ranks - 1 - place : place);
    }
    return ranks;
}

std::optional<Message> why_impossible(const ScheduleShape& shape) {
    const std::string kind(name(shape.kind));
    const int64_t ranks = shape.ranks, microbatches = shape.microbatches;
    if (shape.ranks < 1 || shape.microbatches < 1 || shape.stages_per_rank < 1)
        return Message{"pipeline.sizes",
                       {{"ranks", ranks},
                        {"stages_per_rank", int64_t{shape.stages_per_rank}},
                        {"microbatches", microbatches}}};
    const int32_t wanted = default_stages_per_rank(shape.kind);
    if ((is_single(shape.kind) || is_v(shape.kind)) && shape.stages_per_rank != wanted)
        return Message{
            "pipeline.stages_per_rank",
            {{"schedule", kind}, {"found", int64_t{shape.stages_per_rank}}, {"wanted", int64_t{wanted}}}};
    const int64_t least = shape.kind == ScheduleKind::one_f_one_b   ? ranks
                          : shape.kind == ScheduleKind::dual_pipe_v ? shape.stages()
                                                                    : 1;
    if (microbatches < least)
        return Message{"pipeline.microbatches_least",
                       {{"schedule", kind},
                        {"ranks", ranks},
                        {"stages", int64_t{shape.stages()}},
                        {"microbatches", microbatches},
                        {"least", least},
                        {"most_ranks", std::max<int64_t>(1, microbatches / shape.stages_per_rank)}}};
    if (shape.kind == ScheduleKind::interleaved_1f1b || shape.kind == ScheduleKind::interleaved_zero_bubble)
        if (const int64_t rounds = schedules::rounds_of(shape); microbatches % rounds != 0) {
            const auto [below, above] = nearest_by_rounds(shape);
            return Message{"pipeline.microbatches_rounds",
                           {{"schedule", kind},
                            {"ranks", ranks},
                            {"microbatches", microbatches},
                            {"rounds", rounds},
                            {"below", below},
                            {"above", above}}};
        }
    return std::nullopt;
}

Schedule make_schedule(const ScheduleShape& shape) {
    if (auto reason = why_impossible(shape)) throw InvalidArgument(std::move(*reason));
    Schedule schedule{shape, {}, rank_of_stage(shape)};
    for (int32_t rank = 0; rank < shape.ranks; ++rank)
        schedule.order.push_back(kRankFunctions[static_cast<std::size_t>(shape.kind)](shape, rank));
    if (is_single(shape.kind)) schedule.order = in_slots(schedule);
    if (shape.kind == ScheduleKind::interleaved_zero_bubble) schedules::add_forward_bubbles(schedule.order);
    return schedule;
}

}  // namespace meshscope::parallel::pipeline
