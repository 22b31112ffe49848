#include "app/gui/panels/inline_text.h"
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
          std::vector<std::string>{"module.set_", "modules_to_", "prefetch"});
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
        CHECK(panels::slice_names(typed) == "replicate,shard");
    }
    CHECK(panels::slice_names("") == "");
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
