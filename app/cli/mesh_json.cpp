#include "app/cli/mesh_json.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <span>

#include "core/base/json_text.h"
#include "core/mesh/value.h"

namespace meshscope::cli {
namespace {

using mesh::Answer;
using mesh::DeviceMesh;
using mesh::RankExcerpt;
using mesh::Reply;
using nlohmann::ordered_json;

/// Lists of ranks go out number by number: as values they would take some twenty times their text.
void write_list(std::span<const int64_t> ranks, std::ostream& out) {
    std::string text = "[";
    for (size_t i = 0; i < ranks.size(); ++i) {
        if (i > 0) text += ',';
        text += std::to_string(ranks[i]);
        if (text.size() < 1 << 16) continue;
        out << text;
        text.clear();
    }
    out << text << ']';
}

/// The ranks from `next` on as a nested list of the dims from `dim` on.
void write_nested(const Answer& answer, size_t dim, size_t& next, std::ostream& out) {
    if (dim == answer.shape.size()) {
        out << answer.ranks[next++];
        return;
    }
    const auto size = static_cast<size_t>(answer.shape[dim]);
    if (dim + 1 == answer.shape.size()) {
        write_list(std::span(answer.ranks).subspan(next, size), out);
        next += size;
        return;
    }
    for (size_t i = 0; i < size; ++i) {
        out << (i == 0 ? '[' : ',');
        write_nested(answer, dim + 1, next, out);
    }
    out << ']';
}

/// An object's members, without its braces.
std::string members(const ordered_json& object) {
    const std::string text = json_text(object);
    return text.substr(1, text.size() - 2);
}

void write(const Answer& answer, std::ostream& out) {
    size_t next = 0;
    out << "{\"mesh\":";
    write_nested(answer, 0, next, out);
    out << ','
        << members({{"shape", answer.shape},
                    {"ndim", answer.shape.size()},
                    {"size", answer.ranks.size()},
                    {"names", answer.names.empty() ? ordered_json() : ordered_json(answer.names)},
                    {"coordinate", answer.coordinate ? ordered_json(*answer.coordinate) : ordered_json()}});
    if (answer.coordinate) {
        out << ",\"groups\":[";
        for (size_t dim = 0; dim < answer.groups.size(); ++dim) {
            if (dim > 0) out << ',';
            write_list(answer.groups[dim], out);
        }
        out << "]," << members({{"local_rank", answer.local_rank}, {"size_by_dim", answer.shape}});
    }
    out << ','
        << members({{"layout", answer.layouts},
                    {"repr", answer.repr},
                    {"new_group_calls", answer.cost.new_group},
                    {"split_group_calls", answer.cost.split_group}})
        << '}';
}

ordered_json refused(const Message& refusal, const CommandContext& context) {
    const auto argument = [&](const char* name) {
        const MessageValue* value = refusal.find(name);
        return value ? to_text(*value) : std::string();
    };
    return {{"error", context.text(refusal)},
            {"id", refusal.id},
            {"pytorch_error", argument("pytorch_error")},
            {"pytorch_text", argument("pytorch_text")}};
}

/// A value as JSON: tuples are lists, and so are groups.
ordered_json to_json(const mesh::Value& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    if (const auto* tuple = std::get_if<mesh::Shape>(&value)) return *tuple;
    if (const auto* names = std::get_if<mesh::Names>(&value)) return *names;
    if (const auto* group = std::get_if<RankExcerpt>(&value)) return group->first;
    if (const auto* groups = std::get_if<std::vector<RankExcerpt>>(&value)) {
        ordered_json list = ordered_json::array();
        for (const RankExcerpt& group : *groups) list.push_back(group.first);
        return list;
    }
    // A tensor's numbers in its brackets are JSON as they are.
    if (std::holds_alternative<mesh::MeshRanks>(value)) return ordered_json::parse(mesh::value_text(value));
    return {};
}

void write(const Reply& reply, CommandContext& context) {
    if (reply.value)
        context.out << json_text(ordered_json{{"value", to_json(*reply.value)}});
    else if (reply.answer)
        write(*reply.answer, context.out);
    else
        context.out << json_text(refused(*reply.error, context));
}

}  // namespace

std::string mesh_refusal_json(const Message& refusal, const CommandContext& context) {
    return json_text(refused(refusal, context));
}

void print_mesh_json(const DeviceMesh& root, const std::vector<Asked>& asked, int64_t first, int64_t last,
                     CommandContext& context) {
    context.out << "{\"per_rank\":[";
    for (int64_t r = first; r < last; ++r) {
        const GlobalRank rank{static_cast<int32_t>(r)};
        context.out << (r == first ? "\n" : ",\n") << "{\"rank\":" << r << ",\"root\":";
        write(mesh::answer(root, rank), context.out);
        for (const RequestOption option :
             {RequestOption::slice, RequestOption::flatten, RequestOption::unflatten,
              RequestOption::concatenate, RequestOption::ask}) {
            context.out << ",\"" << json_key(option) << "\":[";
            bool further = false;
            for (const Asked& one : asked) {
                if (one.option != option) continue;
                if (further) context.out << ',';
                further = true;
                write(mesh::reply(one.derived, rank), context);
            }
            context.out << ']';
        }
        context.out << '}';
    }
    context.out << "\n]}\n";
}

}  // namespace meshscope::cli
