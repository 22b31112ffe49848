#include "app/cli/table.h"

#include <sstream>

#include "tests/test.h"

using namespace meshscope::cli;

TEST_CASE("Chinese takes two columns of a terminal") {
    CHECK(display_width("rank") == 4);
    CHECK(display_width("分片 → 2") == 4 + 4);
    CHECK(display_width("\xff\xfe") == 2);
}

TEST_CASE("a table's columns line up in both languages") {
    std::ostringstream out;
    print_table({{"名字", "n"}, {{"a", "1"}, {"分片组", "100"}}, {false, true}}, out);
    CHECK(out.str() == "名字      n\na         1\n分片组  100\n");
}

TEST_CASE("text is wrapped at spaces, Chinese between characters but not before its punctuation") {
    CHECK(wrap("one two three", 7) == std::vector<std::string>{"one two", "three"});
    CHECK(wrap("a\nb", 10) == std::vector<std::string>{"a", "b"});
    CHECK(wrap("", 10) == std::vector<std::string>{""});
    CHECK(wrap("先收集，再计算。", 8) == std::vector<std::string>{"先收集，", "再计算。"});
    CHECK(wrap("先收集，再", 6) == std::vector<std::string>{"先收", "集，再"});
    CHECK(wrap("averyveryverylongword x", 5) == std::vector<std::string>{"averyveryverylongword", "x"});
    for (const std::string& line : wrap("net1 的 all_gather 在 shard 组里把 55 个元素变成 110 个。", 20))
        CHECK(display_width(line) <= 20);
}
