#include "app/cli/mesh_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "app/cli/integer_option.h"
#include "app/cli/mesh_request.h"
#include "app/cli/run_json.h"
#include "app/cli/table.h"
#include "core/mesh/answer.h"
#include "core/mesh/python_text.h"

namespace meshscope::cli {
namespace {

using mesh::Answer;
using mesh::Derived;
using mesh::DeviceMesh;
using mesh::Reply;
using nlohmann::ordered_json;

/// More than this is no answer that anyone reads: numbers in one answer, and in all of them.
constexpr int64_t kLargestAnswer = int64_t{1} << 24;
constexpr int64_t kLargestOutput = int64_t{1} << 28;
/// Up to here all groups of a mesh are listed when one rank is asked for; beyond, that rank's alone.
constexpr int64_t kLargestTable = int64_t{1} << 18;
/// Rows and groups a terminal gets; the rest is counted.
constexpr int64_t kShownRanks = 64;
constexpr size_t kShownGroups = 8;
constexpr size_t kShownMembers = 16;

/// No world was given, and none has so many ranks as the mesh and the listed ranks need.
void expect_possible(const MeshRequest& request) {
    if (request.world <= kLargestWorld) return;
    std::string shape;
    for (const int64_t size : request.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    const MessageValue needed =
        request.world == kUncounted ? MessageValue(std::string(">2^63-1")) : MessageValue(request.world);
    throw InvalidArgument({"cli.mesh.no_such_world",
                           {{"mesh", "(" + shape + ")"}, {"needed", needed}, {"most", kLargestWorld}}});
}

DeviceMesh make_mesh(const MeshRequest& request) {
    expect_possible(request);
    if (request.ranks)
        return DeviceMesh::from_ranks(request.shape, *request.ranks, request.names, request.world);
    return DeviceMesh::init(request.shape, request.names, request.world);
}

struct Asked {
    const char* key;
    std::vector<Derived> derived;
};

std::vector<Asked> derive_all(const DeviceMesh& root, const MeshRequest& request) {
    std::vector<Asked> all{{"slices", {}}, {"flatten", {}}, {"unflatten", {}}, {"concatenate", {}}};
    const std::vector<mesh::Question>* questions[] = {&request.slices, &request.flatten, &request.unflatten,
                                                      &request.concatenate};
    for (size_t kind = 0; kind < all.size(); ++kind)
        for (const mesh::Question& question : *questions[kind])
            all[kind].derived.push_back(mesh::derive(root, question));
    return all;
}

// JSON -----------------------------------------------------------------------------------------------------

ordered_json nested(const Answer& answer, size_t dim, size_t& next) {
    if (dim == answer.shape.size()) return answer.ranks[next++];
    ordered_json list = ordered_json::array();
    for (int64_t i = 0; i < answer.shape[dim]; ++i) list.push_back(nested(answer, dim + 1, next));
    return list;
}

ordered_json to_json(const Answer& answer) {
    size_t next = 0;
    ordered_json json{{"mesh", nested(answer, 0, next)},
                      {"shape", answer.shape},
                      {"ndim", answer.shape.size()},
                      {"size", answer.ranks.size()},
                      {"names", answer.names.empty() ? ordered_json() : ordered_json(answer.names)},
                      {"coordinate", answer.coordinate ? ordered_json(*answer.coordinate) : ordered_json()}};
    if (answer.coordinate) {
        json["groups"] = answer.groups;
        json["local_rank"] = answer.local_rank;
        json["size_by_dim"] = answer.shape;
    }
    json["layout"] = answer.layouts;
    json["repr"] = answer.repr;
    json["new_group_calls"] = answer.cost.new_group;
    json["split_group_calls"] = answer.cost.split_group;
    return json;
}

ordered_json to_json(const Message& refusal, const CommandContext& context) {
    const auto argument = [&](const char* name) {
        const MessageValue* value = refusal.find(name);
        return value ? to_text(*value) : std::string();
    };
    return {{"error", context.text(refusal)},
            {"id", refusal.id},
            {"pytorch_error", argument("pytorch_error")},
            {"pytorch_text", argument("pytorch_text")}};
}

ordered_json to_json(const Reply& reply, const CommandContext& context) {
    return reply.answer ? to_json(*reply.answer) : to_json(*reply.error, context);
}

/// One entry at a time, so that memory holds one rank's answers only.
void print_json(const DeviceMesh& root, const std::vector<Asked>& asked, int64_t first, int64_t last,
                CommandContext& context) {
    context.out << "{\"per_rank\":[";
    for (int64_t r = first; r < last; ++r) {
        const GlobalRank rank{static_cast<int32_t>(r)};
        ordered_json entry{{"rank", r}, {"root", to_json(mesh::answer(root, rank))}};
        for (const Asked& kind : asked) {
            ordered_json replies = ordered_json::array();
            for (const Derived& derived : kind.derived)
                replies.push_back(to_json(mesh::reply(derived, rank), context));
            entry[kind.key] = std::move(replies);
        }
        context.out << (r == first ? "\n" : ",\n") << json_text(entry);
    }
    context.out << "\n]}\n";
}

// The terminal ---------------------------------------------------------------------------------------------

/// A list that is read on a terminal: the ends of a long one, and its length.
std::string short_list(const std::vector<int64_t>& ranks) {
    if (ranks.size() <= kShownMembers) return mesh::python_list(ranks);
    std::string text = "[";
    for (size_t i = 0; i < 3; ++i) text += std::to_string(ranks[i]) + ", ";
    return text + "… " + std::to_string(ranks.back()) + "] (" + std::to_string(ranks.size()) + ")";
}

std::string short_mesh(const Answer& answer) {
    return answer.ranks.size() <= 4 * kShownMembers ? mesh::nested_text(answer) : short_list(answer.ranks);
}

std::string dim_name(const DeviceMesh& mesh, int64_t dim) {
    return mesh.names().empty() ? std::to_string(dim) : mesh.names()[static_cast<size_t>(dim)];
}

void print_dims(const DeviceMesh& mesh, CommandContext& context) {
    Table table;
    table.header = {context.text("cli.mesh.dim"), context.text("cli.mesh.size"),
                    context.text("cli.mesh.layout"), context.text("cli.mesh.groups")};
    table.right = {false, true};
    for (int64_t dim = 0; dim < mesh.ndim(); ++dim) {
        const std::vector<std::vector<int64_t>> groups = mesh.all_groups(dim);
        std::string text;
        for (size_t g = 0; g < std::min(groups.size(), kShownGroups); ++g)
            text += (g == 0 ? "" : " ") + short_list(groups[g]);
        if (groups.size() > kShownGroups) text += " … " + std::to_string(groups.size());
        table.rows.push_back(
            {dim_name(mesh, dim), std::to_string(mesh.size(dim)), mesh.layout(dim).to_text(), text});
    }
    print_table(table, context.out);
}

std::string cost_text(const mesh::GroupCost& cost, const CommandContext& context) {
    if (cost == mesh::GroupCost{}) return context.text("cli.mesh.no_cost");
    return context.text("cli.mesh.cost", {{"new_group", cost.new_group}, {"split_group", cost.split_group}});
}

/// What each rank gets of one mesh: its coordinate, the mesh it sees (left out for the root: all see the
/// same), its groups.
void print_ranks(const DeviceMesh& mesh, const std::vector<Reply>& replies, int64_t first, bool with_mesh,
                 CommandContext& context) {
    Table table;
    table.header = {context.text("cli.mesh.rank"), context.text("cli.mesh.coordinate")};
    if (with_mesh) table.header.push_back(context.text("cli.mesh.mesh"));
    for (int64_t dim = 0; dim < mesh.ndim(); ++dim) table.header.push_back(dim_name(mesh, dim));
    table.right = {true};
    for (size_t i = 0; i < replies.size(); ++i) {
        std::vector<std::string> row{std::to_string(first + static_cast<int64_t>(i))};
        if (!replies[i].answer) {
            row.push_back("-");
            row.push_back(context.text("cli.mesh.outside"));
        } else {
            const Answer& answer = *replies[i].answer;
            row.push_back(answer.coordinate ? mesh::python_tuple(*answer.coordinate)
                                            : context.text("cli.mesh.outside"));
            if (with_mesh) row.push_back(short_mesh(answer));
            for (const std::vector<int64_t>& group : answer.groups) row.push_back(short_list(group));
        }
        table.rows.push_back(std::move(row));
    }
    print_table(table, context.out);
}

void print_refusal(const Message& refusal, CommandContext& context) {
    const std::string pytorch = mesh::pytorch_exception(refusal);
    context.out << "  " << context.styled(context.text(refusal), "31") << '\n';
    if (!pytorch.empty())
        context.out << "  " << context.text("cli.mesh.pytorch_says", {{"exception", pytorch}}) << '\n';
}

std::string size_and_cost(const DeviceMesh& mesh, const CommandContext& context) {
    return context.text("cli.mesh.with_cost",
                        {{"mesh", context.text("cli.mesh.ranks_of_world",
                                               {{"ranks", mesh.size()}, {"world", mesh.world_size()}})},
                         {"cost", cost_text(mesh.cost(), context)}});
}

void print_derived(const Derived& derived, int64_t first, int64_t last, CommandContext& context) {
    context.out << '\n' << context.styled(mesh::pytorch_expression(derived.question), "1") << '\n';
    if (derived.error) {
        print_refusal(*derived.error, context);
        return;
    }
    const DeviceMesh& result = derived.steps.back();
    context.out << context.text("cli.mesh.with_cost",
                                {{"mesh", result.repr()}, {"cost", cost_text(result.cost(), context)}})
                << '\n';
    std::vector<Reply> replies;
    for (int64_t r = first; r < last; ++r)
        replies.push_back(mesh::reply(derived, GlobalRank{static_cast<int32_t>(r)}));
    print_ranks(result, replies, first, true, context);
}

/// One rank of a mesh too large to list: its coordinate and groups, which cost nothing but their own length.
void print_one_rank(const DeviceMesh& mesh, GlobalRank rank, CommandContext& context) {
    context.out << context.styled(mesh.repr(), "1") << '\n' << size_and_cost(mesh, context) << "\n\n";
    const std::optional<std::vector<int64_t>> coordinate = mesh.coordinate(rank);
    if (!coordinate) {
        context.out << context.text("cli.mesh.rank") << ' ' << rank.value << ": "
                    << context.text("cli.mesh.outside") << '\n';
        return;
    }
    Table table;
    table.header = {context.text("cli.mesh.dim"), context.text("cli.mesh.size"),
                    context.text("cli.mesh.layout"), context.text("cli.mesh.coordinate"),
                    context.text("cli.mesh.own_group", {{"rank", int64_t{rank.value}}})};
    table.right = {false, true, false, true};
    for (int64_t dim = 0; dim < mesh.ndim(); ++dim) {
        const bool listed = mesh.size(dim) <= kLargestAnswer;
        table.rows.push_back({dim_name(mesh, dim), std::to_string(mesh.size(dim)), mesh.layout(dim).to_text(),
                              std::to_string((*coordinate)[static_cast<size_t>(dim)]),
                              listed ? short_list(mesh.group(rank, dim)) : "…"});
    }
    print_table(table, context.out);
}

void print_words(const DeviceMesh& root, const std::vector<Asked>& asked, int64_t first, int64_t last,
                 CommandContext& context) {
    const int64_t shown = std::min(last, first + kShownRanks);
    context.out << context.styled(root.repr(), "1") << '\n' << size_and_cost(root, context) << "\n\n";
    print_dims(root, context);
    context.out << '\n';
    std::vector<Reply> replies;
    for (int64_t r = first; r < shown; ++r)
        replies.push_back({mesh::answer(root, GlobalRank{static_cast<int32_t>(r)}), {}});
    print_ranks(root, replies, first, false, context);
    for (const Asked& kind : asked)
        for (const Derived& derived : kind.derived) print_derived(derived, first, shown, context);
    if (shown < last)
        context.out << '\n'
                    << context.text("cli.mesh.more_ranks",
                                    {{"shown", shown - first}, {"ranks", last - first}})
                    << '\n';
}

void run(const MeshWords& words, CommandContext& context) {
    context.json_errors = words.json;
    const MeshRequest request = read_request(words);
    std::optional<DeviceMesh> root;
    try {
        root = make_mesh(request);
    } catch (const InvalidArgument& refusal) {
        // An answer of its own: programs compare it with the other answers.
        if (request.json) context.out << json_text(to_json(refusal.message(), context)) << '\n';
        context.err << "meshscope: " << context.text(refusal.message()) << '\n';
        const std::string pytorch = mesh::pytorch_exception(refusal.message());
        // PyTorch has no check of a size below 1: what stops it speaks of something else.
        if (!pytorch.empty() && refusal.message().id != "mesh.bad_size")
            context.err << "meshscope: " << context.text("cli.mesh.pytorch_says", {{"exception", pytorch}})
                        << '\n';
        context.exit_code = ExitCode::bad_input;
        return;
    }
    const bool questions = !request.slices.empty() || !request.flatten.empty() ||
                           !request.unflatten.empty() || !request.concatenate.empty();
    if (request.rank && !request.json && !questions && root->size() > kLargestTable) {
        print_one_rank(*root, GlobalRank{static_cast<int32_t>(*request.rank)}, context);
        return;
    }
    const int64_t first = request.rank.value_or(0);
    const int64_t last = request.rank ? first + 1 : request.world;
    if (root->size() > kLargestAnswer || (request.json && root->size() > kLargestOutput / (last - first)))
        throw UsageError({"cli.mesh.too_much",
                          {{"ranks", last - first}, {"size", root->size()}, {"most", kLargestAnswer}}});
    const std::vector<Asked> asked = derive_all(*root, request);
    if (request.json) {
        print_json(*root, asked, first, last, context);
    } else {
        print_words(*root, asked, first, last, context);
    }
}

}  // namespace

void add_mesh_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("mesh", context.text("cli.mesh.about"));
    command->footer(context.text("cli.mesh.examples"));
    auto words = std::make_shared<MeshWords>();
    const auto repeatable = [&](const char* name, std::vector<std::string>& values, const char* id,
                                const char* form) {
        command->add_option(name, values, context.text(id))->allow_extra_args(false)->type_name(form);
    };
    command->add_option("--shape", words->shape, context.text("cli.mesh.help.shape"))
        ->required()
        ->type_name("2,2,2");
    command->add_option("--names", words->names, context.text("cli.mesh.help.names"))->type_name("a,b,c");
    add_integer(*command, "--world", words->world, context.text("cli.mesh.help.world"), {1, kLargestWorld})
        ->type_name("N");
    command->add_option("--ranks", words->ranks, context.text("cli.mesh.help.ranks"))->type_name("0,2,4");
    add_integer(*command, "--rank", words->rank, context.text("cli.mesh.help.rank"), {0, kLargestWorld - 1})
        ->type_name("R");
    repeatable("--slice", words->slices, "cli.mesh.help.slice", "a,b");
    repeatable("--flatten", words->flatten, "cli.mesh.help.flatten", "a,b");
    repeatable("--unflatten", words->unflatten, "cli.mesh.help.unflatten", "D=2x2:a,b");
    repeatable("--concatenate", words->concatenate, "cli.mesh.help.concatenate", "a+b,c");
    command->add_flag("--json", words->json, context.text("cli.help.json"));
    command->callback([words, &context] { run(*words, context); });
}

}  // namespace meshscope::cli
