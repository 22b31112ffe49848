#include "core/run/simulated_pipeline.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file_kind.h"
#include "core/base/text_file.h"
#include "core/parallel/pipeline/lower.h"
#include "core/parallel/pipeline/simulate.h"
#include "core/trace/interner.h"
#include "core/trace/simulated.h"

namespace meshscope::run {
namespace {

namespace pipeline = parallel::pipeline;
using pipeline::Action;
using pipeline::ActionKind;

int64_t to_ns(double units) {
    return std::llround(units * static_cast<double>(kSimulatedUnitNs));
}

bool is_send(ActionKind kind) {
    return kind == ActionKind::send_f || kind == ActionKind::send_b;
}
bool is_receive(ActionKind kind) {
    return kind == ActionKind::recv_f || kind == ActionKind::recv_b;
}

/// Idle time and communication follow from the rest.
pipeline::Schedule computes_of(const pipeline::Schedule& read) {
    pipeline::Schedule schedule = pipeline::pairs_apart(read);
    for (std::vector<pipeline::Slot>& row : schedule.order)
        std::erase_if(row,
                      [](const pipeline::Slot& slot) { return !slot || !pipeline::is_compute(slot->kind); });
    return schedule;
}

class Maker {
  public:
    explicit Maker(const pipeline::Schedule& schedule)
        : schedule_(computes_of(schedule)), timeline_(pipeline::simulate(schedule_)) {}

    trace::Trace make(const std::string& name) {
        trace::Trace trace;
        const int32_t ranks = schedule_.shape.ranks;
        trace.info.title_en = name;
        trace.info.title_zh = name;
        trace.info.backend = trace::kSimulated;
        trace.info.level = trace::Level::collectives;
        trace.info.world_size = ranks;
        trace.info.mesh_shape = {ranks};
        trace.info.mesh_names = {"pp"};
        trace.info.mesh_ranks.resize(static_cast<std::size_t>(ranks));
        std::iota(trace.info.mesh_ranks.begin(), trace.info.mesh_ranks.end(), 0);
        trace.info.node_of_rank.assign(static_cast<std::size_t>(ranks), 0);
        trace.info.steps = 1;
        trace.groups = {{"pp", trace.info.mesh_ranks}};
        trace.ranks.resize(static_cast<std::size_t>(ranks));
        find_ends();
        // Where every rank has what it computes, the sends and receives that this asks for stand between.
        const auto rows =
            pipeline::lower(schedule_, {.unshard = false, .reduce_grad = false, .in_time = true});
        for (std::size_t rank = 0; rank < rows.size(); ++rank)
            trace.ranks[rank].events = events_of(static_cast<int32_t>(rank), rows[rank]);
        trace.strings = strings_.strings();
        return trace;
    }

  private:
    /// When a stage's forward or input gradient of a micro-batch can be sent.
    void find_ends() {
        for (const auto& spans : timeline_.ranks)
            for (const auto& [action, begin, end] : spans)
                if (action.kind != ActionKind::weight_grad)
                    ends_[index(action.kind == ActionKind::forward, action.stage, action.microbatch)] =
                        to_ns(end);
    }
    std::size_t index(bool forward, int32_t stage, int32_t microbatch) const {
        return (static_cast<std::size_t>(stage) * static_cast<std::size_t>(schedule_.shape.microbatches) +
                static_cast<std::size_t>(microbatch)) *
                   2 +
               (forward ? 1 : 0);
    }

