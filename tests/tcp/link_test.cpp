// Two data links on one pair of sockets, moved by hand: no thread, no time.
#include "backends/tcp/link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::backends::tcp;

namespace {

constexpr comm::Channel kChannel{3};
constexpr std::size_t kLong = std::size_t{8} << 20;  // more than a socket holds

Buffer pattern(std::size_t n) {
    Buffer bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 251);
    return bytes;
}

struct Pair {
    RoomPool rooms;
    std::unique_ptr<Link> a, b;

    explicit Pair(bool near = false, bool lends = false) {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
        const Nearness nearness{.offers = near, .lends = lends, .ended = [] { return false; }};
        a = std::make_unique<Link>(Fd(ends[0]), 1, rooms, nearness);
        b = std::make_unique<Link>(Fd(ends[1]), 0, rooms, nearness);
    }
    void move_all() {
        while (a->pump() | b->pump()) {
        }
    }
};

Outgoing outgoing(ByteSpan data) {
    Outgoing out;
    out.channel = kChannel;
    out.data = data;
    return out;
}

/// A long message that a near peer was offered and has not asked for.
struct Offered {
    Pair pair{true};
    const Buffer sent = pattern(kLong);
    Outgoing out = outgoing(sent);

    Offered() {
        pair.a->post(out);
        pair.move_all();
        REQUIRE(out.state == Outgoing::State::announced);
    }
};

}  // namespace

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

TEST_CASE("a near message is copied from where it lies: none of it passes the socket") {
    Offered offered;
    auto& [pair, sent, out] = offered;
    CHECK(out.slot.key != 0);
    pair.b->ask(kChannel, kLong);
    // The sender has not moved since: it did nothing for it.
    REQUIRE(pair.b->has(kChannel, kLong));
    CHECK(out.state == Outgoing::State::announced);
    pair.move_all();
    CHECK(out.state == Outgoing::State::done);
    CHECK(out.slot.key == 0);
    CHECK((std::memcmp(pair.b->take(kChannel).data().data(), sent.data(), kLong) == 0));
}

TEST_CASE("a near message's end may be written by a sender that waits, and is read of one that does not") {
    const Buffer sent = pattern(kLong);
    for (const bool waits : {true, false}) {
        Pair pair(true, true);
        Outgoing out = outgoing(sent);
        pair.a->post(out);
        pair.move_all();
        std::atomic<bool> over = false;
        std::thread sender([&] {
            while (waits && !over) pair.a->pump();
        });
        Buffer place(kLong);
        pair.b->ask(kChannel, kLong, place.data());
        over = true;
        sender.join();
        REQUIRE(pair.b->has(kChannel, kLong));
        CHECK((place == sent));
        std::ranges::fill(place, std::byte{});  // the message is here: nobody writes any more
        pair.move_all();                        // a loan that is known too late is none
        CHECK((place == Buffer(kLong)));
        CHECK(out.state == Outgoing::State::done);
    }
}

