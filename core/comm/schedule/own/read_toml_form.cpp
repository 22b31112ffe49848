#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/base/nearest.h"
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

std::string list_of(Keys words) {
    std::string list;
    for (const std::string_view word : words) list += (list.empty() ? "" : ", ") + std::string(word);
    return list;
}

class FormReader {
  public:
    explicit FormReader(const std::string& file) : mistakes_(file) {}

    TomlForm read(const toml::table& root) {
        check_keys(root, kFileKeys, "");
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
        for (const toml::table* each : tables(root, "phase", kMostPhases)) phase(*each);
        for (const toml::table* each : tables(root, "step", static_cast<std::size_t>(kMostChunks)))
            step(*each);
        if (made_.phases.empty() && made_.steps.empty() && mistakes_.none())
            mistakes_.add(1, 1, {"algorithm.no_steps", {}});
        if (!made_.phases.empty() && !made_.steps.empty())
            mistakes_.add(made_.steps.front().line, made_.steps.front().column,
                          {"algorithm.phases_and_steps", {}});
        mistakes_.raise();
        return std::move(made_);
    }

  private:
    void mistake(const toml::node& node, Message message, Message hint = {}) {
        const toml::source_position at = node.source().begin;
        mistakes_.add(static_cast<int>(at.line), static_cast<int>(at.column), std::move(message),
                      std::move(hint));
    }

    void check_keys(const toml::table& table, Keys known, const std::string& where) {
        for (const auto& [key, value] : table) {
            const std::string_view word = key.str();
            if (std::ranges::find(known, word) != known.end()) continue;
            const std::vector<std::string> words(known.begin(), known.end());
            const std::string guess = nearest(std::string(word), words);
            const toml::source_position at = key.source().begin;
            const Message hint = guess.empty() ? Message{"scenario.hint.known", {{"known", list_of(known)}}}
                                               : Message{"scenario.hint.did_you_mean", {{"guess", guess}}};
            mistakes_.add(static_cast<int>(at.line), static_cast<int>(at.column),
                          {"algorithm.unknown_key", {{"key", where + std::string(word)}}}, hint);
        }
    }

