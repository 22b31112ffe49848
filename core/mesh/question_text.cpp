#include "core/mesh/question_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/mesh/python_text.h"
#include "core/mesh/value.h"

namespace meshscope::mesh {
namespace {

/// A question that holds more calls than this was not written by hand; what works it out calls itself.
constexpr int kDeepest = 64;

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::vector<Question> all() {
        std::vector<Question> questions;
        while (true) {
            while (take(';') || take('\n')) {
            }
            if (at_end()) return questions;
            questions.push_back(statement());
            blanks();
            if (!at_end() && text_[at_] != ';' && text_[at_] != '\n') unreadable();
        }
    }

  private:
    Question statement() {
        const size_t begin = at_;
        if (const std::string word = identifier(); word == "mesh" || word == "DeviceMesh") {
            blanks();
            // A dim may be called "mesh", too: mesh, tp.
            if (word == "DeviceMesh" || at_end() ||
                std::string_view(".[;\n").find(text_[at_]) != std::string::npos) {
                at_ = begin;
                return expression();
            }
        }
        at_ = begin;
        Question question;
        question.names = names(';');
        return question;
    }

    Question expression() {
        if (++depth_ > kDeepest)
            throw InvalidArgument({"mesh.question.too_deep", {{"most", int64_t{kDeepest}}}});
        const int outer = depth_;
        Question question;
        const size_t begin = at_;
        const std::string word = identifier();
        if (word == "DeviceMesh") {
            expect_word(".");
            expect_word("_concatenate");
            question = concatenation();
        } else if (word == "mesh") {
            question.kind = QuestionKind::root;
        } else {
            at_ = begin;
            unreadable();
        }
        while (true) {
            if (take('[')) {
                question = slice_of(std::move(question));
            } else if (take('.')) {
                question = member_of(std::move(question));
            } else {
                depth_ = outer - 1;
                return question;
            }
            // A number or a tuple is no mesh: nothing can be asked of it.
            if (question.kind == QuestionKind::value) {
                depth_ = outer - 1;
                return question;
            }
            if (++depth_ > kDeepest)
                throw InvalidArgument({"mesh.question.too_deep", {{"most", int64_t{kDeepest}}}});
        }
    }

    /// What it is asked of; of the mesh itself nothing is said.
    static std::vector<Question> operand(Question of, bool root_too = false) {
        std::vector<Question> list;
        if (root_too || of.kind != QuestionKind::root) list.push_back(std::move(of));
        return list;
    }

    Question slice_of(Question of) {
        Question question = index();
        expect(']');
        question.of = operand(std::move(of));
        return question;
    }

    /// What stands in a mesh's brackets: names, which is a slice, or numbers, which PyTorch refuses.
    Question index() {
        const char close = take('(') ? ')' : take('[') ? ']' : '\0';
        Question question;
        std::vector<std::string> reprs;
        bool has_number = false;
        while (!peek(close ? close : ']') && !at_end()) {
            if (const std::optional<int64_t> n = whole_number()) {
                has_number = true;
                reprs.push_back(std::to_string(*n));
            } else {
                question.names.push_back(name());
                reprs.push_back(python_repr(question.names.back()));
            }
            question.several = take(',');
            if (!question.several) break;
        }
        if (close) expect(close);
        question.several = question.several || reprs.size() > 1 || close == ']';
        question.list = close == ']' && !has_number;
        if (!has_number) return question;
        question.names.clear();
        std::string text;
        for (const std::string& repr : reprs) text += (text.empty() ? "" : ", ") + repr;
        question.index = !question.several ? text
                         : close == ']'    ? "[" + text + "]"
                                           : "(" + text + (reprs.size() == 1 ? ",)" : ")");
        return question;
    }

    Question member_of(Question of) {
        const size_t begin = at_;
        const std::string word = identifier();
        if (word == "_flatten" || word == "_unflatten") return call_of(word, std::move(of));
        const ValueMember* const member = find_value_member(word);
        if (!member) {
            at_ = begin;
            unreadable();
        }
        Question question;
        question.kind = QuestionKind::value;
        question.member = word;
        question.of = operand(std::move(of));
        if (!member->called) return question;
        expect('(');
        if (member->takes_dim && !peek(')')) {
            static_cast<void>(keyword("mesh_dim"));
            if (const std::optional<int64_t> n = whole_number())
                question.asked_dim = *n;
            else if (!take_none())
                question.asked_dim = name();
        }
        expect(')');
        return question;
    }

    Question call_of(const std::string& word, Question of) {
        expect('(');
        Question question;
        if (word == "_flatten") {
            question.kind = QuestionKind::flatten;
            static_cast<void>(keyword("mesh_dim_name") || keyword("name"));
            if (!peek(')') && !take_none()) question.new_name = name();
            // mesh["a", "b"]._flatten() is one question; its slice is part of it.
            if (of.kind == QuestionKind::slice && of.of.empty() && of.index.empty()) {
                question.names = std::move(of.names);
            } else {
                question.of = operand(std::move(of), true);
            }
        } else {
            question.kind = QuestionKind::unflatten;
            unflatten_arguments(question);
            question.of = operand(std::move(of));
        }
        expect(')');
        return question;
    }