TEST_CASE("nothing is lent between two that send to each other, nor for less than it costs") {
    for (const bool both : {true, false}) {
        Pair pair(true, true);
        const Buffer sent = pattern(both ? kLong : 100'000);
        const auto bytes = static_cast<int64_t>(sent.size());
        Outgoing out = outgoing(sent), back = outgoing(sent);
        pair.a->post(out);
        if (both) pair.b->post(back);
        pair.move_all();
        pair.b->ask(kChannel, bytes);
        CHECK(pair.b->has(kChannel, bytes));
        pair.move_all();
        CHECK(out.state == Outgoing::State::done);
        CHECK(out.slot.word == 0);  // it was never told of a loan
    }
}

TEST_CASE("a near message is read by blocks where it lies, whoever is first, until its reader has done") {
    for (const bool asked_first : {false, true}) {
        Pair pair(true);
        const Buffer sent = pattern(kLong);
        Outgoing out = outgoing(sent);
        if (asked_first) pair.b->ask_by_blocks(kChannel, kLong);
        pair.a->post(out);
        pair.move_all();
        if (!asked_first) pair.b->ask_by_blocks(kChannel, kLong);
        REQUIRE(pair.b->has(kChannel, kLong));
        CHECK(pair.b->is_by_blocks(kChannel));
        Buffer block(100'000);
        for (const std::size_t offset : {std::size_t{0}, kLong / 2 + 7, kLong - block.size()}) {
            REQUIRE(pair.b->read_block(kChannel, offset, block));
            CHECK(std::memcmp(block.data(), sent.data() + offset, block.size()) == 0);
        }
        pair.move_all();
        CHECK(out.state == Outgoing::State::announced);
        pair.b->end_blocks(kChannel);
        pair.b->release(kChannel, pair.b->take(kChannel));
        pair.move_all();
        CHECK(out.state == Outgoing::State::done);
        CHECK(out.slot.key == 0);
    }
}

TEST_CASE("what is asked for by blocks comes whole from a peer that is not near, and when it is short") {
    for (const bool near : {false, true}) {
        Pair pair(near);
        const Buffer sent = pattern(near ? 100 : kLong);
        const auto bytes = static_cast<int64_t>(sent.size());
        Outgoing out = outgoing(sent);
        pair.b->ask_by_blocks(kChannel, bytes);
        pair.a->post(out);
        pair.move_all();
        REQUIRE(pair.b->has(kChannel, bytes));
        CHECK_FALSE(pair.b->is_by_blocks(kChannel));
        CHECK(std::memcmp(pair.b->whole(kChannel).data(), sent.data(), sent.size()) == 0);
    }
}

TEST_CASE("a message that can be read by blocks no more comes whole through the socket") {
    Offered offered;
    auto& [pair, sent, out] = offered;
    pair.b->ask_by_blocks(kChannel, kLong);
    Buffer block(70'000);
    REQUIRE(pair.b->read_block(kChannel, 0, block));
    out.slot.key += 1;  // as if another process had been read
    CHECK_FALSE(pair.b->read_block(kChannel, block.size(), block));
    CHECK_FALSE(pair.b->has(kChannel, kLong));
    pair.move_all();
    REQUIRE(pair.b->has(kChannel, kLong));
    CHECK_FALSE(pair.b->read_block(kChannel, 0, block));  // there is no need to
    CHECK(std::memcmp(pair.b->whole(kChannel).data(), sent.data(), kLong) == 0);
    CHECK(out.state == Outgoing::State::done);
    pair.b->end_blocks(kChannel);
    pair.move_all();
    CHECK(pair.a->fault() == FrameFault::none);
}

TEST_CASE("an offer that was withdrawn is not taken for a message") {
    Offered offered;
    auto& [pair, sent, out] = offered;
    CHECK(pair.a->take_back(out));
    pair.b->ask(kChannel, kLong);
    pair.move_all();
    CHECK_FALSE(pair.b->has(kChannel, kLong));
}

TEST_CASE("what cannot be read where it lies is sent, and so is all that follows") {
    Offered offered;
    auto& [pair, sent, first] = offered;
    first.slot.key += 1;  // as if another process had been read
    pair.b->ask(kChannel, kLong);
    CHECK_FALSE(pair.b->has(kChannel, kLong));
    pair.move_all();
    CHECK(first.state == Outgoing::State::done);
    const Arrival arrival = pair.b->take(kChannel);
    CHECK((std::memcmp(arrival.data().data(), sent.data(), kLong) == 0));
    // The next offer could be read, but is not tried: it is asked for, and comes when the sender moves.
    Outgoing second = outgoing(sent);
    pair.a->post(second);
    pair.move_all();
    pair.b->ask(kChannel, kLong);
    CHECK_FALSE(pair.b->has(kChannel, kLong));
    pair.move_all();
    CHECK(pair.b->has(kChannel, kLong));
    CHECK(second.state == Outgoing::State::done);
}

TEST_CASE("an offer is good for its own process, its own place and as long as its key stands") {
    const Buffer sent = pattern(kLong);
    OfferSlot slot;
    const Offer good = make_offer(sent, slot);
    Offer nobody = good, nowhere = good, other = good;
    nobody.pid = uint32_t{1} << 30U;
    nowhere.address = 8;
    other.key = good.key + 1;
    Buffer place(kLong);
    for (const Offer& offer : {nobody, nowhere, other}) CHECK_FALSE(read_offer(offer, place));
    CHECK(read_offer(good, place));
    CHECK((place == sent));
    withdraw_offer(slot);
    CHECK_FALSE(read_offer(good, place));
}

TEST_CASE("a process reads what another one offers, until that has ended") {
    std::array<int, 2> there{}, back{};
    REQUIRE(::pipe(there.data()) == 0);
    REQUIRE(::pipe(back.data()) == 0);
    Buffer data = pattern(kLong);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        data[7] = std::byte{0xAB};  // its own copy from here on
        OfferSlot slot;
        const Buffer offer = encode_offer(make_offer(data, slot));
        std::byte end{};
        const bool told = ::write(there[1], offer.data(), offer.size()) == static_cast<ssize_t>(offer.size());
        ::close(back[1]);
        ::_exit(told && ::read(back[0], &end, 1) == 0 ? 0 : 1);
    }
    Buffer bytes(kOfferBytes);
    REQUIRE(::read(there[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    const auto offer = decode_offer(bytes);
    REQUIRE(offer);
    CHECK(offer->pid == static_cast<uint32_t>(child));
    Buffer place(kLong);
    // A system that forbids it to a parent, too, is one where everything goes through the sockets.
    if (read_offer(*offer, place)) {
        data[7] = std::byte{0xAB};
        CHECK((place == data));
    } else {
        WARN("this system does not let a process read its child");
    }
    ::close(back[1]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK_FALSE(read_offer(*offer, place));
    for (const int fd : {there[0], there[1], back[0]}) ::close(fd);
}

TEST_CASE("both sides learn that a near message has another size, whoever is first") {
    for (const bool asked_first : {false, true}) {
        Pair pair(true);
        const Buffer sent = pattern(kLong);
        Outgoing out = outgoing(sent);
        if (asked_first) pair.b->ask(kChannel, kLong / 2);
        pair.a->post(out);
        pair.move_all();
        REQUIRE(pair.b->has(kChannel, kLong / 2));
        CHECK(pair.b->size_of_next(kChannel) == kLong);
        CHECK(pair.a->mismatch().has_value() == asked_first);
    }
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
    CHECK(fault_of({.type = FrameType::lend}, Buffer(5)) == FrameFault::unknown_type);
    // What may come too late.
    CHECK(fault_of({.type = FrameType::received, .sequence = 9}, {}) == FrameFault::none);
    CHECK(fault_of({.type = FrameType::lend, .sequence = 9, .extra = 4}, Buffer(kOfferBytes)) ==
          FrameFault::none);
}
