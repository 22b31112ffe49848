#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "core/base/joined.h"
#include "core/base/resolve_offers.h"
#include "core/base/toml_text.h"
#include "core/comm/schedule/own/mistakes.h"
#include "core/comm/schedule/own/toml_form.h"

namespace meshscope::comm::own {
namespace {

using Keys = std::span<const std::string_view>;

constexpr std::array<std::string_view, 8> kFileKeys{"collective", "name",    "ranks", "require",
                                                    "chunks",     "scratch", "phase", "step"};
constexpr std::array<std::string_view, 4> kPhaseKeys{"rounds", "when", "send", "copy"};
constexpr std::array<std::string_view, 9> kSendKeys{"to",   "chunk", "at",          "count",    "then",
                                                    "when", "each",  "from_buffer", "to_buffer"};
constexpr std::array<std::string_view, 10> kStepKeys{"round", "from",  "to",   "rank",        "chunk",
                                                     "at",    "count", "then", "from_buffer", "to_buffer"};
constexpr std::array<CollectiveOp, 6> kCollectives{CollectiveOp::all_reduce,     CollectiveOp::all_gather,
                                                   CollectiveOp::reduce_scatter, CollectiveOp::all_to_all,
                                                   CollectiveOp::broadcast,      CollectiveOp::reduce};
constexpr std::size_t kMostPhases = 256, kMostMoves = 64;

/// A table of a file and its place, as place_of() writes it.
struct Placed {
    const toml::table* table;
    std::string place;
};

class FormReader {
  public:
    explicit FormReader(const std::string& file) : mistakes_(file) {}

    /// The mistakes are in mistakes().
    TomlForm read(const toml::table& root) {
        const Placed file{&root, ""};
        check_keys(file, kFileKeys, "");
        collective(root);
        if (const auto name = text(root, "name")) made_.name = *name;
        if (const toml::node* node = root.get("ranks")) {
            const auto* ranks = node->as_integer();
            if (ranks == nullptr || ranks->get() < 2 || ranks->get() > kMostRanks)
                mistake(
                    *node,
                    {"algorithm.whole",
                     {{"key", std::string("ranks")}, {"least", int64_t{2}}, {"most", int64_t{kMostRanks}}}});
            else
                made_.ranks = ranks->get();
        }
        made_.require = written(root, "require", "rsi");
        made_.chunks = written(root, "chunks", "rsi");
        made_.scratch = written(root, "scratch", "rsi");
        has_scratch_ = !lacks(root, "scratch");
        for (const Placed& each : tables(file, "phase", kMostPhases)) phase(each);
        for (const Placed& each : tables(file, "step", static_cast<std::size_t>(kMostChunks))) step(each);
        if (made_.phases.empty() && made_.steps.empty() && mistakes_.none())
            mistakes_.add(1, 1, {"algorithm.no_steps", {}});
        if (!made_.phases.empty() && !made_.steps.empty())
            mistakes_.add(made_.steps.front().line, made_.steps.front().column,
                          {"algorithm.phases_and_steps", {}});
        return std::move(made_);
    }
    Mistakes& mistakes() { return mistakes_; }

  private:
    void mistake(const toml::node& node, Message message, Message hint = {}) {
        const toml::source_position at = node.source().begin;
        mistakes_.add(static_cast<int>(at.line), static_cast<int>(at.column), std::move(message),
                      std::move(hint));
    }

    void check_keys(const Placed& in, Keys known, const std::string& where) {
        std::set<std::string> guessed;
        for (const auto& [key, value] : *in.table) {
            if (std::ranges::find(known, key.str()) != known.end()) continue;
            const toml::source_position at = key.source().begin;
            Refusal refusal{{{"algorithm.unknown_key", {{"key", where + std::string(key.str())}}},
                             {mistakes_.file(), static_cast<int>(at.line), static_cast<int>(at.column), -1},
                             {"scenario.hint.known", {{"known", joined(known)}}}},
                            {},
                            {},
                            {}};
            const std::string meant = guess_key(refusal, *in.table, key, in.place, known, guessed);
            if (!meant.empty()) meant_.emplace(in.table, meant);
            mistakes_.add(std::move(refusal));
        }
    }
    /// Whether a key is missing; not where another one seems to be that one misspelt, which was told.
    bool lacks(const toml::table& table, const char* key) const {
        return table.get(key) == nullptr && !meant_.contains({&table, key});
    }

    /// Refuses the word that `key` has, with those that it can have.
    void unknown_word(const Placed& in, const char* key, Message message, Keys words) {
        const toml::node& node = *in.table->get(key);
        const toml::source_position at = node.source().begin;
        Refusal refusal{{std::move(message),
                         {mistakes_.file(), static_cast<int>(at.line), static_cast<int>(at.column), -1},
                         {}},
                        {},
                        {},
                        {}};
        if (const auto word = node.value<std::string>())
            guess_word(refusal, *word, words, [&](const std::string& each) {
                return Candidate{{place_of(in.place, key), each}};
            });
        mistakes_.add(std::move(refusal));
    }