    void collective(const toml::table& root) {
        std::string known;
        for (const CollectiveOp op : kCollectives)
            known += (known.empty() ? "" : ", ") + std::string(name(op));
        const toml::node* const node = root.get("collective");
        if (node == nullptr) {
            mistakes_.add(1, 1, {"algorithm.no_collective", {{"known", known}}});
            return;
        }
        made_.line = static_cast<int>(node->source().begin.line);
        const auto word = node->value<std::string>();
        const auto op = word ? parse_collective_op(*word) : std::nullopt;
        if (op && std::ranges::find(kCollectives, *op) != kCollectives.end())
            made_.op = *op;
        else
            mistake(*node, {"algorithm.collective", {{"found", word.value_or("?")}, {"known", known}}});
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
            std::string names;
            for (const char each : without) names += (names.empty() ? "" : ", ") + std::string(1, each);
            mistake(*node, {"algorithm.expression.not_here", {{"key", std::string(key)}, {"names", names}}});
            return std::nullopt;
        }
        return made;
    }

    std::vector<const toml::table*> tables(const toml::table& root, const char* key, std::size_t most) {
        std::vector<const toml::table*> found;
        const toml::node* const node = root.get(key);
        if (node == nullptr) return found;
        if (const auto* alone = node->as_table()) return {alone};
        const auto* list = node->as_array();
        if (list == nullptr || list->size() > most) {
            mistake(*node, list == nullptr
                               ? Message{"algorithm.tables", {{"key", std::string(key)}}}
                               : Message{"algorithm.too_many_tables",
                                         {{"key", std::string(key)}, {"most", static_cast<int64_t>(most)}}});
            return found;
        }
        for (const toml::node& each : *list) {
            if (const auto* table = each.as_table())
                found.push_back(table);
            else
                mistake(each, {"algorithm.tables", {{"key", std::string(key)}}});
        }
        return found;
    }

    void phase(const toml::table& table) {
        check_keys(table, kPhaseKeys, "phase.");
        Phase made;
        made.line = static_cast<int>(table.source().begin.line);
        made.rounds = written(table, "rounds", "rsi");
        made.when = written(table, "when", "i");
        for (const toml::table* each : tables(table, "copy", kMostMoves))
            made.copies.push_back(move(*each, false));
        for (const toml::table* each : tables(table, "send", kMostMoves))
            made.sends.push_back(move(*each, true));
        if (made.copies.empty() && made.sends.empty()) mistake(table, {"algorithm.empty_phase", {}});
        made_.phases.push_back(std::move(made));
    }

    Move move(const toml::table& table, bool sends) {
        check_keys(table, Keys(kSendKeys).subspan(sends ? 0 : 1), sends ? "send." : "copy.");
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
        made.adds = adds(table);
        made.from_buffer = buffer(table, "from_buffer");
        made.to_buffer = buffer(table, "to_buffer");
        if (sends && table.get("to") == nullptr) missing(table, "to");
        if (table.get("chunk") == nullptr) missing(table, "chunk");
        return made;
    }
    void missing(const toml::table& table, const char* key) {
        mistake(table, {"algorithm.missing_key", {{"key", std::string(key)}}});
    }

    bool adds(const toml::table& table) {
        const auto word = text(table, "then");
        if (word && *word != "add" && *word != "replace")
            mistake(
                *table.get("then"),
                {"algorithm.word",
                 {{"key", std::string("then")}, {"found", *word}, {"known", std::string("add, replace")}}});
        return word && *word == "add";
    }

    std::optional<Place> buffer(const toml::table& table, const char* key) {
        const auto word = text(table, key);
        if (!word) return std::nullopt;
        const bool apart = made_.op == CollectiveOp::all_to_all;
        const bool reads = std::string_view(key) == "from_buffer";
        if (*word == "scratch") return Place::scratch;
        if (!apart && *word == "data") return Place::data;
        if (apart && reads && *word == "input") return Place::input;
        if (apart && *word == "output") return Place::output;
        const std::string known = !apart  ? "data, scratch"
                                  : reads ? "input, output, scratch"
                                          : "output, scratch";
        mistake(*table.get(key),
                {"algorithm.word", {{"key", std::string(key)}, {"found", *word}, {"known", known}}});
        return std::nullopt;
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

    void step(const toml::table& table) {
        if (mistakes_.are_many()) return;
        check_keys(table, kStepKeys, "step.");
        ExplicitStep made;
        const toml::source_position at = table.source().begin;
        made.line = static_cast<int>(at.line);
        made.column = static_cast<int>(at.column);
        const bool copies = table.get("rank") != nullptr;
        for (const char* key : {"round", "chunk"})
            if (table.get(key) == nullptr) missing(table, key);
        if (copies) {
            for (const char* key : {"from", "to"})
                if (const toml::node* node = table.get(key))
                    mistake(*node, {"algorithm.copy_or_send", {{"key", std::string(key)}}});
        } else {
            for (const char* key : {"from", "to"})
                if (table.get(key) == nullptr) missing(table, key);
        }
        made.round = whole(table, "round", 0, kMostChunks);
        made.from = whole(table, "from", -1, kMostRanks - 1);
        made.to = whole(table, "to", -1, kMostRanks - 1);
        made.rank = whole(table, "rank", -1, kMostRanks - 1);
        made.chunk = whole(table, "chunk", 0, kMostChunks - 1);
        made.at = whole(table, "at", made.chunk, kMostChunks - 1);
        made.count = std::max<int64_t>(1, whole(table, "count", 1, kMostChunks));
        made.adds = adds(table);
        made.from_buffer = buffer(table, "from_buffer");
        made.to_buffer = buffer(table, "to_buffer");
        made_.steps.push_back(made);
    }

    Mistakes mistakes_;
    TomlForm made_;
};

}  // namespace

TomlForm read_toml_form(std::string_view text, const std::string& file) {
    return FormReader(file).read(parse_toml(text, file));
}

}  // namespace meshscope::comm::own
