#include "core/parallel/pipeline/read_schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/parallel/pipeline/csv.h"
#include "core/parallel/pipeline/validate.h"

namespace meshscope::parallel::pipeline {
namespace {

std::string_view without_mark(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

bool is_action(std::string_view field) {
    try {
        return parse_action(field).has_value();
    } catch (const InvalidArgument&) {
        return false;
    }
}

/// Calls `visit` with each field that is not empty, until it gives false.
template <class Visit>
void for_each_field(std::string_view text, const Visit& visit) {
    while (!text.empty()) {
        const std::size_t end = text.find_first_of(",\n");
        const std::string_view field = trimmed(text.substr(0, end));
        if (!field.empty() && !visit(field)) return;
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

/// The column, from 1, of a row's field of that number; 0 where there is none.
int column_of(std::string_view text, int32_t rank, int64_t slot) {
    if (slot < 0) return 0;
    for (; rank > 0; --rank) text.remove_prefix(text.find('\n') + 1);
    std::size_t at = 0;
    for (; slot > 0; --slot) at = text.find(',', at) + 1;
    while (at < text.size() && text[at] == ' ') ++at;
    return static_cast<int>(at) + 1;
}

struct Found {
    Action action;
    int32_t rank = 0;
    int64_t slot = 0;
};

class Reader {
  public:
    Reader(std::string_view text, const std::string& file) : text_(without_mark(text)), file_(file) {}

    ReadSchedule read() {
        read_rows();
        find_sizes();
        find_homes();
        if (wrong_.empty()) look_for_dump();
        if (wrong_.empty())
            for (const Fault& fault : faults_of(read_.schedule))
                wrong_.push_back({fault.message, position(fault.rank, fault.slot), fault.hint});
        refuse();
        find_kind();
        return std::move(read_);
    }

  private:
    SourcePosition position(int32_t rank, int64_t slot) const {
        return {file_, rank + 1, column_of(text_, rank, slot), -1};
    }
    void wrong(const char* id, const Found& at, std::vector<MessageArg> args) {
        args.push_back({"action", to_text(at.action)});
        wrong_.push_back({{id, args}, position(at.rank, at.slot), {std::string(id) + ".right", args}});
    }
    /// Throws what was found so far, if anything.
    void refuse() {
        if (wrong_.empty()) return;
        if (wrong_.size() > kMostMistakes) {
            const auto more = static_cast<int64_t>(wrong_.size() - kMostMistakes);
            wrong_.resize(kMostMistakes);
            wrong_.push_back({{"pipeline.more_mistakes", {{"n", more}}}, wrong_.back().position, {}});
        }
        throw InputError(std::move(wrong_));
    }

    void read_rows() {
        bool any = false;
        for_each_field(text_, [&](std::string_view field) { return !(any = is_action(field)); });
        if (!any) {
            wrong_.push_back({{"pipeline.not_a_schedule", {}}, {file_, 1, 1, -1}, {}});
            refuse();
        }
        try {
            read_.schedule.order = from_csv(text_, file_);
        } catch (const InputError& bad) {
            wrong_ = bad.diagnostics();
            refuse();
        }
        auto& rows = read_.schedule.order;
        const auto idle = [](const Slot& slot) { return !slot.has_value(); };
        while (!rows.empty() && std::ranges::all_of(rows.back(), idle)) rows.pop_back();
        for (std::size_t rank = 0; rank < rows.size(); ++rank)
            for (std::size_t slot = 0; slot < rows[rank].size(); ++slot)
                if (const Slot& action = rows[rank][slot]) {
                    const Found at{*action, static_cast<int32_t>(rank), static_cast<int64_t>(slot)};
                    if (is_compute(action->kind)) found_.push_back(at);
                    for (const Action& part : action->parts)
                        if (is_compute(part.kind)) found_.push_back({part, at.rank, at.slot});
                }
    }

    /// Stages and micro-batches are counted from 0 without a gap: who names 7 means that there are 8.
    void check_gaps(int32_t Action::*number, const char* id) {
        std::set<int32_t> there;
        for (const Found& each : found_) there.insert(each.action.*number);
        int64_t expected = 0;
        for (const int32_t each : there) {
            if (each != expected) {
                const auto at =
                    std::ranges::find(found_, each, [&](const Found& f) { return f.action.*number; });
                return wrong(id, *at, {{"missing", expected}});
            }
            ++expected;
        }
    }

    void find_sizes() {
        if (found_.empty()) {
            wrong_.push_back({{"pipeline.not_a_schedule", {}}, {file_, 1, 1, -1}, {}});
            refuse();
        }
        check_gaps(&Action::stage, "pipeline.gap_stage");
        check_gaps(&Action::microbatch, "pipeline.gap_microbatch");
        refuse();
        int32_t stages = 0, microbatches = 0;
        for (const Found& each : found_) {
            stages = std::max(stages, each.action.stage + 1);
            microbatches = std::max(microbatches, each.action.microbatch + 1);
        }
        ScheduleShape& shape = read_.schedule.shape;
        shape.ranks = static_cast<int32_t>(read_.schedule.order.size());
        shape.microbatches = microbatches;
        shape.stages_per_rank = stages / shape.ranks;
        if (stages % shape.ranks != 0) {
            const auto last =
                std::ranges::find(found_, stages - 1, [](const Found& f) { return f.action.stage; });
            wrong("pipeline.uneven_stages", *last,
                  {{"stages", int64_t{stages}}, {"ranks", int64_t{shape.ranks}}});
        }
        // Each pair has an F and a B: a table of all pairs is no larger than what was read.
        if (int64_t{stages} * microbatches > static_cast<int64_t>(found_.size()))
            find_first_missing(stages, microbatches);
        refuse();
    }

    void find_first_missing(int32_t stages, int32_t microbatches) {
        std::set<std::pair<int32_t, int32_t>> there;
        for (const Found& each : found_)
            if (each.action.kind == ActionKind::forward)
                there.emplace(each.action.stage, each.action.microbatch);
        for (int32_t m = 0; m < microbatches; ++m)
            for (int32_t stage = 0; stage < stages; ++stage)
                if (!there.contains({stage, m})) {
                    const auto same =
                        std::ranges::find(found_, stage, [](const Found& f) { return f.action.stage; });
                    const std::vector<MessageArg> args{
                        {"action", to_text(Action{ActionKind::forward, stage, m, {}})},
                        {"rank", int64_t{same->rank}},
                        {"row", int64_t{same->rank} + 1}};
                    wrong_.push_back({{"pipeline.missing", args},
                                      position(same->rank, -1),
                                      {"pipeline.missing.right_row", args}});
                    return;
                }
    }

    void find_homes() {
        std::map<std::pair<int32_t, int32_t>, int64_t> actions;  // (stage, rank)
        for (const Found& each : found_) ++actions[{each.action.stage, each.rank}];
        std::vector<int64_t> most(static_cast<std::size_t>(read_.schedule.shape.stages()), 0);
        read_.schedule.rank_of_stage.resize(most.size(), 0);
        for (const auto& [place, n] : actions) {
            const auto stage = static_cast<std::size_t>(place.first);
            if (n > most[stage]) read_.schedule.rank_of_stage[stage] = place.second;
            most[stage] = std::max(most[stage], n);
        }
    }

    /// PyTorch 2.15's dump of 1F1B: the last stage's forwards are 1 … M, its backwards 0 … M-1
    /// (schedules.py, Schedule1F1B's pipeline order).
    void look_for_dump() {
        const ScheduleShape& shape = read_.schedule.shape;
        const int32_t last = shape.stages() - 1, one_more = shape.microbatches - 1;
        std::vector<const Found*> forwards;
        for (const Found& each : found_) {
            if (each.action.stage != last) {
                if (each.action.microbatch == one_more) return;  // it is there for all
                continue;
            }
            if (each.action.kind == ActionKind::forward)
                forwards.push_back(&each);
            else if (each.action.microbatch == one_more)
                return;
        }
        if (std::cmp_not_equal(forwards.size(), one_more) || forwards.empty()) return;
        for (std::size_t i = 0; i < forwards.size(); ++i)
            if (std::cmp_not_equal(forwards[i]->action.microbatch, i + 1)) return;
        const auto text = [&](int32_t m) { return to_text(Action{ActionKind::forward, last, m, {}}); };
        wrong(
            "pipeline.dump_1f1b", *forwards.front(),
            {{"first", text(1)}, {"last", text(one_more)}, {"right", text(0)}, {"end", text(one_more - 1)}});
    }

    /// Idle slots and communication do not make another schedule.
    static std::vector<std::vector<Action>> computes(const Schedule& schedule) {
        std::vector<std::vector<Action>> rows(schedule.order.size());
        for (std::size_t rank = 0; rank < rows.size(); ++rank)
            for (const Slot& slot : schedule.order[rank])
                if (slot && (is_compute(slot->kind) || slot->kind == ActionKind::overlap_f_b))
                    rows[rank].push_back(*slot);
        return rows;
    }

    void find_kind() {
        const auto own = computes(read_.schedule);
        for (int32_t i = 0; i < kScheduleKinds && !read_.kind; ++i) {
            ScheduleShape shape = read_.schedule.shape;
            shape.kind = static_cast<ScheduleKind>(i);
            if (why_impossible(shape)) continue;
            if (computes(make_schedule(shape)) != own) continue;
            read_.schedule.shape.kind = shape.kind;
            read_.kind = shape.kind;
        }
    }

    std::string_view text_;
    const std::string& file_;
    ReadSchedule read_;
    std::vector<Found> found_;
    std::vector<Diagnostic> wrong_;
};

}  // namespace

ReadSchedule read_schedule(std::string_view text, const std::string& file) {
    return Reader(text, file).read();
}

bool begins_as_schedule(std::string_view text) {
    bool is = false;
    for_each_field(without_mark(text), [&](std::string_view field) {
        is = is_action(field);
        return false;
    });
    return is;
}

}  // namespace meshscope::parallel::pipeline
