// What a page does beside drawing, on the one thread that it has: background_fiber.cpp, which this program is
// linked with.
#include <catch2/catch.hpp>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "app/gui/session/background.h"

using meshscope::session::Background;

TEST_CASE("work on the window's thread moves on when it is given time, as far as it pauses") {
    std::string done;
    {
        Background work([&](Background& here) {
            done += "a";
            here.pause();
            done += "b";
            here.pause();
            done += "c";
        });
        CHECK(done.empty());
        work.give_time();
        CHECK(done == "a");
        work.give_time();
        CHECK(done == "ab");
    }
    CHECK(done == "abc");  // its end waits for the work's
}

TEST_CASE("work that waits goes on when what it waits for has come") {
    std::mutex lock;
    std::optional<int> told;
    int heard = 0;
    Background work([&](Background& here) {
        std::unique_lock guard(lock);
        here.wait(guard, [&] { return told.has_value(); });
        heard = *told;
    });
    work.give_time();
    work.give_time();
    CHECK(heard == 0);
    {
        const std::lock_guard guard(lock);  // the work does not hold it while it waits
        told = 7;
    }
    work.notify();
    work.give_time();
    CHECK(heard == 7);
    work.give_time();  // of what is over nothing comes
}

TEST_CASE("a part with a stack of its own returns, pauses and throws as a call does") {
    std::string done;
    Background work([&](Background& here) {
        here.with_room([&] {
            done += "a";
            here.pause();
            done += "b";
        });
        try {
            here.with_room([] { throw std::runtime_error("thrown in it"); });
        } catch (const std::runtime_error& error) {
            done += error.what();
        }
    });
    work.give_time();
    CHECK(done == "a");
    work.give_time();
    CHECK(done == "abthrown in it");
}
