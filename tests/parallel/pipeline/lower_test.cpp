// Lowering: what PyTorch adds to a compute order, on small cases worked by hand from its rules.
#include "core/parallel/pipeline/lower.h"

#include <map>
#include <set>

#include "core/base/error.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::parallel::pipeline;

namespace {

std::vector<Slot> slots(const std::vector<std::string>& texts) {
    std::vector<Slot> result;
    for (const std::string& text : texts) result.push_back(parse_action(text));
    return result;
}

std::string joined(const Actions& actions) {
    std::string text;
    for (const Action& action : actions) text += (text.empty() ? "" : " ") + to_text(action);
    return text;
}

}  // namespace

TEST_CASE("stages are unsharded ahead of need and resharded to make room") {
    CHECK(joined(add_unshard_reshard(slots({"0F0", "", "0B0"}))) == "0UNSHARD 0F0 0B0 0RESHARD");
    // At most two held: stage 4 comes when 0 is needed no more.
    CHECK(joined(add_unshard_reshard(slots({"0F0", "2F0", "4F0", "4B0", "2B0", "0B0"}), 2)) ==
          "0UNSHARD 2UNSHARD 0F0 0RESHARD 4UNSHARD 2F0 4F0 4B0 4RESHARD 0UNSHARD 2B0 2RESHARD 0B0 0RESHARD");
    // A pair counts with both its stages.
    CHECK(joined(add_unshard_reshard(slots({"0F0", "(0F1;7B0)OVERLAP_F_B"}))) ==
          "0UNSHARD 7UNSHARD 0F0 (0F1;7B0)OVERLAP_F_B 0RESHARD 7RESHARD");
}

TEST_CASE("a stage's gradients are reduced after its last backward, full or weight") {
    const auto actions = [](const std::vector<std::string>& texts) {
        Actions result;
        for (const Slot& slot : slots(texts)) result.push_back(*slot);
        return result;
    };
    CHECK(joined(add_reduce_grad(actions({"0F0", "0F1", "0B0", "0B1"}), 2)) ==
          "0F0 0F1 0B0 0B1 0REDUCE_GRAD");
    CHECK(joined(add_reduce_grad(actions({"0I0", "0I1", "0W0", "0W1", "2B0", "(2F1;2B1)OVERLAP_F_B"}), 2)) ==
          "0I0 0I1 0W0 0W1 0REDUCE_GRAD 2B0 (2F1;2B1)OVERLAP_F_B 2REDUCE_GRAD");
}

TEST_CASE("an input gradient directly followed by its weight gradient is one backward") {
    CHECK(joined(merge_bw(slots({"0I0", "", "0W0", "0I1", "0F2", "0W1"}))) == "0B0 0I1 0F2 0W1");
    CHECK(joined(merge_bw(slots({"0I0", "1W0", "0I1", "0W0"}))) == "0I0 1W0 0I1 0W0");
}

TEST_CASE("sends follow their compute and receives stand where the sender was") {
    const Schedule gpipe = make_schedule({ScheduleKind::gpipe, 2, 1, 2});
    const auto lowered = lower(gpipe, {.unshard = false, .reduce_grad = false});
    CHECK(joined(lowered[0]) == "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1");
    CHECK(joined(lowered[1]) == "1RECV_F0 1F0 1RECV_F1 1F1 1B0 1SEND_B0 1B1 1SEND_B1");
    // With everything: PyTorch's _prepare_schedule_with_comms.
    CHECK(joined(lower(gpipe)[1]) ==
          "1UNSHARD 1RECV_F0 1F0 1RECV_F1 1F1 1B0 1SEND_B0 1B1 1SEND_B1 1REDUCE_GRAD 1RESHARD");
}

TEST_CASE("neighbouring stages on one rank send nothing: the turn of a V") {
    const auto lowered = lower(make_schedule({ScheduleKind::zbv_zero_bubble, 2, 2, 2}));
    for (const Actions& actions : lowered)
        for (const Action& action : actions) {
            CHECK(to_text(action).find("1SEND_F") == std::string::npos);
            CHECK(to_text(action).find("2RECV_F") == std::string::npos);
            CHECK(to_text(action).find("2SEND_B") == std::string::npos);
        }
}

TEST_CASE("each pair of ranks sends and receives in one order, in every schedule") {
    const bool in_time = GENERATE(false, true);
    for (int kind = 0; kind < kScheduleKinds; ++kind)
        for (const int32_t ranks : {2, 3, 4}) {
            const auto k = static_cast<ScheduleKind>(kind);
            const ScheduleShape shape{k, ranks, default_stages_per_rank(k), 4 * ranks};
            const Schedule schedule = make_schedule(shape);
            INFO(name(k) << " on " << ranks);
            std::map<std::pair<int32_t, int32_t>, std::vector<std::string>> sent, received;
            int64_t computes = 0;
            const auto lowered = lower(schedule, {.in_time = in_time});
            for (std::size_t r = 0; r < lowered.size(); ++r) {
                const auto rank = static_cast<int32_t>(r);
                std::set<std::string> here;  // a receive must stand before the compute that reads it
                for (const Action& action : lowered[r]) {
                    const int32_t s = action.stage, m = action.microbatch;
                    const std::string mb = std::to_string(m);
                    const auto home = [&](int32_t stage) {
                        return schedule.rank_of_stage[static_cast<std::size_t>(stage)];
                    };
                    if (action.kind == ActionKind::send_f)
                        sent[{rank, home(s + 1)}].push_back(std::to_string(s + 1) + "F" + mb);
                    if (action.kind == ActionKind::send_b)
                        sent[{rank, home(s - 1)}].push_back(std::to_string(s - 1) + "B" + mb);
                    if (action.kind == ActionKind::recv_f) {
                        received[{home(s - 1), rank}].push_back(std::to_string(s) + "F" + mb);
                        here.insert(std::to_string(s) + "F" + mb);
                    }
                    if (action.kind == ActionKind::recv_b) {
                        received[{home(s + 1), rank}].push_back(std::to_string(s) + "B" + mb);
                        here.insert(std::to_string(s) + "B" + mb);
                    }
                    for (const Action& part : action.parts.empty() ? std::vector{action} : action.parts) {
                        if (!is_compute(part.kind)) continue;
                        ++computes;
                        const std::string number = std::to_string(part.microbatch);
                        if (part.kind == ActionKind::forward && part.stage > 0 &&
                            home(part.stage - 1) != rank)
                            CHECK(here.contains(std::to_string(part.stage) + "F" + number));
                        if ((part.kind == ActionKind::backward || part.kind == ActionKind::input_grad) &&
                            part.stage + 1 < shape.stages() && home(part.stage + 1) != rank)
                            CHECK(here.contains(std::to_string(part.stage) + "B" + number));
                    }
                }
            }
            CHECK(sent == received);
            CHECK_FALSE(sent.empty());
            CHECK(computes >= int64_t{2} * shape.stages() * shape.microbatches);
        }
}

TEST_CASE("a compute order that cannot be done is refused") {
    Actions first, second;
    for (const Slot& slot : slots({"0F0", "0B0", "0F1", "0B1"})) first.push_back(*slot);
    for (const Slot& slot : slots({"1F0", "1F1", "1B0", "1B1"})) second.push_back(*slot);
    try {
        add_send_recv({first, second}, {0, 1});
        FAIL("was lowered");
    } catch (const InvalidArgument& refusal) {
        CHECK(describe(refusal.message()) == "pipeline.deadlock(rank=0, action=0B0, waits_for=1B0)");
    }
}
