#include "tests/parallel/property/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace meshscope::test {
namespace {

using trace::Event;
using trace::Trace;

/// The groups of a mesh dim by the definition: of ranks 0 … n-1 laid out row-major, those that differ in this
/// coordinate only.
std::set<std::vector<int32_t>> groups_of_dim(const std::vector<int64_t>& shape, std::size_t dim) {
    int64_t ranks = 1, inner = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        ranks *= shape[d];
        if (d > dim) inner *= shape[d];
    }
    std::map<int64_t, std::vector<int32_t>> by_rest;
    for (int64_t rank = 0; rank < ranks; ++rank) {
        const int64_t here = rank / inner % shape[dim];
        by_rest[rank - here * inner].push_back(static_cast<int32_t>(rank));
    }
    std::set<std::vector<int32_t>> groups;
    for (const auto& [rest, members] : by_rest) groups.insert(members);
    return groups;
}

std::string wrong_groups(const Trace& trace) {
    for (std::size_t d = 0; d < trace.info.mesh_shape.size(); ++d) {
        std::set<std::vector<int32_t>> found;
        for (const trace::Group& group : trace.groups)
            if (group.mesh_dim == trace.info.mesh_names[d]) found.insert(group.ranks);
        if (found != groups_of_dim(trace.info.mesh_shape, d)) return "groups of " + trace.info.mesh_names[d];
    }
    return "";
}

std::string told(const Trace& trace, int32_t rank, const Event& e) {
    std::string text = "rank " + std::to_string(rank) + " event " + std::to_string(e.id) + " ";
    text.append(name(e.op)).append(" ").append(trace.text(e.rule));
    return text + " " + std::to_string(e.in_elements) + "->" + std::to_string(e.out_elements);
}

bool point_to_point(const Event& e) {
    return e.op == CollectiveOp::send || e.op == CollectiveOp::recv;
}

/// Whether two members' buffers differ that must not: of a scatter and a gather the root alone has a whole.
bool differ(int64_t a, int64_t b, CollectiveOp rooted, const Event& e) {
    return e.op != rooted && a != b;
}

/// Calls that all members make: the same one for the same number.
std::string disagreement(const Trace& trace) {
    std::map<std::pair<int32_t, int32_t>, std::vector<std::pair<int32_t, const Event*>>> calls;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        for (const Event& e : trace.ranks[r].events)
            if (e.kind == trace::EventKind::collective && !point_to_point(e))
                calls[{e.group, e.sequence}].emplace_back(static_cast<int32_t>(r), &e);
    for (const auto& [key, members] : calls) {
        const auto& [rank, first] = members.front();
        if (members.size() != trace.groups[static_cast<std::size_t>(key.first)].ranks.size())
            return "not all take part: " + told(trace, rank, *first);
        for (const auto& [other_rank, e] : members)
            if (e->op != first->op || e->reduce_op != first->reduce_op || e->dtype != first->dtype ||
                e->rule != first->rule ||
                differ(e->in_elements, first->in_elements, CollectiveOp::scatter, *e) ||
                differ(e->out_elements, first->out_elements, CollectiveOp::gather, *e) ||
                e->peer != first->peer || e->step != first->step)
                return told(trace, rank, *first) + " and " + told(trace, other_rank, *e);
    }
    return "";
}

/// Every pair of ranks sends and receives the same in the same order.
std::string lost_message(const Trace& trace) {
    using Message = std::pair<int64_t, DType>;
    std::map<std::pair<int32_t, int32_t>, std::vector<Message>> sent, received;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        for (const Event& e : trace.ranks[r].events) {
            if (e.kind != trace::EventKind::collective || !point_to_point(e)) continue;
            const auto me = static_cast<int32_t>(r);
            if (e.op == CollectiveOp::send)
                sent[{me, e.peer}].emplace_back(e.in_elements, e.dtype);
            else
                received[{e.peer, me}].emplace_back(e.out_elements, e.dtype);
        }
    return sent == received ? "" : "what is sent is not what is received";
}

bool stays(const Trace& trace, const trace::MemoryChange& change) {
    using enum MemoryCategory;
    const std::string_view label = trace.text(change.label);
    return change.category == parameters || (change.category == offloaded && !label.ends_with(" grad")) ||
           change.category == sharded_parameters || change.category == optimizer_state ||
           (change.category == communication &&
            (label.starts_with("bucket ") || label == "DDP used parameters")) ||
           label == "positions";  // where a cp rank's tokens stand
}

}  // namespace

std::string groups_that_disagree(const Trace& trace) {
    for (const auto& check : {wrong_groups, disagreement, lost_message})
        if (std::string found = check(trace); !found.empty()) return found;
    return "";
}

std::string bytes_that_differ(const Trace& trace) {
    // Calls of all members go by their number; sends and receives, which are numbered by pair, together.
    using Sender = std::tuple<int32_t, int32_t, int32_t>;  // group, number or -1, rank
    const auto key = [](const Event& e, int32_t rank) {
        return Sender{e.group, point_to_point(e) ? -1 : e.sequence, rank};
    };
    std::map<Sender, int64_t> moved, said;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        for (const Event& e : trace.ranks[r].events)
            if (e.kind == trace::EventKind::collective && e.sent_bytes != 0)
                said[key(e, static_cast<int32_t>(r))] += e.sent_bytes;
        for (const trace::Hop& hop : trace.ranks[r].hops)
            moved[key(trace.event(static_cast<int32_t>(r), hop.event), hop.src)] += hop.bytes;
    }
    std::erase_if(moved, [](const auto& entry) { return entry.second == 0; });
    for (const auto& [sender, bytes] : said)
        if (!moved.contains(sender) || moved.at(sender) != bytes)
            return "rank " + std::to_string(std::get<2>(sender)) + " says " + std::to_string(bytes) +
                   " bytes in call " + std::to_string(std::get<1>(sender)) + " of group " +
                   std::to_string(std::get<0>(sender));
    return moved.size() == said.size() ? "" : "bytes moved of which no event knows";
}

std::string memory_left_over(const Trace& trace) {
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        std::map<uint64_t, const trace::MemoryChange*> alive;
        std::map<int32_t, int64_t> bytes_after;  // by step
        int64_t bytes = 0;
        const auto& changes = trace.ranks[r].memory;
        for (std::size_t i = 0; i < changes.size(); ++i) {
            const trace::MemoryChange& change = changes[i];
            bytes += change.delta_bytes;
            if (change.delta_bytes < 0)
                alive.erase(change.allocation);
            else
                alive[change.allocation] = &change;
            if (i + 1 < changes.size() && changes[i + 1].step == change.step) continue;
            bytes_after[change.step] = bytes;
            for (const auto& [allocation, made] : alive)
                if (!stays(trace, *made))
                    return "rank " + std::to_string(r) + " after step " + std::to_string(change.step) + ": " +
                           std::string(trace.text(made->label));
        }
        for (const auto& [step, left] : bytes_after)
            if (step >= 2 && bytes_after.contains(step - 1) && bytes_after.at(step - 1) != left)
                return "rank " + std::to_string(r) + ": " + std::to_string(left) + " bytes after step " +
                       std::to_string(step) + ", " + std::to_string(bytes_after.at(step - 1)) + " before it";
    }
    return "";
}

}  // namespace meshscope::test
