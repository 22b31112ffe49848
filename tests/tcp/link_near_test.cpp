// Data links between ranks of one machine: messages that are read, and written, where they lie.
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/tcp/link_pair.h"

using namespace meshscope;
using namespace meshscope::backends::tcp;

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
        pair.b->ask(kChannel, kLong, {.place = place.data()});
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

TEST_CASE("a sender that is at a lent place for too long ends the wait, and finds nothing lent any more") {
    Pair pair(true, true);
    const Buffer sent = pattern(kLong);
    Outgoing out = outgoing(sent);
    pair.a->post(out);
    pair.move_all();
    out.slot.word = 1;  // it says that it writes
    pair.patience = 3;
    Buffer place(kLong);
    CHECK_THROWS_WITH(pair.b->ask(kChannel, kLong, {.place = place.data()}),
                      "too long for " + std::to_string(kLong));
    pair.b->leave_place(kChannel);
    std::ranges::fill(place, std::byte{});
    pair.a->pump();  // hears of the loan now
    CHECK((place == Buffer(kLong)));
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
        if (asked_first) pair.b->ask(kChannel, kLong, {.by_blocks = true});
        pair.a->post(out);
        pair.move_all();
        if (!asked_first) pair.b->ask(kChannel, kLong, {.by_blocks = true});
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

TEST_CASE("who gives up reading by blocks may have the message whole") {
    for (const bool offered_first : {true, false}) {
        Pair pair(true);
        const Buffer sent = pattern(kLong);
        Outgoing out = outgoing(sent);
        if (offered_first) {
            pair.a->post(out);
            pair.move_all();
        }
        pair.b->ask(kChannel, kLong, {.by_blocks = true});
        pair.b->ask(kChannel, kLong);
        if (!offered_first) pair.a->post(out);
        pair.move_all();
        REQUIRE(pair.b->has(kChannel, kLong));
        CHECK_FALSE(pair.b->is_by_blocks(kChannel));
        CHECK((Buffer(pair.b->whole(kChannel).begin(), pair.b->whole(kChannel).end()) == sent));
    }
}

TEST_CASE("what is asked for by blocks comes whole where that is slower, or cannot be") {
    struct Case {
        bool near, lends;
        std::size_t bytes;
    };
    // Far away, short, long but in the cache, and written by two.
    for (const Case& c :
         {Case{false, false, kLong}, {true, false, 100}, {true, false, 1'000'000}, {true, true, kLong}}) {
        Pair pair(c.near, c.lends);
        const Buffer sent = pattern(c.bytes);
        const auto bytes = static_cast<int64_t>(sent.size());
        Outgoing out = outgoing(sent);
        pair.b->ask(kChannel, bytes, {.by_blocks = true});
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
    pair.b->ask(kChannel, kLong, {.by_blocks = true});
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