    std::vector<trace::Event> events_of(int32_t rank, const pipeline::Actions& actions) {
        std::vector<trace::Event> events;
        const auto& spans = timeline_.ranks[static_cast<std::size_t>(rank)];
        auto next = spans.begin();
        int64_t computed = 0;            // the rank computes until then,
        int64_t sent = 0, received = 0;  // and this is when its sends and receives before ended
        int32_t calls = 0;
        const auto add = [&](trace::Event event, int64_t begin, int64_t end) {
            event.id = static_cast<int32_t>(events.size());
            event.t_issue_ns = event.t_begin_ns = begin;
            event.t_end_ns = end;
            events.push_back(event);
        };
        for (const Action& action : actions) {
            if (is_send(action.kind)) {
                sent = std::max(
                    sent, ends_[index(action.kind == ActionKind::send_f, action.stage, action.microbatch)]);
                add(transfer(action, calls++), sent, sent);
            } else if (is_receive(action.kind)) {
                const bool forward = action.kind == ActionKind::recv_f;
                const int64_t there =
                    ends_[index(forward, action.stage + (forward ? -1 : 1), action.microbatch)];
                const int64_t begin = std::min(there, std::max(computed, received));
                add(transfer(action, calls++), begin, std::max(begin, there));
                received = std::max(begin, there);
            } else if (next != spans.end()) {
                computed = to_ns(next->end);
                add(compute(next->action), to_ns(next->begin), computed);
                ++next;
            }
        }
        return events;
    }

    trace::Event compute(const Action& action) {
        trace::Event event;
        event.kind = trace::EventKind::compute;
        event.stream = Stream::compute;
        event.step = 0;
        event.phase = action.kind == ActionKind::forward ? Phase::forward : Phase::backward;
        event.microbatch = action.microbatch;
        event.name = strings_.intern(action.kind == ActionKind::forward       ? "block.forward"
                                     : action.kind == ActionKind::input_grad  ? "block.input_grad"
                                     : action.kind == ActionKind::weight_grad ? "block.weight_grad"
                                                                              : "block.backward");
        event.unit = strings_.intern("layers." + std::to_string(action.stage));
        return event;
    }

    trace::Event transfer(const Action& action, int32_t call) {
        const bool sends = is_send(action.kind);
        const bool forward = action.kind == ActionKind::send_f || action.kind == ActionKind::recv_f;
        trace::Event event;
        event.kind = trace::EventKind::collective;
        event.op = sends ? CollectiveOp::send : CollectiveOp::recv;
        event.stream = Stream::p2p;
        event.algorithm = Algorithm::direct;
        event.step = 0;
        event.phase = forward ? Phase::forward : Phase::backward;
        event.microbatch = action.microbatch;
        event.group = 0;
        event.sequence = call;
        const int32_t other = action.stage + (sends == forward ? 1 : -1);
        event.peer = schedule_.rank_of_stage[static_cast<std::size_t>(other)];
        event.unit = strings_.intern("stage " + std::to_string(action.stage));
        event.rule = strings_.intern(std::string("pp.") + (sends ? "send." : "recv.") +
                                     (forward ? "activation" : "gradient"));
        return event;
    }

    pipeline::Schedule schedule_;
    pipeline::Timeline timeline_;
    std::vector<int64_t> ends_ =
        std::vector<int64_t>(static_cast<std::size_t>(schedule_.shape.stages()) *
                             static_cast<std::size_t>(schedule_.shape.microbatches) * 2);
    trace::Interner strings_;
};

}  // namespace

trace::Trace simulated_trace(const pipeline::Schedule& schedule, const std::string& name) {
    return Maker(schedule).make(name);
}

pipeline::ReadSchedule read_schedule_file(const std::string& path) {
    const std::string text = read_text_file(path, kMostScheduleBytes);
    if (std::cmp_greater(text.size(), kMostScheduleBytes))
        throw IoError({"pipeline.file_too_large", {{"path", path}, {"most", kMostScheduleBytes}}});
    return pipeline::read_schedule(text, path);
}

trace::Trace simulate_schedule_file(const std::string& path) {
    const pipeline::ReadSchedule read = read_schedule_file(path);
    const std::string file = std::filesystem::path(path).filename().string();
    return simulated_trace(read.schedule,
                           read.kind ? std::string(pipeline::name(*read.kind)) + " · " + file : file);
}

bool is_schedule_file(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return false;  // a pipe would be waited for
    std::ifstream in(path, std::ios::binary);
    std::string begin(4096, '\0');
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    if (pipeline::begins_as_schedule(begin)) return true;
    return std::filesystem::path(path).extension() == ".csv" && !is_ours(path, FileKind::csv);
}

}  // namespace meshscope::run
