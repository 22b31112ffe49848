#include "app/cli/table.h"

#include <sstream>

#include "tests/test.h"

using namespace meshscope::cli;

TEST_CASE("Chinese takes two columns of a terminal") {
    CHECK(display_width("rank") == 4);
    CHECK(display_width("分片 → 2") == 4 + 4);
    CHECK(display_width("\xff\xfe") == 2);
    CHECK(display_width("\x1b[36m分片\x1b[0m") == 4);  // colours take no room
    CHECK(display_width("\x1b[3") == 0);               // cut short
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
    CHECK(wrap("他说“先收集，再计算”。", 6) ==
          std::vector<std::string>{"他说", "“先收", "集，再", "计", "算”。"});
    CHECK(wrap("交给库。Meshscope", 10) == std::vector<std::string>{"交给库。", "Meshscope"});
    CHECK(wrap("先看（甲）再看", 6) == std::vector<std::string>{"先看", "（甲）", "再看"});
    CHECK(wrap("数(甲)组", 4) == std::vector<std::string>{"数(甲)", "组"});
    // Wherever the line ends: nothing that opens ends it, nothing that closes begins one.
    const std::string text = "读《分布式》时，注意“通信”（例如【all_gather】）：它在前向里发生；“反向”也有。";
    for (int width = 6; width < 40; ++width)
        for (const std::string& line : wrap(text, width)) {
            INFO(width << " " << line);
            for (const char* opening : {"（", "《", "“", "【"}) CHECK_FALSE(line.ends_with(opening));
            for (const char* closing : {"）", "》", "”", "】", "，", "。", "：", "；"})
                CHECK_FALSE(line.starts_with(closing));
        }
    for (const std::string& line : wrap("net1 的 all_gather 在 shard 组里把 55 个元素变成 110 个。", 20))
        CHECK(display_width(line) <= 20);
}
