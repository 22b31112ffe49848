// Data links between ranks that reach each other by the socket alone.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/tcp/link_pair.h"

using namespace meshscope;
using namespace meshscope::backends::tcp;

TEST_CASE("a long message goes to where it was asked to, whoever is first") {
    for (const auto& [near, asked_first] :
         {std::pair{false, false}, std::pair{false, true}, std::pair{true, false}, std::pair{true, true}}) {
        Pair pair(near);
        const Buffer sent = pattern(kLong);
        Outgoing out = outgoing(sent);
        Buffer place(kLong);
        if (asked_first) {
            pair.b->ask(kChannel, kLong, place.data());
            pair.move_all();
        }
        pair.a->post(out);
        pair.move_all();
        if (!asked_first) {
            CHECK(out.state == Outgoing::State::announced);
            pair.b->ask(kChannel, kLong, place.data());
            pair.move_all();
        }
        CHECK(out.state == Outgoing::State::done);
        REQUIRE(pair.b->has(kChannel, kLong));
        const Arrival arrival = pair.b->take(kChannel);
        CHECK(arrival.data().data() == place.data());
        CHECK((place == sent));
    }
}

TEST_CASE("a place that is left half-way is written no more, and the message is still whole") {
    for (const int moves : {0, 1, 2, 5}) {
        Pair pair;
        const Buffer sent = pattern(kLong);
        Outgoing out = outgoing(sent);
        Buffer place(kLong);
        pair.a->post(out);
        pair.move_all();
        pair.b->ask(kChannel, kLong, place.data());
        for (int i = 0; i < moves; ++i) {
            pair.a->pump();
            pair.b->pump();
        }
        REQUIRE_FALSE(pair.b->has(kChannel, kLong));
        pair.b->leave_place(kChannel);
        std::fill(place.begin(), place.end(), std::byte{0xEE});
        pair.move_all();
        CHECK((place == Buffer(kLong, std::byte{0xEE})));
        REQUIRE(pair.b->has(kChannel, kLong));
        const Arrival arrival = pair.b->take(kChannel);
        CHECK(std::memcmp(arrival.data().data(), sent.data(), kLong) == 0);
    }
}

TEST_CASE("what is announced can be taken back, and what is half-way out cannot") {
    Pair pair;
    const Buffer sent = pattern(kLong);
    Outgoing first = outgoing(sent), second = outgoing(sent);
    pair.a->post(first);
    pair.a->post(second);
    pair.move_all();
    CHECK(pair.a->take_back(second));
    pair.b->ask(kChannel, kLong);
    pair.a->pump();  // hears that it is wanted
    pair.a->pump();  // and writes what the socket takes
    CHECK(first.state == Outgoing::State::sending);
    CHECK_FALSE(pair.a->take_back(first));
    pair.move_all();
    CHECK(first.state == Outgoing::State::done);
}

TEST_CASE("a short message is confirmed when it was consumed, not before") {
    Pair pair;
    const Buffer sent = pattern(100);
    Outgoing out = outgoing(sent);
    pair.a->post(out);
    pair.move_all();
    CHECK(out.state == Outgoing::State::unconfirmed);
    REQUIRE(pair.b->has(kChannel, 100));
    pair.b->release(kChannel, pair.b->take(kChannel));
    pair.move_all();
    CHECK(out.state == Outgoing::State::done);
}

TEST_CASE("frames that have no place on a link are its fault") {
    const auto fault_of = [](const FrameHeader& header, const Buffer& payload) {
        Pair pair;
        Buffer bytes;
        append_frame(bytes, header, payload);
        REQUIRE(::send(pair.a->socket().get(), bytes.data(), bytes.size(), 0) ==
                static_cast<ssize_t>(bytes.size()));
        pair.b->pump();
        return pair.b->fault();
    };
    // A piece that nobody asked for, a message out of turn, a size beyond any memory, a control frame.
    CHECK(fault_of({.type = FrameType::piece}, Buffer(10)) == FrameFault::unknown_type);
    CHECK(fault_of({.type = FrameType::message, .sequence = 5}, Buffer(10)) == FrameFault::unknown_type);
    CHECK(fault_of({.type = FrameType::announce, .extra = uint64_t{1} << 60U}, {}) ==
          FrameFault::unknown_type);
    CHECK(fault_of({.type = FrameType::offer, .extra = kLong}, Buffer(5)) == FrameFault::unknown_type);
    // What would never be asked for, and what is not the next.
    CHECK(fault_of({.type = FrameType::announce, .extra = 100}, {}) == FrameFault::unknown_type);
    CHECK(fault_of({.type = FrameType::offer, .extra = 100}, Buffer(kOfferBytes)) ==
          FrameFault::unknown_type);
    CHECK(fault_of({.type = FrameType::announce, .sequence = 1, .extra = kLong}, {}) ==
          FrameFault::unknown_type);
    CHECK(fault_of({.type = FrameType::bye}, {}) == FrameFault::unknown_type);
    // What may come too late.
    CHECK(fault_of({.type = FrameType::received, .sequence = 9}, {}) == FrameFault::none);
}
