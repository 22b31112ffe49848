#include "core/comm/long_waits.h"

#include <memory>
#include <string>

#include "tests/test.h"

using namespace meshscope;
using comm::LongWaits;
using std::chrono::milliseconds;

TEST_CASE("a long wait is told after a while and then seldom, with whom it is for and in which call") {
    std::vector<Message> told;
    LongWaits waits([&](const Message& message) { told.push_back(message); }, milliseconds(300'000),
                    milliseconds(5'000));
    comm::CallLog calls;
    comm::IssuedCall call;
    const comm::GroupInfo group{0, "tp", {GlobalRank{0}, GlobalRank{1}}};
    call.group = std::make_shared<const comm::GroupInfo>(group);
    call.op = CollectiveOp::barrier;
    calls.note(comm::CallMoment::begins, &call);
    const auto look = [&](int64_t ms) { waits.look(milliseconds(ms), GlobalRank{0}, {1}, calls); };
    for (int64_t ms = 0; ms < 300'000; ms += 100) look(ms);
    REQUIRE(told.size() == 6);  // 5, 10, 20, 40, 80, 160 s
    CHECK(told[0].id == "comm.waiting");
    CHECK(std::get<double>(*told[0].find("waited_s")) == 5.0);
    CHECK(std::get<double>(*told[5].find("waited_s")) == 160.0);
    CHECK(std::get<double>(*told[0].find("timeout_s")) == 300.0);
    CHECK(to_text(*told[0].find("peers")) == "[1]");
    CHECK(to_text(*told[0].find("doing")).starts_with("barrier"));
    // Who is slow in every call is not told of in every call.
    for (int64_t ms = 0; ms < 200'000; ms += 100) look(ms);
    CHECK(told.size() == 6);
    calls.note(comm::CallMoment::ends, nullptr);
    look(400'000);
    REQUIRE(told.size() == 7);
    CHECK(told[6].id == "comm.waiting_aside");
}

TEST_CASE("where nobody watches, no wait is long") {
    LongWaits waits({}, milliseconds(300'000));
    CHECK(waits.next() == milliseconds::max());
    waits.look(milliseconds(299'000), GlobalRank{0}, {1}, {});
}