    void collective(const toml::table& root) {
        std::vector<std::string_view> words;
        for (const CollectiveOp op : kCollectives) words.push_back(name(op));
        const toml::node* const node = root.get("collective");
        if (node == nullptr) {
            if (lacks(root, "collective"))
                mistakes_.add(1, 1, {"algorithm.no_collective", {{"known", joined(words)}}});
            return;
        }
        made_.line = static_cast<int>(node->source().begin.line);
        const auto word = node->value<std::string>();
        const auto op = word ? parse_collective_op(*word) : std::nullopt;
        if (op && std::ranges::find(kCollectives, *op) != kCollectives.end())
            made_.op = *op;
        else
            unknown_word({&root, ""}, "collective",
                         {"algorithm.collective", {{"found", word.value_or("?")}, {"known", joined(words)}}},
                         words);
    }

    std::optional<std::string> text(const toml::table& table, const char* key) {
        const toml::node* const node = table.get(key);
        if (node == nullptr) return std::nullopt;
        if (const auto* found = node->as_string()) return found->get();
        mistake(*node, {"algorithm.text", {{"key", std::string(key)}}});
        return std::nullopt;
    }

    /// A number, or an expression that names none of `without`.
    std::optional<Written> written(const toml::table& table, const char* key, std::string_view without) {
        const toml::node* const node = table.get(key);
        if (node == nullptr) return std::nullopt;
        const toml::source_position at = node->source().begin;
        Written made{Expression(), static_cast<int>(at.line), static_cast<int>(at.column)};
        if (const auto* number = node->as_integer()) {
            made.expression = Expression(number->get());
            return made;
        }
        const auto* string = node->as_string();
        if (string == nullptr) {
            mistake(*node, {"algorithm.expression_wanted", {{"key", std::string(key)}}});
            return std::nullopt;
        }
        ++made.column;  // past the quotation mark
        try {
            made.expression = Expression::parse(string->get());
        } catch (const ExpressionError& error) {
            mistakes_.add(made.line, made.column + static_cast<int>(error.at),
                          {error.id, {{"word", error.word}}});
            return std::nullopt;
        }
        if (made.expression.names_any(without)) {
            const std::string names = joined(without, [](char each) { return std::string(1, each); });
            mistake(*node, {"algorithm.expression.not_here", {{"key", std::string(key)}, {"names", names}}});
            return std::nullopt;
        }
        return made;
    }

    std::vector<Placed> tables(const Placed& in, const char* key, std::size_t most) {
        std::vector<Placed> found;
        const toml::node* const node = in.table->get(key);
        if (node == nullptr) return found;
        const std::string place = place_of(in.place, key);
        if (const auto* alone = node->as_table()) return {{alone, place}};
        const auto* list = node->as_array();
        if (list == nullptr || list->size() > most) {
            mistake(*node, list == nullptr
                               ? Message{"algorithm.tables", {{"key", std::string(key)}}}
                               : Message{"algorithm.too_many_tables",
                                         {{"key", std::string(key)}, {"most", static_cast<int64_t>(most)}}});
            return found;
        }
        for (std::size_t i = 0; i < list->size(); ++i) {
            const toml::node& each = *list->get(i);
            if (const auto* table = each.as_table())
                found.push_back({table, place + "." + std::to_string(i)});
            else
                mistake(each, {"algorithm.tables", {{"key", std::string(key)}}});
        }
        return found;
    }

    void phase(const Placed& in) {
        const toml::table& table = *in.table;
        check_keys(in, kPhaseKeys, "phase.");
        Phase made;
        made.line = static_cast<int>(table.source().begin.line);
        made.rounds = written(table, "rounds", "rsi");
        made.when = written(table, "when", "i");
        for (const Placed& each : tables(in, "copy", kMostMoves)) made.copies.push_back(move(each, false));
        for (const Placed& each : tables(in, "send", kMostMoves)) made.sends.push_back(move(each, true));
        if (made.copies.empty() && made.sends.empty() && lacks(table, "copy") && lacks(table, "send"))
            mistake(table, {"algorithm.empty_phase", {}});
        made_.phases.push_back(std::move(made));
    }

    Move move(const Placed& in, bool sends) {
        const toml::table& table = *in.table;
        check_keys(in, Keys(kSendKeys).subspan(sends ? 0 : 1), sends ? "send." : "copy.");
        Move made;
        const toml::source_position at = table.source().begin;
        made.line = static_cast<int>(at.line);
        made.column = static_cast<int>(at.column);
        made.when = written(table, "when", "");
        made.each = written(table, "each", "i");
        if (sends) made.to = written(table, "to", "");
        made.chunk = written(table, "chunk", "");
        made.at = written(table, "at", "");
        made.count = written(table, "count", "");
        made.adds = adds(in);
        made.from_buffer = buffer(in, "from_buffer");
        made.to_buffer = buffer(in, "to_buffer");
        if (sends && lacks(table, "to")) missing(table, "to");
        if (lacks(table, "chunk")) missing(table, "chunk");
        return made;
    }
    void missing(const toml::table& table, const char* key) {
        mistake(table, {"algorithm.missing_key", {{"key", std::string(key)}}});
    }

