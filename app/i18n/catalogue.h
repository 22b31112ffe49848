#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/base/rank_set.h"

namespace meshscope::i18n {

enum class Language : uint8_t { en, zh };

/// "en" or "zh".
std::string_view name(Language language);

/// One file of texts, as TOML: `"dotted.id" = "text with {placeholders}"`. Tables add their name and a dot.
struct CatalogueFile {
    std::string name;  ///< for messages about the file: "app/i18n/parts/mesh.en.toml"
    Language language = Language::en;
    std::string_view text;
};

/// A rule's entry: why a collective is there, and the PyTorch call that does the same.
struct Rule {
    std::string sentence;
    std::string pytorch;
};

/// Every text a person reads, in both languages, by message id. Immutable once made; safe to share between
/// threads.
class Catalogue {
  public:
    /// The texts inside this program (app/i18n/en.toml, zh.toml and every file of app/i18n/parts).
    static Catalogue embedded();
    /// From files in memory; a file that does not parse, or an id given twice, becomes a problem, not an
    /// exception.
    static Catalogue from_files(const std::vector<CatalogueFile>& files);

    /// The message in words: placeholders {name} replaced by the arguments; "{{" and "}}" stand for braces.
    /// {cause} is the text of the message that with_cause() put inside (core/base/cause.h); a {reason} or
    /// {fault} that the catalogue has words for ("reason.Permission denied") is told in them.
    /// Falls back to the other language, then to describe(message): something readable always comes out.
    /// Cost: linear in the text.
    std::string text(const Message& message, Language language) const;
    std::string text(std::string_view id, Language language) const;

    /// The raw text, placeholders unfilled; null when that language has none.
    const std::string* find(std::string_view id, Language language) const;
    /// [rule."ID"]; sentences are empty when the rule is unknown. "recompute.ID" is rule ID done a second
    /// time (Recorder::set_recompute): its own words, and around them why it is done again.
    Rule rule(std::string_view rule_id, Language language) const;

    /// Every id of a language, ascending. Rules appear as rule.ID.sentence and rule.ID.pytorch.
    std::vector<std::string> ids(Language language) const;
    /// All texts of both languages joined: for the glyphs a font atlas must hold.
    std::string all_text() const;
    /// What was wrong with the files ("FILE: id x.y stands twice"); empty in a released program (a test holds
    /// it).
    const std::vector<std::string>& problems() const { return problems_; }

  private:
    using Table = std::map<std::string, std::string, std::less<>>;
    const Table& table(Language language) const { return language == Language::zh ? zh_ : en_; }
    Table en_, zh_;
    std::vector<std::string> problems_;
};

/// The words for ranks of which not all are shown.
using AndMore = std::function<std::string(const FoldedRanks&)>;

/// Fills placeholders from `args`; one without an argument stays as it is. {name} becomes the argument;
/// {name|one|many} becomes `one` where the argument is 1, or a list of one, else `many`: "{n}
/// {n|rank|ranks}". Chinese needs no such forms. {name:ranks} is a list of ranks, which are folded: "0–21,
/// 23" (fold_ranks); `and_more` words those of which not all are shown, by default folded_ranks does.
std::string fill(std::string_view text, const std::vector<MessageArg>& args, const AndMore& and_more = {});

/// The names of the placeholders in a text, ascending, each once.
std::vector<std::string> placeholders(std::string_view text);

/// The language a user's environment asks for: "zh…" gives zh, anything else en. First of the values that is
/// not empty wins; pass LC_ALL, LC_MESSAGES, LANG in this order.
Language language_from(const std::vector<std::string>& values);

}  // namespace meshscope::i18n
