// Lines for whoever watches, which wait for no reader.
#include "app/cli/line_at_once.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tests/folder.h"
#include "tests/test.h"

using meshscope::cli::write_line_at_once;

namespace {

struct Pipe {
    std::array<int, 2> ends{-1, -1};
    Pipe() { REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0); }
    ~Pipe() {
        for (const int end : ends) ::close(end);
    }
    std::string read() const {
        std::string text(1 << 20, '\0');
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
        std::size_t size = 0;
        for (ssize_t n = 1; n > 0;) {
            n = ::read(ends[0], text.data() + size, text.size() - size);
            if (n > 0) size += static_cast<std::size_t>(n);
        }
        return text.substr(0, size);
    }
};

}  // namespace

TEST_CASE("a line is written whole, and a pipe that nobody reads loses lines and holds up nobody") {
    const Pipe pipe;
    CHECK(write_line_at_once(pipe.ends[1], "first"));
    const std::string line(1000, 'x');
    int written = 0, lost = 0;
    for (int i = 0; i < 200; ++i) ++(write_line_at_once(pipe.ends[1], line) ? written : lost);
    CHECK(written > 10);
    CHECK(lost > 100);
    // Others share the description, and are to find it as it was.
    CHECK((::fcntl(pipe.ends[1], F_GETFL) & O_NONBLOCK) == 0);
    const std::string text = pipe.read();
    CHECK(text.starts_with("first\n" + line + "\n"));
    CHECK(text.size() == 6 + static_cast<std::size_t>(written) * 1001);
    CHECK(write_line_at_once(pipe.ends[1], "again"));
}

TEST_CASE("a line that is too long for one piece is cut, and a file takes lines at its end") {
    const Pipe pipe;
    CHECK(write_line_at_once(pipe.ends[1], std::string(10'000, 'y')));
    const std::string cut = pipe.read();
    CHECK(cut.size() == 4096);
    CHECK(cut.ends_with("y\n"));

    const meshscope::test::Folder folder;
    const std::string path = folder.write("log", "before\n");
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    CHECK(write_line_at_once(file, "after"));
    ::close(file);
    CHECK(meshscope::test::content(path) == "before\nafter\n");
}

TEST_CASE("a file that is not there, or whose reader has gone, takes no line") {
    CHECK_FALSE(write_line_at_once(-1, "x"));
    Pipe pipe;
    ::close(std::exchange(pipe.ends[0], -1));
    CHECK_FALSE(write_line_at_once(pipe.ends[1], "x"));
}
