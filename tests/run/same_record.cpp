#include "tests/run/same_record.h"

#include <algorithm>

#include "core/memory/ledger.h"

namespace meshscope::test {
namespace {

std::string line(const trace::Trace& t, const trace::Event& e) {
    std::string text = std::to_string(e.id) + " step " + std::to_string(e.step);
    const auto add = [&](std::string_view word) { text.append(" ").append(word); };
    add(name(e.phase));
    add(name(e.stream));
    add(t.text(e.name));
    add(t.text(e.unit));
    add(t.text(e.rule));
    add(t.text(e.source));
    if (e.kind == trace::EventKind::collective) {
        add(name(e.op));
        add(name(e.reduce_op));
        add(name(e.dtype));
        add(name(e.algorithm));
        for (const int32_t rank : t.groups[static_cast<std::size_t>(e.group)].ranks)
            add(std::to_string(rank));
    }
    for (const int64_t n :
         {int64_t{e.prefetch}, int64_t{e.microbatch}, int64_t{e.sequence}, int64_t{e.peer},
          int64_t{e.padding}, e.in_elements, e.out_elements, e.sent_bytes, e.flops, e.touched_bytes})
        add(std::to_string(n));
    return text;
}

std::string line(const trace::Trace& t, const trace::MemoryChange& m) {
    std::string text = std::to_string(m.after_event) + " step " + std::to_string(m.step) + " ";
    text.append(name(m.phase)).append(" ").append(name(m.category)).append(" ").append(t.text(m.label));
    return text + " " + std::to_string(m.allocation) + " " + std::to_string(m.delta_bytes);
}

std::string line(const trace::Trace&, const trace::Dependency& d) {
    return std::to_string(d.event) + " on " + std::to_string(d.on);
}

std::string line(const trace::Trace& t, const trace::ParameterRun& p) {
    std::string text = std::string(t.text(p.parameter)) + " of " + std::string(t.text(p.unit));
    for (const int64_t n : {int64_t{p.padding}, int64_t{p.updated}, p.rows, p.columns, p.first_row, p.n_rows,
                            p.first_column, p.n_columns, p.first, p.elements, p.first_in_shard})
        text += " " + std::to_string(n);
    return text;
}

/// The first thing that differs in a list, "" when nothing does.
template <class T>
std::string difference(const char* what, const trace::Trace& dry, const std::vector<T>& a,
                       const trace::Trace& real, const std::vector<T>& b) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
        const std::string x = i < a.size() ? line(dry, a[i]) : "(nothing)";
        const std::string y = i < b.size() ? line(real, b[i]) : "(nothing)";
        if (x != y) return std::string(what) + ": dry " + x + ", real " + y;
    }
    return "";
}

std::string difference_of_rank(const trace::Trace& dry, const trace::Trace& real, int32_t rank) {
    const auto r = static_cast<std::size_t>(rank);
    const trace::RankTrace &a = dry.ranks[r], &b = real.ranks[r];
    std::string found = difference("event", dry, a.events, real, b.events);
    if (found.empty()) found = difference("memory", dry, a.memory, real, b.memory);
    if (found.empty()) found = difference("dependency", dry, a.dependencies, real, b.dependencies);
    if (found.empty()) found = difference("parameter", dry, a.parameters, real, b.parameters);
    if (!found.empty()) return found;
    const memory::Peak predicted = memory::peak(dry, rank), measured = memory::peak(real, rank);
    if (predicted.bytes != measured.bytes || predicted.by_category != measured.by_category ||
        predicted.cause != measured.cause || predicted.step != measured.step)
        return "peak: dry " + std::to_string(predicted.bytes) + " " + predicted.cause + ", real " +
               std::to_string(measured.bytes) + " " + measured.cause;
    return "";
}

}  // namespace

std::string first_difference(const trace::Trace& dry, const trace::Trace& real) {
    if (dry.ranks.size() != real.ranks.size()) return "ranks";
    if (dry.info.steps != real.info.steps) return "steps";
    for (std::size_t r = 0; r < real.ranks.size(); ++r)
        if (const auto found = difference_of_rank(dry, real, static_cast<int32_t>(r)); !found.empty())
            return "rank " + std::to_string(r) + ": " + found;
    return "";
}

}  // namespace meshscope::test
