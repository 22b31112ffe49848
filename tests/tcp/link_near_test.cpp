// Data links between ranks of one machine: messages that are read where they lie.
#include <sys/wait.h>

#include <cstring>

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
