#include "core/jobs/command_line.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/json_text.h"
#include "core/base/text.h"

namespace meshscope::jobs {
namespace {

using nlohmann::json;

/// The longest value that a variable is put in with, and the longest word that one is put into: more is no
/// option's.
constexpr std::size_t kMostVariable = 4096;

bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/// A script, word by word: a word, the end of a line, or the end of the text.
class Shell {
  public:
    explicit Shell(std::string_view text) : text_(text) {}

    /// Of the words of a line one by one; "\n" between lines. Nothing at the end.
    std::optional<std::string> next() {
        std::string word;
        for (bool whole = false; !whole;) {
            skip_blanks();
            if (at_ >= text_.size()) return std::nullopt;
            const char c = text_[at_];
            if (c == '\n' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')') {
                ++at_;
                return "\n";
            }
            if (c == '>' || c == '<') {
                skip_redirection();
                continue;
            }
            word.clear();
            quoted_ = false;
            while (at_ < text_.size() && take(word)) {
            }
            // What expands to nothing is no word, and 2>&1 begins with a stream's number.
            whole = quoted_ || !(word.empty() || (is_number(word) && redirects()));
        }
        if (const std::size_t equals = assignment(word); equals != 0) {
            set(word.substr(0, equals), word.substr(equals + 1));
            return "\n";
        }
        return word;
    }

  private:
    static bool is_number(std::string_view word) {
        return std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
    }

