#include <algorithm>
#include <string_view>

#include "app/gui/panels/inline_text.h"
#include "app/gui/panels/set_text.h"
#include "app/gui/panels/slice_text.h"
#include "app/gui/panels/ui.h"
#include "tests/test.h"

using namespace meshscope;
using panels::Span;

namespace {

/// Ten units a Chinese character, five another: enough to predict where lines break.
class TestMeasure final : public view::TextMeasure {
  public:
    float width(const std::string& text, view::Face) const override {
        float sum = 0;
        for (const char32_t c : window::code_points(text)) sum += c >= 0x2E80 ? 10.0F : 5.0F;
        return sum;
    }
    float line_height(view::Face) const override { return 20; }
};

std::vector<std::string> wrap(const std::string& text, float width) {
    return panels::wrap(TestMeasure(), text, view::Face::body, width);
}

}  // namespace

TEST_CASE("Latin breaks at spaces, Chinese between characters") {
    CHECK(wrap("one two three", 35) == std::vector<std::string>{"one two", "three"});
    CHECK(wrap("参数切开之后", 40) == std::vector<std::string>{"参数切开", "之后"});
    CHECK(wrap("rank 0 与 rank 1", 45) == std::vector<std::string>{"rank 0 与", "rank 1"});
}

TEST_CASE("a number stays with its rank, its unit and what it counts, where both fit") {
    using Lines = std::vector<std::string>;
    CHECK(wrap("到 rank 0 发出", 40) == Lines{"到", "rank 0", "发出"});
    CHECK(wrap("at 25 GB/s, twice", 50) == Lines{"at", "25 GB/s,", "twice"});
    CHECK(wrap("sends 220 B, half", 45) == Lines{"sends", "220 B,", "half"});
    CHECK(wrap("比第 1 步少", 40) == Lines{"比", "第 1 步", "少"});
    CHECK(wrap("共有 50 个。", 35) == Lines{"共有", "50 个。"});
    CHECK(wrap("when n = 2", 40) == Lines{"when n", "= 2"});
    CHECK(wrap("220 Bytes", 40) == Lines{"220", "Bytes"});  // no unit
    CHECK(wrap("rank 123456", 35) == Lines{"rank", "123456"});
    const auto set = panels::set_text(TestMeasure(), {{Span::Look::plain, "到 rank 0 发出", ""}}, 40);
    CHECK(std::ranges::any_of(set, [](const panels::TextRun& run) { return run.text == "rank 0"; }));
}

TEST_CASE("no line begins with a closing mark") {
    for (float width = 40; width < 120; width += 5) {
        for (const std::string& line : wrap("参数切开，之后复制。再切（分片），完毕。", width)) {
            const char32_t first = window::code_points(line)[0];
            CHECK(first != U'，');
            CHECK(first != U'。');
            CHECK(first != U'）');
        }
    }
}

TEST_CASE("no line is wider than asked when each word fits") {
    for (float width = 60; width < 200; width += 7) {
        for (const std::string& line :
             wrap("the all_gather 把 55 个元素拼成 110 个。这叫 prefetch，它把通信藏在计算后面。", width)) {
            CHECK(TestMeasure().width(line, view::Face::body) <= width);
        }
    }
}

TEST_CASE("a word wider than the line is cut, and nothing is lost") {
    const auto lines = wrap("fsdp2.unshard.backward", 40);
    std::string joined;
    for (const auto& line : lines) {
        CHECK(TestMeasure().width(line, view::Face::body) <= 40);
        joined += line;
    }
    CHECK(joined == "fsdp2.unshard.backward");
    // After a separator where there is one, not within a name.
    CHECK(wrap("module.set_modules_to_prefetch", 75) ==
          std::vector<std::string>{"module.", "set_modules_to_", "prefetch"});
}

TEST_CASE("inline marks: strong, code and links") {
    const auto spans = panels::parse_inline("a **b** `c` [d](rank:1) e");
    REQUIRE(spans.size() == 7);
    CHECK(spans[1].look == Span::Look::strong);
    CHECK(spans[1].text == "b");
    CHECK(spans[3].look == Span::Look::code);
    CHECK(spans[3].text == "c");
    CHECK(spans[5].link == "rank:1");
    CHECK(spans[5].text == "d");
    CHECK(spans[6].text == " e");
}

TEST_CASE("marks without an end are plain text, brackets of lists are no links") {
    CHECK(panels::parse_inline("2 ** 3")[0].text == "2 ** 3");
    CHECK(panels::parse_inline("[0, 1] and (2)").size() == 1);
    CHECK(panels::parse_inline("[[0, 2], [4, 6]] [x](rank:1)").back().link == "rank:1");
}

