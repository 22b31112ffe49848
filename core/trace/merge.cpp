#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/trace/interner.h"
#include "core/trace/trace.h"
#include "core/trace/validate.h"

namespace meshscope::trace {
namespace {

[[noreturn]] void refuse(const char* table, int64_t rank, int64_t index, const char* field) {
    throw InvalidArgument(Message{
        "trace.invalid",
        {{"table", std::string(table)}, {"rank", rank}, {"index", index}, {"field", std::string(field)}}});
}

/// Turns a rank's string numbers into the trace's.
class Renumber {
  public:
    Renumber(Interner& all, const std::vector<std::string>& own, int64_t rank) : rank_(rank) {
        numbers_.reserve(own.size());
        for (const std::string& text : own) numbers_.push_back(all.intern(text));
    }
    void operator()(StringId& id, const char* table, int64_t index, const char* field) const {
        if (id >= numbers_.size()) refuse(table, rank_, index, field);
        id = numbers_[id];
    }

  private:
    std::vector<StringId> numbers_;
    int64_t rank_;
};

}  // namespace

Trace merge(RunInfo info, std::vector<Group> groups, std::vector<RankRecord> records) {
    Trace trace;
    trace.info = std::move(info);
    trace.groups = std::move(groups);
    trace.ranks.reserve(records.size());
    Interner strings;
    for (std::size_t r = 0; r < records.size(); ++r) {
        RankRecord& record = records[r];
        const Renumber renumber(strings, record.strings, static_cast<int64_t>(r));
        for (std::size_t i = 0; i < record.events.size(); ++i) {
            Event& e = record.events[i];
            const auto at = static_cast<int64_t>(i);
            renumber(e.name, "events", at, "name");
            renumber(e.unit, "events", at, "unit");
            renumber(e.rule, "events", at, "rule");
            renumber(e.source, "events", at, "source");
        }
        for (std::size_t i = 0; i < record.snapshots.size(); ++i)
            renumber(record.snapshots[i].operand, "snapshots", static_cast<int64_t>(i), "operand");
        for (std::size_t i = 0; i < record.memory.size(); ++i)
            renumber(record.memory[i].label, "memory", static_cast<int64_t>(i), "label");
        for (std::size_t i = 0; i < record.parameters.size(); ++i) {
            renumber(record.parameters[i].parameter, "parameters", static_cast<int64_t>(i), "parameter");
            renumber(record.parameters[i].unit, "parameters", static_cast<int64_t>(i), "unit");
        }
        const auto by_event = [](const auto& a, const auto& b) { return a.event < b.event; };
        std::stable_sort(record.hops.begin(), record.hops.end(), by_event);
        std::stable_sort(record.snapshots.begin(), record.snapshots.end(), by_event);
        std::stable_sort(record.dependencies.begin(), record.dependencies.end(), by_event);
        trace.ranks.push_back({std::move(record.events), std::move(record.dependencies),
                               std::move(record.hops), std::move(record.pieces), std::move(record.snapshots),
                               std::move(record.values), std::move(record.memory),
                               std::move(record.parameters)});
        record = {};
    }
    trace.strings = strings.take();
    validate(trace);
    return trace;
}

}  // namespace meshscope::trace
