#include "app/cli/mesh_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <ostream>

#include "app/cli/integer_option.h"
#include "app/cli/mesh_json.h"
#include "app/cli/mesh_request.h"
#include "app/cli/table.h"
#include "core/base/error.h"
#include "core/mesh/answer.h"
#include "core/mesh/python_text.h"
#include "core/mesh/value.h"

namespace meshscope::cli {
namespace {

using mesh::Derived;
using mesh::DeviceMesh;
using mesh::RankExcerpt;

/// What --json lists at most: numbers in one answer, and in all of them. A terminal gets excerpts, of any
/// mesh.
constexpr int64_t kLargestAnswer = int64_t{1} << 24;
constexpr int64_t kLargestOutput = int64_t{1} << 28;
/// Rows and groups a terminal gets; the rest is counted.
constexpr int64_t kShownRanks = 64;
constexpr int64_t kShownGroups = 8;
constexpr int64_t kShownMembers = 16;

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

std::vector<Asked> derive_all(const DeviceMesh& root, const MeshRequest& request) {
    std::vector<Asked> all;
    std::optional<GlobalRank> asking;
    if (request.rank) asking = GlobalRank{static_cast<int32_t>(*request.rank)};
    for (const auto& [option, question] : request.questions)
        all.push_back({option, mesh::derive(root, question, asking)});
    return all;
}

// The terminal ---------------------------------------------------------------------------------------------

std::string short_mesh(const DeviceMesh& mesh, GlobalRank asking) {
    const RankExcerpt ranks = mesh.ranks_excerpt(asking, 4 * kShownMembers);
    return ranks.whole() ? mesh::python_nested_list(mesh.shape(), ranks.first) : mesh::excerpt_text(ranks);
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
        std::string text;
        for (const RankExcerpt& group : mesh.group_excerpts(dim, kShownGroups, kShownMembers))
            text += (text.empty() ? "" : " ") + mesh::excerpt_text(group);
        if (const int64_t count = mesh.group_count(dim); count > kShownGroups)
            text += " … " + context.text("cli.mesh.more_groups", {{"groups", count}});
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
/// same), its groups. `derived` is null for the root.
void print_ranks(const DeviceMesh& mesh, const Derived* derived, int64_t first, int64_t last,
                 CommandContext& context) {
    Table table;
    table.header = {context.text("cli.mesh.rank"), context.text("cli.mesh.coordinate")};
    if (derived) table.header.push_back(context.text("cli.mesh.mesh"));
    for (int64_t dim = 0; dim < mesh.ndim(); ++dim) table.header.push_back(dim_name(mesh, dim));
    table.right = {true};
    for (int64_t r = first; r < last; ++r) {
        const GlobalRank rank{static_cast<int32_t>(r)};
        std::vector<std::string> row{std::to_string(r)};
        if (derived && mesh::refusal_of(*derived, rank)) {
            row.push_back("-");
            row.push_back(context.text("cli.mesh.outside"));
        } else {
            const mesh::BriefAnswer answer = mesh::brief_answer(mesh, rank, kShownMembers);
            row.push_back(answer.coordinate ? mesh::python_tuple(*answer.coordinate)
                                            : context.text("cli.mesh.outside"));
            if (derived) row.push_back(short_mesh(mesh, rank));
            for (const RankExcerpt& group : answer.groups) row.push_back(mesh::excerpt_text(group));
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

/// What each rank gets of a value question: in one line what is the same for all of them.
void print_values(const Derived& derived, int64_t first, int64_t last, CommandContext& context) {
    const std::string& member = derived.question.member;
    const auto text_for = [&](GlobalRank rank) {
        return mesh::value_text(mesh::value_for(derived, rank, kShownMembers));
    };
    const GlobalRank one{static_cast<int32_t>(first)};
    if (!mesh::find_value_member(member)->of_rank && !mesh::refusal_of(derived, one)) {
        context.out << text_for(one) << '\n';
        return;
    }
    Table table;
    table.header = {context.text("cli.mesh.rank"), member};
    table.right = {true};
    for (int64_t r = first; r < last; ++r) {
        const GlobalRank rank{static_cast<int32_t>(r)};
        const bool refused = mesh::refusal_of(derived, rank).has_value();
        table.rows.push_back(
            {std::to_string(r), refused ? context.text("cli.mesh.outside") : text_for(rank)});
    }
    print_table(table, context.out);
}

void print_derived(const Derived& derived, int64_t first, int64_t last, CommandContext& context) {
    context.out << '\n' << context.styled(mesh::pytorch_expression(derived.question), "1") << '\n';
    if (derived.error) {
        print_refusal(*derived.error, context);
        return;
    }
    if (derived.question.kind == mesh::QuestionKind::value) {
        print_values(derived, first, last, context);
        return;
    }
    const DeviceMesh& result = derived.steps.back();
    context.out << context.text("cli.mesh.with_cost",
                                {{"mesh", result.repr()}, {"cost", cost_text(result.cost(), context)}})
                << '\n';
    print_ranks(result, &derived, first, last, context);
}

void print_words(const DeviceMesh& root, const std::vector<Asked>& asked, int64_t first, int64_t last,
                 CommandContext& context) {
    const int64_t shown = std::min(last, first + kShownRanks);
    context.out << context.styled(root.repr(), "1") << '\n' << size_and_cost(root, context) << "\n\n";
    print_dims(root, context);
    context.out << '\n';
    print_ranks(root, nullptr, first, shown, context);
    for (const Asked& one : asked) print_derived(one.derived, first, shown, context);
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
        if (request.json) context.out << mesh_refusal_json(refusal.message(), context) << '\n';
        context.err << "meshscope: " << context.text(refusal.message()) << '\n';
        const std::string pytorch = mesh::pytorch_exception(refusal.message());
        // PyTorch has no check of a size below 1: what stops it speaks of something else.
        if (!pytorch.empty() && refusal.message().id != "mesh.bad_size")
            context.err << "meshscope: " << context.text("cli.mesh.pytorch_says", {{"exception", pytorch}})
                        << '\n';
        context.exit_code = ExitCode::bad_input;
        return;
    }
    const int64_t first = request.rank.value_or(0);
    const int64_t last = request.rank ? first + 1 : request.world;
    const int64_t answers = (last - first) * (1 + static_cast<int64_t>(request.questions.size()));
    if (request.json && (root->size() > kLargestAnswer || root->size() > kLargestOutput / answers))
        throw UsageError({request.rank ? "cli.mesh.too_much_of_one" : "cli.mesh.too_much",
                          {{"ranks", last - first}, {"size", root->size()}, {"most", kLargestAnswer}}});
    const std::vector<Asked> asked = derive_all(*root, request);
    if (request.json) {
        print_mesh_json(*root, asked, first, last, context);
    } else {
        print_words(*root, asked, first, last, context);
    }
}

}  // namespace

void add_mesh_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("mesh", context.text("cli.mesh.about"));
    command->footer(context.text("cli.mesh.examples"));
    auto words = std::make_shared<MeshWords>();
    command->add_option("--shape", words->shape, context.text("cli.mesh.help.shape"))
        ->required()
        ->type_name("2,2,2");
    command->add_option("--names", words->names, context.text("cli.mesh.help.names"))->type_name("a,b,c");
    add_integer(*command, "--world", words->world, context.text("cli.mesh.help.world"), {1, kLargestWorld})
        ->type_name("N");
    command->add_option("--ranks", words->ranks, context.text("cli.mesh.help.ranks"))->type_name("0,2,4");
    add_integer(*command, "--rank", words->rank, context.text("cli.mesh.help.rank"), {0, kLargestWorld - 1})
        ->type_name("R");
    struct Repeatable {
        const char* name;
        RequestOption option;
        const char* help;
        const char* form;
    };
    auto values = std::make_shared<std::array<std::vector<std::string>, 5>>();
    for (const Repeatable& one :
         {Repeatable{"--slice", RequestOption::slice, "cli.mesh.help.slice", "a,b"},
          {"--flatten", RequestOption::flatten, "cli.mesh.help.flatten", "[NAME=]a,b"},
          {"--unflatten", RequestOption::unflatten, "cli.mesh.help.unflatten", "D=2x2:a,b"},
          {"--concatenate", RequestOption::concatenate, "cli.mesh.help.concatenate", "a+b,c"},
          {"--ask", RequestOption::ask, "cli.mesh.help.ask", "PYTHON"}})
        command->add_option(one.name, values->at(static_cast<size_t>(one.option)), context.text(one.help))
            ->allow_extra_args(false)
            ->type_name(one.form);
    command->add_flag("--json", words->json, context.text("cli.help.json"));
    command->callback([command, words, values, &context] {
        // In the order in which they stand on the command line, each option's values in theirs.
        constexpr const char* kNames[] = {"--slice", "--flatten", "--unflatten", "--concatenate", "--ask"};
        std::array<size_t, 5> next{};
        words->requests.clear();
        for (const CLI::Option* option : command->parse_order())
            for (size_t kind = 0; kind < values->size(); ++kind)
                if (option->check_name(kNames[kind]))
                    words->requests.emplace_back(static_cast<RequestOption>(kind),
                                                 values->at(kind).at(next[kind]++));
        run(*words, context);
    });
}

}  // namespace meshscope::cli