    bool adds(const Placed& in) {
        static constexpr std::string_view kWords[] = {"add", "replace"};
        const auto word = text(*in.table, "then");
        if (word && *word != "add" && *word != "replace") wrong_word(in, "then", *word, kWords);
        return word && *word == "add";
    }

    std::optional<Place> buffer(const Placed& in, const char* key) {
        const auto word = text(*in.table, key);
        if (!word) return std::nullopt;
        const bool apart = made_.op == CollectiveOp::all_to_all;
        const bool reads = std::string_view(key) == "from_buffer";
        if (*word == "scratch") {
            if (!has_scratch_)
                mistake(*in.table->get(key), {"algorithm.no_scratch", {{"key", std::string(key)}}});
            return Place::scratch;
        }
        if (!apart && *word == "data") return Place::data;
        if (apart && reads && *word == "input") return Place::input;
        if (apart && *word == "output") return Place::output;
        static constexpr std::string_view kPlaces[] = {"data", "scratch"},
                                          kApart[] = {"input", "output", "scratch"};
        wrong_word(in, key, *word, !apart ? Keys(kPlaces) : reads ? Keys(kApart) : Keys(kApart).subspan(1));
        return std::nullopt;
    }
    void wrong_word(const Placed& in, const char* key, const std::string& found, Keys words) {
        unknown_word(
            in, key,
            {"algorithm.word", {{"key", std::string(key)}, {"found", found}, {"known", joined(words)}}},
            words);
    }

    int64_t whole(const toml::table& table, const char* key, int64_t otherwise, int64_t most) {
        const toml::node* const node = table.get(key);
        if (node == nullptr) return otherwise;
        const auto* number = node->as_integer();
        if (number != nullptr && number->get() >= 0 && number->get() <= most) return number->get();
        mistake(*node,
                {"algorithm.whole", {{"key", std::string(key)}, {"least", int64_t{0}}, {"most", most}}});
        return otherwise;
    }

    void step(const Placed& in) {
        const toml::table& table = *in.table;
        if (mistakes_.are_many()) return;
        check_keys(in, kStepKeys, "step.");
        ExplicitStep made;
        const toml::source_position at = table.source().begin;
        made.line = static_cast<int>(at.line);
        made.column = static_cast<int>(at.column);
        const bool copies = table.get("rank") != nullptr;
        for (const char* key : {"round", "chunk"})
            if (lacks(table, key)) missing(table, key);
        if (copies) {
            for (const char* key : {"from", "to"})
                if (const toml::node* node = table.get(key))
                    mistake(*node, {"algorithm.copy_or_send", {{"key", std::string(key)}}});
        } else {
            for (const char* key : {"from", "to"})
                if (lacks(table, key) && lacks(table, "rank")) missing(table, key);
        }
        made.round = whole(table, "round", 0, kMostChunks);
        made.from = whole(table, "from", -1, kMostRanks - 1);
        made.to = whole(table, "to", -1, kMostRanks - 1);
        made.rank = whole(table, "rank", -1, kMostRanks - 1);
        made.chunk = whole(table, "chunk", 0, kMostChunks - 1);
        made.at = whole(table, "at", made.chunk, kMostChunks - 1);
        made.count = std::max<int64_t>(1, whole(table, "count", 1, kMostChunks));
        made.adds = adds(in);
        made.from_buffer = buffer(in, "from_buffer");
        made.to_buffer = buffer(in, "to_buffer");
        made_.steps.push_back(made);
    }

    Mistakes mistakes_;
    bool has_scratch_ = false;
    std::set<std::pair<const toml::table*, std::string>> meant_;  ///< keys that another seems to be, misspelt
    TomlForm made_;
};

/// Expressions that are evaluated to find out whether a word is possible.
constexpr int64_t kMostTriedValues = int64_t{1} << 14;

/// What is wrong with a file for the first number of ranks that it is for; whether it computes what it should
/// is not asked.
std::vector<Diagnostic> mistakes_of(const toml::table& root, const std::string& file) try {
    FormReader reader(file);
    const TomlForm form = reader.read(root);
    reader.mistakes().raise();
    int32_t ranks = form.ranks ? static_cast<int32_t>(*form.ranks) : 2;
    while (!form.ranks && ranks < 16 && !holds(form, ranks, file)) ++ranks;
    static_cast<void>(expanded(form, ranks, file, kMostTriedValues));
    return {};
} catch (const InputError& error) {
    // Too many to be tried here are not too many for a run.
    if (error.diagnostics().front().message.id == "algorithm.too_many_steps") return {};
    return error.diagnostics();
}

}  // namespace

TomlForm read_toml_form(std::string_view text, const std::string& file) {
    const toml::table root = parse_toml(text, file);
    FormReader reader(file);
    TomlForm form = reader.read(root);
    // A file of a million steps takes seconds to read.
    const auto readings = std::clamp<std::size_t>((std::size_t{1} << 20U) / (text.size() + 1), 2, 256);
    resolve_offers(
        reader.mistakes().refusals(), root,
        [&](const toml::table& changed) { return mistakes_of(changed, file); }, static_cast<int>(readings));
    reader.mistakes().raise();
    return form;
}

}  // namespace meshscope::comm::own