    /// dim, sizes and names, each once, by place or by name.
    void unflatten_arguments(Question& question) {
        constexpr std::array<std::array<std::string_view, 2>, 3> kWords{
            {{"dim", "dim"}, {"sizes", "mesh_sizes"}, {"names", "mesh_dim_names"}}};
        std::array<bool, 3> given{};
        bool by_name = false;
        for (size_t place = 0; place < given.size(); ++place) {
            if (place > 0) expect(',');
            size_t which = place;
            const size_t begin = at_;
            const auto is_word = [&](const auto& words) { return keyword(words[0]) || keyword(words[1]); };
            const auto* const word = std::ranges::find_if(kWords, is_word);
            if (word != kWords.end()) {
                which = static_cast<size_t>(word - kWords.begin());
                by_name = true;
            }
            // As in Python, none stands by its place behind one by its name, and none twice.
            if (given.at(which) || (by_name && word == kWords.end())) {
                at_ = begin;
                unreadable();
            }
            given.at(which) = true;
            if (which == 0) {
                question.mesh_dim = peek_digit() ? std::to_string(number()) : name();
            } else if (which == 1) {
                question.sizes = numbers();
            } else {
                if (!peek('(') && !peek('[')) unreadable();
                question.names = names(')');
            }
        }
        take(',');
    }

    Question concatenation() {
        Question question;
        question.kind = QuestionKind::concatenate;
        expect('(');
        expect('[');
        while (!peek(']')) {
            const size_t begin = at_;
            question.of.push_back(expression());
            if (question.of.back().kind == QuestionKind::value) {
                at_ = begin;
                unreadable();
            }
            if (!take(',')) break;
        }
        expect(']');
        expect(')');
        return question;
    }

    /// Names up to `end`, which stays; in brackets of their own or without.
    Names names(char end) {
        for (const auto& [open, close] : {std::pair('(', ')'), std::pair('[', ']')}) {
            if (!take(open)) continue;
            Names inside = list(close);
            expect(close);
            return inside;
        }
        return list(end);
    }

    Names list(char end) {
        Names result;
        while (!peek(end) && !at_end()) {
            result.push_back(name());
            if (!take(',')) break;
        }
        return result;
    }

    std::string name() {
        blanks();
        if (at_end()) unreadable();
        const char quote = text_[at_];
        if (quote != '"' && quote != '\'') {
            const std::string word = identifier();
            if (word.empty()) unreadable();
            return word;
        }
        const size_t begin = at_++;
        std::string result;
        for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
            result += text_[at_];
        }
        if (at_ == text_.size()) {
            at_ = begin;
            unreadable();
        }
        ++at_;
        return result;
    }

    /// A name as Python or a mesh dim has it; bytes of other scripts count as letters.
    std::string identifier() {
        blanks();
        const size_t begin = at_;
        while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
        return std::string(text_.substr(begin, at_ - begin));
    }

    static bool is_letter(char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               static_cast<unsigned char>(c) >= 0x80;
    }

    bool keyword(std::string_view word) {
        const size_t begin = at_;
        if (identifier() == word && take('=')) return true;
        at_ = begin;
        return false;
    }

    /// Python's word for an argument that was left out.
    bool take_none() {
        const size_t begin = at_;
        if (identifier() == "None") return true;
        at_ = begin;
        return false;
    }

    /// A number that stands there alone: 0, not 0th, which is a name.
    std::optional<int64_t> whole_number() {
        const size_t begin = at_;
        if (peek_digit()) {
            const int64_t n = number();
            if (at_end() || !is_letter(text_[at_])) return n;
        }
        at_ = begin;
        return std::nullopt;
    }

    Shape numbers() {
        const char close = take('(') ? ')' : ']';
        if (close == ']') expect('[');
        Shape result;
        while (!peek(close)) {
            result.push_back(number());
            if (!take(',')) break;
        }
        expect(close);
        return result;
    }

    int64_t number() {
        blanks();
        int64_t value = 0;
        const char* begin = text_.data() + at_;
        const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (failure != std::errc()) unreadable();
        at_ += static_cast<size_t>(end - begin);
        return value;
    }

    bool peek_digit() {
        blanks();
        return !at_end() && (text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9'));
    }
    bool peek(char c) {
        blanks();
        return !at_end() && text_[at_] == c;
    }
    bool take(char c) {
        if (!peek(c)) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!take(c)) unreadable();
    }
    void expect_word(std::string_view word) {
        blanks();
        if (text_.substr(at_, word.size()) != word) unreadable();
        at_ += word.size();
    }
    void blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    }
    bool at_end() const { return at_ >= text_.size(); }

    [[noreturn]] void unreadable() {
        blanks();
        const std::string rest(text_.substr(at_));
        int64_t character = 1;
        for (size_t i = 0; i < at_; i += code_point_at(text_, i).bytes) ++character;
        throw InvalidArgument({rest.empty() ? "mesh.question.ends_early" : "mesh.question.unreadable",
                               {{"text", std::string(text_)},
                                {"rest", rest},
                                {"at", character},
                                {"asked", what_can_be_asked()}}});
    }

    std::string_view text_;
    size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

std::vector<Question> parse_questions(std::string_view text) {
    return Reader(text).all();
}

}  // namespace meshscope::mesh
