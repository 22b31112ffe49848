#include "app/cli/sampler_command.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <ostream>

#include "app/cli/integer_option.h"
#include "app/cli/table.h"
#include "core/data/sampler.h"

namespace meshscope::cli {
namespace {

using Indices = std::vector<int64_t>;

/// The most samples and ranks that are answered: beyond it the answer helps nobody and would fill the memory.
constexpr int64_t kMost = 1'000'000;
/// What a table shows of many ranks and of long lists.
constexpr int64_t kMostRanksShown = 64;
constexpr std::size_t kShownSamples = 32;

struct SamplerArguments {
    int64_t samples = 0, world = 0, batch_size = 1, epoch = 0, seed = 0;
    bool drop_last = false, shuffle = false, json = false;
    bool epoch_given = false, seed_given = false;
};

void expect(const char* option, int64_t value, int64_t least, int64_t most) {
    if (value < least || value > most)
        throw UsageError(
            {"cli.sampler.out_of_range",
             {{"option", std::string(option)}, {"value", value}, {"least", least}, {"most", most}}});
}

void check(const SamplerArguments& options) {
    expect("--samples", options.samples, 1, kMost);
    expect("--world", options.world, 1, kMost);
    expect("--batch-size", options.batch_size, 1, kMost);
    expect("--epoch", options.epoch, 0, std::numeric_limits<int64_t>::max());
    expect("--seed", options.seed, 0, std::numeric_limits<int64_t>::max());
    for (const auto& [given, option] :
         {std::pair(options.epoch_given, "--epoch"), std::pair(options.seed_given, "--seed")})
        if (given && !options.shuffle)
            throw UsageError({"cli.sampler.needs_shuffle", {{"option", std::string(option)}}});
}

void append(std::string& text, const Indices& numbers) {
    text += '[';
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i > 0) text += ',';
        text += std::to_string(numbers[i]);
    }
    text += ']';
}

void append(std::string& text, const std::vector<Indices>& batches) {
    text += '[';
    for (std::size_t i = 0; i < batches.size(); ++i) {
        if (i > 0) text += ',';
        append(text, batches[i]);
    }
    text += ']';
}

/// Rank by rank, so that a large answer is never held whole.
void print_json(const data::DistributedSampler& sampler, const SamplerArguments& options, std::ostream& out) {
    out << "{\"ranks\":[";
    for (int64_t rank = 0; rank < options.world; ++rank) {
        const Indices indices = sampler.indices(rank);
        std::string text = rank > 0 ? ",\n{\"indices\":" : "\n{\"indices\":";
        append(text, indices);
        text += ",\"batches\":";
        append(text, data::batches_of(indices, options.batch_size, false));
        text += ",\"batches_drop_last\":";
        append(text, data::batches_of(indices, options.batch_size, true));
        out << text << '}';
    }
    out << "\n]}\n";
}

/// "0 2 4 | 6 8 0*": a stroke between batches, padding starred, the unfinished last batch in brackets.
std::string row_text(const data::DistributedSampler& sampler, const SamplerArguments& options, int64_t rank) {
    const Indices indices = sampler.indices(rank);
    const auto batch = static_cast<std::size_t>(options.batch_size);
    const std::size_t whole = indices.size() / batch * batch;
    std::string text;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        if (i == kShownSamples && indices.size() > kShownSamples + 1) return text + " …";
        if (i > 0) text += batch > 1 && i % batch == 0 ? " | " : " ";
        if (i == whole) text += '(';
        text += std::to_string(indices[i]);
        if (sampler.is_padding(rank, static_cast<int64_t>(i))) text += '*';
        if (i + 1 == indices.size() && whole < indices.size()) text += ')';
    }
    return text;
}

void print_words(const data::DistributedSampler& sampler, const SamplerArguments& options,
                 CommandContext& context) {
    Table table;
    table.header = {context.text("cli.sampler.rank"), context.text("cli.sampler.samples")};
    table.right = {true, false};
    const int64_t shown = std::min(options.world, kMostRanksShown);
    for (int64_t rank = 0; rank < shown; ++rank)
        table.rows.push_back({std::to_string(rank), row_text(sampler, options, rank)});
    print_table(table, context.out);
    if (shown < options.world)
        context.out << context.text("cli.sampler.more_ranks", {{"shown", shown}, {"ranks", options.world}})
                    << '\n';

    const int64_t each = sampler.samples_per_rank();
    const int64_t dealt = each * options.world;
    context.out << '\n'
                << context.text("cli.sampler.summary",
                                {{"samples", options.samples}, {"ranks", options.world}, {"each", each}})
                << '\n';
    if (dealt > options.samples)
        context.out << context.text("cli.sampler.padded", {{"padding", dealt - options.samples}}) << '\n';
    if (dealt < options.samples)
        context.out << context.text("cli.sampler.dropped", {{"dropped", options.samples - dealt}}) << '\n';
    if (options.batch_size > 1) {
        const int64_t left = each % options.batch_size;
        context.out << context.text(left > 0 ? "cli.sampler.batches_short" : "cli.sampler.batches",
                                    {{"batches", each / options.batch_size},
                                     {"batch_size", options.batch_size},
                                     {"left", left}})
                    << '\n';
    }
}

void run(const SamplerArguments& options, CommandContext& context) {
    context.json_errors = options.json;
    check(options);
    data::DistributedSampler sampler({.samples = options.samples,
                                      .world_size = options.world,
                                      .shuffle = options.shuffle,
                                      .seed = static_cast<uint64_t>(options.seed),
                                      .drop_last = options.drop_last});
    if (options.epoch > 0) sampler.set_epoch(static_cast<uint64_t>(options.epoch));
    if (options.json)
        print_json(sampler, options, context.out);
    else
        print_words(sampler, options, context);
}

}  // namespace

void add_sampler_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("sampler", context.text("cli.sampler.about"));
    command->footer(context.text("cli.sampler.examples"));
    auto options = std::make_shared<SamplerArguments>();
    add_integer(*command, "--samples", options->samples, context.text("cli.sampler.help.samples"), {1, kMost})
        ->required()
        ->type_name("N");
    add_integer(*command, "--world", options->world, context.text("cli.sampler.help.world"), {1, kMost})
        ->required()
        ->type_name("W");
    command->add_flag("--drop-last", options->drop_last, context.text("cli.sampler.help.drop_last"));
    add_integer(*command, "--batch-size", options->batch_size, context.text("cli.sampler.help.batch_size"),
                {1, kMost})
        ->type_name("B");
    command->add_flag("--shuffle", options->shuffle, context.text("cli.sampler.help.shuffle"));
    const CLI::Option* epoch =
        add_integer(*command, "--epoch", options->epoch, context.text("cli.sampler.help.epoch"), {})
            ->type_name("E");
    const CLI::Option* seed =
        add_integer(*command, "--seed", options->seed, context.text("cli.sampler.help.seed"), {})
            ->type_name("S");
    command->add_flag("--json", options->json, context.text("cli.help.json"));
    command->callback([options, epoch, seed, &context] {
        options->epoch_given = epoch->count() > 0;
        options->seed_given = seed->count() > 0;
        run(*options, context);
    });
}

}  // namespace meshscope::cli
