#include "app/cli/table.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "core/scenario/lesson.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope::cli;

TEST_CASE("Chinese takes two columns of a terminal") {
    CHECK(display_width("rank") == 4);
    CHECK(display_width("分片 → 2") == 4 + 4);
    CHECK(display_width("\xff\xfe") == 8);             // \\xff\\xfe
    CHECK(display_width("\x1b[36m分片\x1b[0m") == 4);  // colours take no room
    CHECK(display_width("\x1b[123456;36m") == 0);
    CHECK(display_width("\x1b[3") == 8);  // cut short, it is none: \\u001b[3
    CHECK(display_width("\x1b[2J") == 9);
}

TEST_CASE("a table's columns line up in both languages") {
    std::ostringstream out;
    print_table({{"名字", "n"}, {{"a", "1"}, {"分片组", "100"}}, {false, true}}, out);
    CHECK(out.str() == "名字      n\na         1\n分片组  100\n");
}

TEST_CASE("a table's columns line up whatever its cells are written with") {
    // Marks on the letter before them take no column, emoji and Korean take two, what is not shown itself
    // stands there as it is written out.
    CHECK(display_width("e\u0301") == 1);
    CHECK(display_width("\u0915\u094d\u0937") == 2);
    CHECK(display_width("\U0001f680") == 2);
    CHECK(display_width("\u1112\u1161\u11ab") == 2);
    CHECK(display_width("がか\u3099") == 4);
    CHECK(display_width("\u2614") == 2);
    CHECK(cut_to_width("e\u0301a", 1) == "e\u0301");
    std::ostringstream out;
    print_table({{}, {{"e\u0301", "1"}, {"ab", "2"}, {"\U0001f680", "3"}}, {}}, out);
    CHECK(out.str() == "e\u0301   1\nab  2\n\U0001f680  3\n");
}

TEST_CASE("a cell is one line of its table, whatever is in it") {
    std::ostringstream out;
    print_table({{}, {{"a\nb\x1b[2K", "\x1b[31m1\x1b[0m"}, {"c", "2"}}, {}}, out);
    CHECK(out.str() == "a\\u000ab\\u001b[2K  \x1b[31m1\x1b[0m\nc                  2\n");
}

TEST_CASE("milliseconds are written without an exponent, whatever they are") {
    CHECK(milliseconds(0) == "0");
    CHECK(milliseconds(12) == "0.000012");
    CHECK(milliseconds(8'145) == "0.008145");
    CHECK(milliseconds(125'449'000) == "125.4");
    CHECK(milliseconds(1'234'567'890) == "1235");
    CHECK(milliseconds(81'450'000'000) == "81450");
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

TEST_CASE("inline code is broken only where no line can hold it, and keeps its punctuation") {
    using Lines = std::vector<std::string>;
    CHECK(wrap("see `all gather`, then", 13) == Lines{"see", "`all gather`,", "then"});
    CHECK(wrap("see `init(a, b, c)` now", 12) == Lines{"see `init(a,", "b, c)` now"});  // 15 columns of code
    CHECK(wrap("先调用`f(a, b)`，再算", 11) == Lines{"先调用", "`f(a, b)`，", "再算"});
    CHECK(wrap("先调用\x1b[36mf(a, b)\x1b[0m，再算", 10) ==
          Lines{"先调用", "\x1b[36mf(a, b)\x1b[0m，", "再算"});
    CHECK(wrap("一二\x1b[1m三四\x1b[0m五", 4) == Lines{"一二", "\x1b[1m三四\x1b[0m", "五"});
    CHECK(wrap("共三个。[0, 1] 是", 8) == Lines{"共三个。", "[0, 1]", "是"});
    CHECK(wrap("是 1·4 + 1", 5) == Lines{"是", "1·4 +", "1"});
    CHECK(wrap("a ` b c", 3) == Lines{"a `", "b c"});  // one mark is no code
    CHECK(wrap("`a\nb c` d", 4) == Lines{"`a", "b c`", "d"});
}

TEST_CASE("no lesson breaks inside a short piece of code or before Chinese punctuation at any usual width") {
    namespace fs = std::filesystem;
    using meshscope::scenario::Paragraph;
    int lessons = 0, lines = 0;
    for (const auto& entry : fs::directory_iterator(meshscope::test::source_root() + "/scenarios")) {
        if (!fs::exists(entry.path() / "lesson.zh.md")) continue;
        ++lessons;
        for (const char* language : {"en", "zh"}) {
            const auto text = meshscope::scenario::read_lesson(entry.path().string(), language);
            for (const auto* section : text.sections())
                for (const Paragraph& paragraph : section->paragraphs) {
                    if (paragraph.code || !paragraph.rows.empty()) continue;
                    std::string words;
                    std::size_t longest = 0;
                    for (const auto& span : paragraph.spans) {
                        const bool code = span.kind == meshscope::scenario::SpanKind::code;
                        words += code ? "`" + span.text + "`" : span.text;
                        if (code) longest = std::max(longest, span.text.size() + 4);
                    }
                    for (const int width : {40, 60, 80})
                        for (const std::string& line : wrap(words, width)) {
                            INFO(entry.path().filename().string() << " " << width << " " << line);
                            ++lines;
                            for (const char* closing : {"，", "。", "：", "；", "）", "、", "”", "？"})
                                CHECK_FALSE(line.starts_with(closing));
                            if (longest < static_cast<std::size_t>(width))
                                CHECK(std::count(line.begin(), line.end(), '`') % 2 == 0);
                        }
                }
        }
    }
    CHECK(lessons > 40);
    CHECK(lines > 5000);
}

TEST_CASE("a table of many ranks has one row for those that are alike") {
    Table table;
    for (int rank = 0; rank < 128; ++rank)
        table.rows.push_back(
            {std::to_string(rank), "[" + std::to_string(rank) + "]", rank == 22 ? "9" : "7"});
    Table few = table;
    few.rows.resize(kMostRankRows);
    fold_rank_rows(few, {1});
    CHECK(few.rows.size() == kMostRankRows);
    fold_rank_rows(table, {1});
    CHECK(table.rows ==
          std::vector<std::vector<std::string>>{{"0–21, 23–127", "…", "7"}, {"22", "[22]", "9"}});
}
