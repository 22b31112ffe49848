#include "app/cli/algorithm_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>

#include "app/cli/integer_option.h"
#include "app/cli/table.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/comm/choice.h"
#include "core/comm/cost.h"
#include "core/comm/schedule/card.h"
#include "core/comm/schedule/own/whole_schedule.h"

namespace meshscope::cli {
namespace {

using comm::OwnAlgorithm;
using comm::WholeSchedule;
using nlohmann::ordered_json;

/// A file for any number of ranks is proved for these where none is asked for.
constexpr int32_t kMostTried = 16;
/// What a terminal gets: rounds, and messages of one round.
constexpr int32_t kShownRounds = 64;
constexpr std::size_t kShownMessages = 12;

struct Words {
    std::string what;
    std::optional<int64_t> ranks;
    std::string collective = "all_reduce";
    std::string to = "msccl";
    bool json = false;
};

/// A file, or an algorithm of the list.
struct Subject {
    std::shared_ptr<const OwnAlgorithm> file;
    Algorithm built_in = Algorithm::none;
    CollectiveOp op = CollectiveOp::all_reduce;

    std::string name() const { return file ? file->name() : std::string(meshscope::name(built_in)); }
    std::string shown() const { return file ? file->file_name() : name(); }
};

std::string built_in_words() {
    std::string words;
    for (const comm::AlgorithmCard& card : comm::algorithm_cards())
        words += (words.empty() ? "" : ", ") + std::string(name(card.algorithm));
    return words;
}

Subject subject_of(const Words& words) {
    const auto word = parse_algorithm(words.what);
    std::error_code error;
    if (!word || comm::card_of(*word) == nullptr || std::filesystem::exists(words.what, error)) {
        if (words.what.find_first_of("./") == std::string::npos &&
            !std::filesystem::exists(words.what, error))
            throw UsageError({"cli.algorithm.unknown", {{"word", words.what}, {"known", built_in_words()}}});
        Subject subject{OwnAlgorithm::read(words.what), Algorithm::own, CollectiveOp::all_reduce};
        subject.op = subject.file->op();
        return subject;
    }
    const auto op = parse_collective_op(words.collective);
    const comm::AlgorithmCard* const card = comm::card_of(*word);
    std::string known;
    for (const comm::AlgorithmCard::Op& each : card->ops)
        if (!comm::own::msccl_word(each.op).empty())
            known += (known.empty() ? "" : ", ") + std::string(name(each.op));
    if (!op || comm::op_of(*word, *op) == nullptr || comm::own::msccl_word(*op).empty())
        throw UsageError({"cli.algorithm.no_such_op",
                          {{"algorithm", words.what}, {"collective", words.collective}, {"known", known}}});
    return {nullptr, *word, *op};
}

/// For how many ranks it is looked at.
int32_t ranks_of(const Subject& subject, const Words& words) {
    if (words.ranks) {
        if (*words.ranks < 2 || *words.ranks > comm::own::kMostRanks)
            throw InvalidArgument(
                {"algorithm.ranks", {{"ranks", *words.ranks}, {"most", int64_t{comm::own::kMostRanks}}}});
        return static_cast<int32_t>(*words.ranks);
    }
    if (subject.file)
        if (const auto only = subject.file->ranks()) return *only;
    throw UsageError({"cli.algorithm.needs_ranks", {{"what", subject.shown()}}});
}

WholeSchedule schedule_of(const Subject& subject, int32_t ranks) {
    if (subject.file) return comm::whole_schedule(*subject.file, ranks);
    if (comm::choose_algorithm(subject.op, subject.built_in, ranks) != subject.built_in)
        throw InvalidArgument({"cli.algorithm.not_for_ranks",
                               {{"algorithm", subject.name()},
                                {"collective", std::string(name(subject.op))},
                                {"ranks", int64_t{ranks}}}});
    return comm::whole_schedule(subject.built_in, subject.op, ranks);
}

// verify
// -------------------------------------------------------------------------------------------------------

std::vector<int32_t> tried(const Subject& subject, const Words& words) {
    if (words.ranks || (subject.file && subject.file->ranks())) return {ranks_of(subject, words)};
    std::vector<int32_t> sizes;
    for (int32_t p = 2; p <= kMostTried; ++p)
        if (subject.file ? subject.file->fits(p)
                         : comm::choose_algorithm(subject.op, subject.built_in, p) == subject.built_in)
            sizes.push_back(p);
    return sizes;
}

ordered_json head_json(const Subject& subject) {
    ordered_json json;
    json["name"] = subject.name();
    if (subject.file) json["file"] = subject.file->path();
    json["form"] = !subject.file ? "built-in" : subject.file->is_msccl() ? "msccl" : "toml";
    json["collective"] = name(subject.op);
    return json;
}

void verify(const Words& words, CommandContext& context) {
    context.json_errors = words.json;
    const Subject subject = subject_of(words);
    const std::vector<int32_t> sizes = tried(subject, words);
    if (sizes.empty())
        throw InvalidArgument(
            {"cli.algorithm.no_ranks", {{"what", subject.shown()}, {"most", int64_t{kMostTried}}}});
    ordered_json json = head_json(subject);
    json["proved"] = ordered_json::array();
    Table table;
    table.header = {context.text("cli.algorithm.ranks"), context.text("cli.algorithm.rounds"),
                    context.text("cli.algorithm.chunks"), context.text("cli.algorithm.messages")};
    table.right = {true, true, true, true};
    for (const int32_t p : sizes) {
        const WholeSchedule schedule = schedule_of(subject, p);
        const auto messages = static_cast<int64_t>(comm::hops_of(schedule).size());
        json["proved"].push_back({{"ranks", p},
                                  {"rounds", schedule.rounds},
                                  {"chunks", schedule.chunks()},
                                  {"messages", messages}});
        table.rows.push_back({std::to_string(p), std::to_string(schedule.rounds),
                              std::to_string(schedule.chunks()), std::to_string(messages)});
    }
    if (words.json) {
        context.out << json_text(json) << '\n';
        return;
    }
    context.out << context.styled(
                       context.text("cli.algorithm.proved", {{"what", subject.shown()},
                                                             {"collective", std::string(name(subject.op))}}),
                       "32")
                << "\n\n";
    print_table(table, context.out);
    context.out << '\n' << context.text("cli.algorithm.means." + std::string(name(subject.op))) << '\n';
}

// show
// ---------------------------------------------------------------------------------------------------------

struct Figures {
    std::vector<int64_t> sent;  ///< by rank, in chunks
    int64_t all = 0, most = 0, messages = 0, at_once = 0;
    int32_t least_rounds = 0;
    double whole = 1;         ///< chunks of the whole buffer
    double textbook_all = 0;  ///< chunks that all ranks together must send at least
    double textbook = 0;      ///< a rank's share of it
};

Figures figures_of(const WholeSchedule& schedule, const std::vector<comm::Hop>& hops) {
    Figures figures;
    const int32_t p = schedule.call.ranks;
    figures.sent.assign(static_cast<std::size_t>(p), 0);
    figures.messages = std::ssize(hops);
    std::map<std::pair<int32_t, int32_t>, int64_t> at_once;
    for (const comm::Hop& hop : hops) {
        figures.sent[static_cast<std::size_t>(hop.from)] += hop.chunks;
        figures.at_once = std::max(figures.at_once, ++at_once[{hop.round, hop.from}]);
    }
    for (const int64_t each : figures.sent) {
        figures.all += each;
        figures.most = std::max(figures.most, each);
    }
    figures.whole = static_cast<double>(schedule.chunks());
    figures.textbook = comm::textbook_bytes_sent(schedule.call.op, p, figures.whole);
    figures.textbook_all = figures.textbook * p;
    while ((1 << figures.least_rounds) < p) ++figures.least_rounds;
    return figures;
}

/// "1.5 n"
std::string share(double chunks, double whole) {
    std::string text = std::to_string(std::round(chunks / whole * 1000) / 1000);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text + " n";
}

std::string hop_text(const comm::Hop& hop) {
    std::string text =
        std::to_string(hop.from) + "→" + std::to_string(hop.to) + " [" + std::to_string(hop.chunk);
    if (hop.chunks != 1) text += " ×" + std::to_string(hop.chunks);
    return text + "]" + (hop.adds ? "+" : "");
}

void show_rounds(const WholeSchedule& schedule, const std::vector<comm::Hop>& hops, CommandContext& context) {
    Table table;
    table.header = {context.text("cli.algorithm.round"), context.text("cli.algorithm.messages")};
    table.right = {true};
    for (auto at = hops.begin(); at != hops.end() && std::ssize(table.rows) < kShownRounds;) {
        const auto end =
            std::find_if(at, hops.end(), [&](const comm::Hop& hop) { return hop.round != at->round; });
        std::string text;
        for (auto hop = at; hop != end && hop - at < static_cast<std::ptrdiff_t>(kShownMessages); ++hop)
            text += (text.empty() ? "" : "  ") + hop_text(*hop);
        if (const int64_t more = end - at - static_cast<std::ptrdiff_t>(kShownMessages); more > 0)
            text += "  " + context.text("cli.algorithm.more_messages", {{"messages", more}});
        table.rows.push_back({std::to_string(at->round), text});
        at = end;
    }
    print_table(table, context.out);
    if (schedule.rounds > kShownRounds)
        context.out << context.text("cli.algorithm.more_rounds",
                                    {{"rounds", int64_t{schedule.rounds - kShownRounds}}})
                    << '\n';
    context.out << context.text("cli.algorithm.legend") << '\n';
}

void show(const Words& words, CommandContext& context) {
    context.json_errors = words.json;
    const Subject subject = subject_of(words);
    const WholeSchedule schedule = schedule_of(subject, ranks_of(subject, words));
    const std::vector<comm::Hop> hops = comm::hops_of(schedule);
    const Figures figures = figures_of(schedule, hops);
    if (words.json) {
        ordered_json json = head_json(subject);
        json["ranks"] = schedule.call.ranks;
        json["chunks"] = schedule.chunks();
        json["rounds"] = schedule.rounds;
        json["rounds_at_least"] = figures.least_rounds;
        json["messages"] = figures.messages;
        json["messages_at_once"] = figures.at_once;
        json["chunks_sent_by_rank"] = figures.sent;
        json["chunks_sent"] = figures.all;
        json["chunks_sent_at_least"] = figures.textbook_all;
        ordered_json list = ordered_json::array();
        for (const comm::Hop& hop : hops)
            list.push_back({{"round", hop.round},
                            {"src", hop.from},
                            {"dst", hop.to},
                            {"chunk", hop.chunk},
                            {"chunks", hop.chunks},
                            {"adds", hop.adds}});
        json["hops"] = std::move(list);
        context.out << json_text(json) << '\n';
        return;
    }
    context.out << context.styled(
                       context.text("cli.algorithm.title", {{"what", subject.shown()},
                                                            {"collective", std::string(name(subject.op))},
                                                            {"ranks", int64_t{schedule.call.ranks}},
                                                            {"chunks", schedule.chunks()}}),
                       "1")
                << "\n\n";
    show_rounds(schedule, hops, context);
    context.out << '\n';
    Table table;
    table.header = {"", context.text("cli.algorithm.here"), context.text("cli.algorithm.textbook")};
    table.right = {false, true, true};
    table.rows = {
        {context.text("cli.algorithm.rounds"), std::to_string(schedule.rounds),
         "≥ " + std::to_string(figures.least_rounds) + " (⌈log2 p⌉)"},
        {context.text("cli.algorithm.busiest"), share(static_cast<double>(figures.most), figures.whole),
         share(figures.textbook, figures.whole)},
        {context.text("cli.algorithm.all_ranks"), share(static_cast<double>(figures.all), figures.whole),
         "≥ " + share(figures.textbook_all, figures.whole)},
        {context.text("cli.algorithm.at_once"), std::to_string(figures.at_once), "1"}};
    print_table(table, context.out);
    context.out << '\n' << context.text("cli.algorithm.textbook_note") << '\n';
}

// export
// -------------------------------------------------------------------------------------------------------

void export_it(const Words& words, CommandContext& context) {
    const Subject subject = subject_of(words);
    const int32_t ranks = ranks_of(subject, words);
    const WholeSchedule schedule = schedule_of(subject, ranks);
    if (words.to == "msccl") {
        context.out << comm::msccl_of(schedule, subject.name());
        return;
    }
    const std::string text = comm::toml_of(schedule, subject.name());
    if (text.empty()) throw InvalidArgument({"cli.algorithm.no_rounds", {{"what", subject.shown()}}});
    context.out << text;
}

// The command
// --------------------------------------------------------------------------------------------------

void add_subject(CLI::App& command, Words& words, const CommandContext& context) {
    command.add_option("ALGORITHM", words.what, context.text("cli.algorithm.help.what"))->required();
    add_integer(command, "--ranks", words.ranks, context.text("cli.algorithm.help.ranks"),
                {2, comm::own::kMostRanks})
        ->type_name("P");
    command.add_option("--collective", words.collective, context.text("cli.algorithm.help.collective"))
        ->type_name("OP");
}

}  // namespace

void add_algorithm_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("algorithm", context.text("cli.algorithm.about"));
    command->footer(context.text("cli.algorithm.examples"));
    command->require_subcommand(1);
    const auto add = [&](const char* name, void (*run)(const Words&, CommandContext&)) {
        CLI::App* sub =
            command->add_subcommand(name, context.text("cli.algorithm.about." + std::string(name)));
        auto words = std::make_shared<Words>();
        add_subject(*sub, *words, context);
        sub->callback([words, run, &context] { run(*words, context); });
        return std::pair(sub, words);
    };
    for (const auto& [sub, words] : {add("verify", verify), add("show", show)})
        sub->add_flag("--json", words->json, context.text("cli.help.json"));
    const auto [sub, words] = add("export", export_it);
    sub->add_option("--to", words->to, context.text("cli.algorithm.help.to"))
        ->check(CLI::IsMember({"msccl", "toml"}))
        ->type_name("msccl|toml");
}

}  // namespace meshscope::cli