TEST_CASE("a slice is typed as Python writes it, or shorter") {
    CHECK(panels::slice_text("replicate,shard") == "mesh[\"replicate\", \"shard\"]");
    CHECK(panels::slice_text("") == "");
    for (const char* typed :
         {"mesh[\"replicate\", \"shard\"]", "\"replicate\",\"shard\"", "replicate, shard",
          "mesh['replicate','shard']", "mesh[(\"replicate\", \"shard\")]", "replicate,shard,"}) {
        CHECK(panels::read_slice(typed).slice == "replicate,shard");
    }
    CHECK(panels::read_slice("").slice == "");
    // Any other question stays as it was typed; of what cannot be read nothing is taken.
    for (const char* typed :
         {"mesh[\"replicate\", \"shard\"]._flatten(\"dp\")", "mesh", "mesh[()]",
          "mesh[\"a\", \"b\"]._flatten(); a_b, c", "mesh[\"replicate\"][\"replicate\"]"}) {
        const panels::TypedSlice read = panels::read_slice(typed);
        CHECK_FALSE(read.error.has_value());
        CHECK(read.slice == typed);
        CHECK(panels::slice_text(read.slice) == typed);
        CHECK(panels::toggled_slice(read.slice, {"replicate", "shard"}, 1) == "shard");
    }
    for (const char* typed : {"mesh[\"a\"", "replicate shard", "mesh[\"a\"].flatten()", "a,,b", "2 x"}) {
        CHECK(panels::read_slice(typed).error.has_value());
        CHECK(panels::read_slice(typed).slice == "");
    }
    // A dim that is pressed comes into the slice, in the mesh's order, and goes out of it again.
    const std::vector<std::string> names{"dp", "shard", "tp"};
    CHECK(panels::toggled_slice("", names, 1) == "shard");
    CHECK(panels::toggled_slice("tp", names, 0) == "dp,tp");
    CHECK(panels::toggled_slice("dp,tp", names, 1) == "dp,shard,tp");
    CHECK(panels::toggled_slice("dp,shard,tp", names, 0) == "shard,tp");
    CHECK(panels::toggled_slice("shard", names, 1).empty());
    CHECK(panels::toggled_slice("shard", names, 3) == "shard");
    CHECK(panels::toggled_slice("shard", {}, 0) == "shard");
}

namespace {

/// The lines that a lesson's text is set in, at this width.
std::vector<std::string> set(const std::string& text, float width) {
    std::vector<std::string> lines;
    for (const panels::TextRun& piece : panels::set_text(TestMeasure(), panels::parse_inline(text), width)) {
        if (piece.line >= static_cast<int>(lines.size())) lines.resize(static_cast<size_t>(piece.line) + 1);
        lines.back() += piece.text;
    }
    for (std::string& line : lines)
        while (!line.empty() && line.back() == ' ') line.pop_back();
    return lines;
}

}  // namespace

TEST_CASE("a line never breaks between a link or code and the mark behind it") {
    CHECK(set("gathers [net1](unit:net1), then", 60) == std::vector<std::string>{"gathers", "net1, then"});
    CHECK(set("it calls `barrier`.", 80) == std::vector<std::string>{"it calls", "barrier."});
    CHECK(set("see (`a.b`): yes", 50) == std::vector<std::string>{"see (a.b):", "yes"});
    CHECK(set("**one**-based", 45) == std::vector<std::string>{"one-based"});  // one word, whatever its looks
    const std::string text =
        "The [all_gather](event:all_gather), `net1`; (see [rank 0](rank:0)). 先是 `barrier`，再到 "
        "[rank 1](rank:1)：它（`net2`）等着。完。";
    for (float width = 80; width < 300; width += 5)
        for (const std::string& line : set(text, width)) {
            INFO(line);
            REQUIRE_FALSE(line.empty());
            const char32_t first = window::code_points(line)[0];
            CHECK(std::u32string_view(U",.;:)，。：；）").find(first) == std::u32string_view::npos);
            CHECK(line.back() != '(');
            CHECK_FALSE(line.ends_with("（"));
        }
}

TEST_CASE("a line may break between Chinese and code, and nothing of a text is lost") {
    CHECK(set("先调用`wait`再走", 50) == std::vector<std::string>{"先调用wait", "再走"});
    const std::string plain = "A link and code: torch.cuda.set_device(local_rank), 完毕。";
    for (float width = 20; width < 400; width += 10) {
        std::string joined;
        for (const std::string& line :
             set("A [link](rank:0) and code: `torch.cuda.set_device(local_rank)`, 完毕。", width))
            joined += line;
        std::erase(joined, ' ');
        std::string wanted = plain;
        std::erase(wanted, ' ');
        CHECK(joined == wanted);
    }
}

TEST_CASE("code wider than a line is broken behind its marks, not inside a name") {
    CHECK(set("`torch.cuda.set_device(local_rank)`.", 115) ==
          std::vector<std::string>{"torch.cuda.set_device(", "local_rank)."});
    CHECK(set("`a_very_long_name_of_it`", 60) == std::vector<std::string>{"a_very_long_", "name_of_it"});
    CHECK(wrap("f(gradient_accumulation_steps=2)", 150) ==
          std::vector<std::string>{"f(gradient_accumulation_steps=", "2)"});
}

TEST_CASE("a word of a million letters is set and wrapped in few measurements, each letter a few times") {
    /// Counts what it is asked.
    class Counting final : public view::TextMeasure {
      public:
        float width(const std::string& text, view::Face face) const override {
            ++calls;
            letters += text.size();
            return TestMeasure().width(text, face);
        }
        float line_height(view::Face) const override { return 20; }
        mutable std::size_t calls = 0, letters = 0;
    };
    const std::string word(1000000, 'x');
    const Counting wrapped;
    const auto lines = panels::wrap(wrapped, "name " + word, view::Face::body, 500);  // 100 letters a line
    CHECK(lines.size() == 10001);
    CHECK(wrapped.calls < 10001 * 20);
    CHECK(wrapped.letters < word.size() * 30);
    const Counting set;
    const auto pieces = panels::set_text(set, {{Span::Look::plain, word, ""}}, 500);
    CHECK(pieces.back().line == 9999);
    CHECK(set.letters < word.size() * 30);
    CHECK(panels::break_pieces(word + "，" + word) == std::vector<std::string>{word + "，", word});
}