    bool redirects() const { return at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<'); }

    /// >FILE, 2>&1, <FILE: no words of the program's.
    void skip_redirection() {
        while (at_ < text_.size() && std::string_view("<>&|").find(text_[at_]) != std::string_view::npos)
            ++at_;
        while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
        std::string file;
        while (at_ < text_.size() && take(file)) {
        }
    }

    void skip_blanks() {
        while (at_ < text_.size()) {
            if (is_blank(text_[at_])) {
                ++at_;
            } else if (text_[at_] == '\\' && continues(at_) > 0) {
                at_ += continues(at_);
            } else if (text_[at_] == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else {
                return;
            }
        }
    }

    /// How many bytes a backslash takes that ends its line; 0: it does not.
    std::size_t continues(std::size_t at) const {
        std::size_t end = at + 1;
        while (end < text_.size() && is_blank(text_[end])) ++end;  // blanks behind it are a common slip
        if (end < text_.size() && text_[end] == '\n') return end + 1 - at;
        return end >= text_.size() ? end - at : 0;
    }

    /// The next piece of a word. False where the word ends.
    bool take(std::string& word) {
        const char c = text_[at_];
        if (is_blank(c) || c == '\n' || c == ';' || c == '|' || c == '&' || c == ')') return false;
        if (c == '(' || c == '<' || c == '>') return false;
        if (c == '\'') return take_quoted(word);
        if (c == '"') return take_double(word);
        if (c == '$') return take_variable(word);
        if (c == '\\') {
            if (continues(at_) > 0) return false;
            ++at_;
            if (at_ >= text_.size()) return false;
            quoted_ = true;
        }
        word += text_[at_++];
        return true;
    }

    bool take_quoted(std::string& word) {
        const std::size_t end = std::min(text_.find('\'', at_ + 1), text_.size());
        word += text_.substr(at_ + 1, end - at_ - 1);
        at_ = std::min(end + 1, text_.size());
        quoted_ = true;
        return true;
    }

    bool take_double(std::string& word) {
        ++at_;
        const std::size_t end = std::min(text_.find('"', at_), text_.size());
        // "$@" and "${ARGS[@]}" are as many words as there are, here none.
        quoted_ = quoted_ || !is_list(text_.substr(at_, end - at_));
        while (at_ < text_.size() && text_[at_] != '"') {
            if (text_[at_] == '$') {
                take_variable(word);
                continue;
            }
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
            word += text_[at_++];
        }
        if (at_ < text_.size()) ++at_;
        return true;
    }

    /// Whether it is what a script was given, an array, or a variable of options: their words were read
    /// where they stand.
    bool is_list(std::string_view text) const {
        if (!text.starts_with('$')) return false;
        text.remove_prefix(1);
        if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
        return text == "@" || text == "*" || text.ends_with("[@]") || text.ends_with("[*]") ||
               spent_.contains(text);
    }

    /// $NAME, ${NAME}, ${NAME:-word}, $((sum)); "$NAME" as it stands where nothing sets it.
    bool take_variable(std::string& word) {
        if (word.size() > kMostVariable) word.clear();
        if (text_.substr(at_).starts_with("$((")) return take_sum(word);
        if (text_.substr(at_).starts_with("$(")) return take_command(word);
        const std::size_t begin = at_++;
        if (at_ < text_.size() && (text_[at_] == '@' || text_[at_] == '*')) {
            ++at_;
            return true;
        }
        if (at_ < text_.size() && text_[at_] == '{') {
            const std::size_t end = std::min(text_.find('}', at_), text_.size());
            const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
            at_ = std::min(end + 1, text_.size());
            std::size_t name = 0;
            while (name < inside.size() && is_name(inside[name])) ++name;
            const std::string_view rest = inside.substr(name);
            const auto found = variables_.find(inside.substr(0, name));
            // Of the other sort a variable that is set to nothing has its default too.
            const bool colon = rest.starts_with(":-") || rest.starts_with(":=");
            const bool falls_back = colon || rest.starts_with('-') || rest.starts_with('=');
            if (found != variables_.end() && (rest.empty() || falls_back) &&
                !(colon && found->second.empty() && !spent_.contains(found->first)))
                word += found->second;
            else if (falls_back && rest.find('$') == std::string_view::npos)
                fall_back(inside.substr(0, name), rest, word);
            else if (!is_list(text_.substr(begin, at_ - begin)))
                word += text_.substr(begin, at_ - begin);
            return true;
        }
        while (at_ < text_.size() && is_name(text_[at_])) ++at_;
        const auto found = variables_.find(text_.substr(begin + 1, at_ - begin - 1));
        word += found != variables_.end() ? found->second : std::string(text_.substr(begin, at_ - begin));
        return true;
    }

    /// $(cat size.txt): what a command prints is not known here; the word stays as it is written.
    bool take_command(std::string& word) {
        const std::size_t begin = at_;
        int depth = 0;
        do {
            if (text_[at_] == '(') ++depth;
            if (text_[at_] == ')') --depth;
            ++at_;
        } while (at_ < text_.size() && (depth > 0 || at_ == begin + 1));
        word += text_.substr(begin, at_ - begin);
        return true;
    }

    /// Puts a default in, which = makes the variable's value too.
    void fall_back(std::string_view name, std::string_view rest, std::string& word) {
        const bool sets = rest.starts_with(":=") || rest.starts_with('=');
        const std::string value(plain(rest.substr(rest.starts_with(':') ? 2 : 1)));
        if (sets && value.size() <= kMostVariable) variables_[std::string(name)] = value;
        word += value;
    }

    /// A default's word without its quotes.
    static std::string_view plain(std::string_view word) {
        if (word.size() >= 2 && (word[0] == '"' || word[0] == '\'') && word.back() == word[0])
            word = word.substr(1, word.size() - 2);
        return word;
    }

    /// $((A * B)): whole numbers and variables, from left to right with * and / first.
    bool take_sum(std::string& word) {
        const std::size_t begin = at_, end = text_.find("))", at_);
        if (end == std::string_view::npos) {
            at_ = text_.size();
            return true;
        }
        at_ = end + 2;
        const std::optional<int64_t> value = sum_of(text_.substr(begin + 3, end - begin - 3));
        word += value ? std::to_string(*value) : std::string(text_.substr(begin, at_ - begin));
        return true;
    }

    std::optional<int64_t> sum_of(std::string_view text) const {
        int64_t sum = 0, product = 0;
        char sign = '+', times = 0;
        std::size_t at = 0;
        const auto blanks = [&] {
            while (at < text.size() && (is_blank(text[at]) || text[at] == '\n')) ++at;
        };
        while (true) {
            blanks();
            const std::optional<int64_t> factor = operand(text, at);
            if (!factor || (times == '/' && *factor == 0)) return std::nullopt;
            bool over = false;
            if (times == '*') over = __builtin_mul_overflow(product, *factor, &product);
            if (times == '/') product /= *factor;
            if (times == 0) product = *factor;
            blanks();
            const char next = at < text.size() ? text[at++] : '+';
            times = next == '*' || next == '/' ? next : 0;
            if (times == 0) {
                over = over || (sign == '+' ? __builtin_add_overflow(sum, product, &sum)
                                            : __builtin_sub_overflow(sum, product, &sum));
                if (at >= text.size() && next == '+') return over ? std::nullopt : std::optional(sum);
                if (next != '+' && next != '-') return std::nullopt;
                sign = next;
            }
            if (over) return std::nullopt;
        }
    }

    /// A number or a variable that is one, at most 2^53 so that no division overflows.
    std::optional<int64_t> operand(std::string_view text, std::size_t& at) const {
        if (at < text.size() && text[at] == '$') ++at;
        const bool braces = at < text.size() && text[at] == '{';
        if (braces) ++at;
        const std::size_t begin = at;
        while (at < text.size() && is_name(text[at])) ++at;
        std::string_view word = text.substr(begin, at - begin);
        if (braces && at < text.size() && text[at] == '}') ++at;
        if (const auto found = variables_.find(word); found != variables_.end()) word = found->second;
        int64_t value = 0;
        const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
        if (word.empty() || read.ec != std::errc() || read.ptr != word.data() + word.size() || value < 0 ||
            value > (int64_t{1} << 53))
            return std::nullopt;
        return value;
    }

    /// Where the = of NAME=… or NAME+=… stands; 0: the word is none.
    static std::size_t assignment(std::string_view word) {
        std::size_t at = 0;
        while (at < word.size() && is_name(word[at])) ++at;
        if (at == 0 || (word[0] >= '0' && word[0] <= '9') || at >= word.size()) return 0;
        if (word[at] == '=') return at;
        return word.substr(at).starts_with("+=") ? at + 1 : 0;
    }

    void set(std::string name, std::string value) {
        if (name.ends_with('+')) name.pop_back();
        // Of a value with options in it each use would count them again, and they are read here.
        if (trimmed(value).starts_with("--")) {
            pending_ = value;
            value.clear();
            spent_.insert(name);
        }
        if (value.size() <= kMostVariable) variables_[std::move(name)] = std::move(value);
    }

  public:
    /// The options of a variable that was just set to several: OPTIONS="--a 1 --b".
    std::string take_pending() { return std::exchange(pending_, {}); }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
    std::map<std::string, std::string, std::less<>> variables_;
    std::set<std::string, std::less<>> spent_;  ///< variables whose options were read
    std::string pending_;
    bool quoted_ = false;  ///< the word has quotes: it is one even if nothing is between them
};

/// Options of a launcher and of a program, as they come.
class Options {
  public:
    explicit Options(std::vector<Twice>& twice) : twice_(&twice) {}

    void end_line() { key_.clear(); }

    void word(std::string_view word) {
        if (word.starts_with("--") && word.size() > 2) return option(word);
        if (key_.empty()) return;
        give(yaml_scalar(word));
        key_.clear();
    }

    json take() { return std::move(all_); }

  private:
    void option(std::string_view word) {
        const std::size_t equals = word.find('=');
        key_ = word.substr(0, equals);
        std::replace(key_.begin() + 2, key_.end(), '_', '-');
        // Without a value so far; one that is given twice keeps the first's value until it has its own.
        if (!all_.contains(key_)) all_[key_] = true;
        if (equals == std::string_view::npos) return;
        give(yaml_scalar(word.substr(equals + 1)));
        key_.clear();
    }

    void give(json value) {
        json& held = all_[key_];
        if (held != true && held != value) twice_->push_back({key_, json_text(held), json_text(value)});
        held = std::move(value);
    }

    std::vector<Twice>* twice_;
    std::string key_;
    json all_ = json::object();
};

void read_words(Shell& shell, Options& options) {
    while (const std::optional<std::string> word = shell.next()) {
        if (const std::string inner = shell.take_pending(); !inner.empty()) {
            Shell words(inner);
            while (const std::optional<std::string> each = words.next())
                *each == "\n" ? options.end_line() : options.word(*each);
        }
        if (*word == "\n") {
            options.end_line();
        } else if (word->starts_with("--") && word->find(' ') != std::string::npos) {
            Shell words(*word);  // "--split 99,1,0" in quotes
            while (const std::optional<std::string> each = words.next())
                *each == "\n" ? options.end_line() : options.word(*each);
        } else {
            options.word(*word);
        }
    }
}

}  // namespace

json parse_command_line(std::string_view text, std::vector<Twice>& twice) {
    Shell shell(text);
    Options options(twice);
    read_words(shell, options);
    return options.take();
}

}  // namespace meshscope::jobs
