#include "app/cli/terminal.h"

#include <sstream>

#include "tests/test.h"

using namespace meshscope::cli;

namespace {

/// What comes out when `text` is written in pieces of n bytes.
std::string through(const std::string& text, std::size_t n, const std::string& key = "") {
    std::stringbuf to;
    {
        TerminalBuffer buffer(to, key);
        std::ostream out(&buffer);
        for (std::size_t i = 0; i < text.size(); i += n) out << text.substr(i, n);
    }
    return to.str();
}

}  // namespace

TEST_CASE("nothing that steers a terminal passes, however it is cut in pieces") {
    const std::string text =
        "a\tb\x1b[2J\xc2\x9b"
        "1m\u202e分\r\nc\rd\xff\n\x1b]0;t\x07";
    for (std::size_t n = 1; n <= text.size(); ++n)
        CHECK(through(text, n) == "a\tb\\u001b[2J\\u009b1m\\u202e分\r\nc\\u000dd\\xff\n\\u001b]0;t\\u0007");
}

TEST_CASE("only a colour with this program's key passes") {
    const std::string ours = "\x1b[123456;31mred\x1b[123456;0m";
    CHECK(through(ours, 4, "123456;") == "\x1b[31mred\x1b[0m");
    CHECK(through(ours, 4) == "\\u001b[123456;31mred\\u001b[123456;0m");
    CHECK(through("\x1b[31mred\x1b[654321;31m\x1b[123456;2J", 5, "123456;") ==
          "\\u001b[31mred\\u001b[654321;31m\\u001b[123456;2J");
    CHECK(make_terminal_key().size() == 7);
    CHECK(make_terminal_key().ends_with(";"));
}

TEST_CASE("a long line is handed on whole, its characters and colours uncut") {
    std::string line, wanted;
    for (int i = 0; i < 20'000; ++i) {
        line += "分\x1b[123456;2m片\x1b[2J";
        wanted += "分\x1b[2m片\\u001b[2J";
    }
    for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{16383}, line.size()})
        CHECK(through(line, n, "123456;") == wanted);
}

TEST_CASE("what is flushed is there at once, and a stream that takes no more is told of") {
    std::stringbuf to;
    TerminalBuffer buffer(to, "");
    std::ostream out(&buffer);
    out << "abc" << std::flush;
    CHECK(to.str() == "abc");

    struct Full : std::streambuf {
        std::streamsize xsputn(const char*, std::streamsize) override { return 0; }
    } full;
    TerminalBuffer over(full, "");
    std::ostream lost(&over);
    lost << "abc" << std::flush;
    CHECK_FALSE(lost.good());
}
