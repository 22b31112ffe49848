// Output whose reader does not read, and logs that take no more.
#include "app/launch/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <ostream>
#include <sstream>
#include <streambuf>

#include "app/launch/output.h"
#include "tests/folder.h"
#include "tests/patience.h"
#include "tests/test.h"

using namespace meshscope::launch;
using meshscope::Message;
using meshscope::test::content;
using meshscope::test::Folder;
using meshscope::test::kGuard;
using Clock = std::chrono::steady_clock;

namespace {

const auto kGoesOn = [] { return false; };
const auto kStopped = [] { return true; };

/// A pipe whose reader takes nothing before it is told to.
class Pager : public std::streambuf {
  public:
    void read() {
        const std::lock_guard lock(mutex_);
        reads_ = true;
        changed_.notify_all();
    }
    const std::string& text() const { return text_; }

  protected:
    std::streamsize xsputn(const char* text, std::streamsize n) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return reads_; });
        text_.append(text, static_cast<std::size_t>(n));
        return n;
    }
    int overflow(int c) override {
        const char one = static_cast<char>(c);
        return xsputn(&one, 1) == 1 ? c : traits_type::eof();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool reads_ = false;
    std::string text_;
};

/// A worker's pipe: the end that it writes to, and a non-blocking one for us.
struct Pipe {
    Pipe() { REQUIRE(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0); }
    ~Pipe() {
        close(ends[0]);
        end_writing();
    }
    void end_writing() {
        if (ends[1] >= 0) close(std::exchange(ends[1], -1));
    }
    /// Until it is full.
    void fill() {
        const std::string lines(4096, '\n');
        while (write(ends[1], lines.data(), lines.size()) > 0) {
        }
    }
    void say(const std::string& text) const {
        REQUIRE(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
    std::array<int, 2> ends{-1, -1};
};

}  // namespace

TEST_CASE("a writer takes what nobody reads, says when it has no room, and loses nothing when it is read") {
    Pager pager;
    std::ostream out(&pager);
    Writer writer(out);
    std::string all;
    const auto begin = Clock::now();
    for (int i = 0; writer.has_room(); ++i) {
        std::string line = "line " + std::to_string(i) + '\n';
        if (i == 10) line.insert(0, 10'000, 'x');  // longer than a piece
        writer.add(line);
        all += line;
    }
    CHECK(Clock::now() - begin < kGuard);  // or it would hang
    CHECK(all.size() >= Writer::kMostWaiting);
    CHECK_FALSE(writer.finish(kStopped));
    pager.read();
    CHECK(writer.finish(kGoesOn));
    CHECK(writer.has_room());
    CHECK(pager.text() == all);
}

TEST_CASE("who is told to stop still waits for a reader who reads") {
    std::ostringstream out;
    Writer writer(out);
    const std::string lines(std::size_t{1} << 20, '\n');
    writer.add(lines);
    CHECK(writer.finish(kStopped));
    CHECK(out.str() == lines);
}

TEST_CASE("a worker that floods is left for the others, and waits where nobody reads") {
    Pager pager;
    std::ostream out(&pager);
    Writer writer(out);
    OutputLines lines(writer, "[3]: ", "", [](const Message&) {});
    Pipe pipe;
    int turns = 0;
    while (lines.has_room()) {  // a newline becomes six bytes
        pipe.fill();
        CHECK(lines.pump(pipe.ends[0]));
        REQUIRE(++turns < 1000);
    }
    pipe.fill();
    CHECK(lines.pump(pipe.ends[0]));  // takes nothing
    CHECK(write(pipe.ends[1], "x", 1) == -1);
    pager.read();
    REQUIRE(writer.finish(kGoesOn));
    CHECK(lines.pump(pipe.ends[0]));
    CHECK(write(pipe.ends[1], "x", 1) == 1);
    REQUIRE(writer.finish(kGoesOn));
    CHECK(pager.text().find_first_not_of("[3]: \n") == std::string::npos);
}

TEST_CASE(
    "what an ended worker left in its pipe is read even where there is no room, and its last line ended") {
    Pager pager;
    std::ostream out(&pager);
    Writer writer(out);
    writer.add(std::string(Writer::kMostWaiting, '\n'));
    OutputLines lines(writer, "[0]: ", "", [](const Message&) {});
    Pipe pipe;
    pipe.say("first\nsecond");
    CHECK(lines.pump(pipe.ends[0]));
    lines.finish(pipe.ends[0]);
    pager.read();
    REQUIRE(writer.finish(kGoesOn));
    CHECK(pager.text().substr(Writer::kMostWaiting) == "[0]: first\n[0]: second\n");
}

TEST_CASE("a log on a full disk is told of once, and the output goes on") {
    const Folder folder;
    const std::string log = folder.file("stdout.log");
    std::filesystem::create_symlink("/dev/full", log);
    std::ostringstream out;
    Writer writer(out);
    std::vector<std::string> told;
    OutputLines lines(writer, "", log, [&](const Message& message) { told.push_back(describe(message)); });
    Pipe pipe;
    for (const char* text : {"first\n", "second\n"}) {
        pipe.say(text);
        CHECK(lines.pump(pipe.ends[0]));
    }
    pipe.end_writing();
    CHECK_FALSE(lines.pump(pipe.ends[0]));
    REQUIRE(writer.finish(kGoesOn));
    CHECK(out.str() == "first\nsecond\n");
    CHECK(told ==
          std::vector<std::string>{"launch.log_ends(path=" + log + ", reason=No space left on device)"});
}
