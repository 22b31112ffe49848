// The end of a message that its sender writes into the receiver's memory. Both sides in one process, in the
// order that each case wants.
#include "backends/tcp/loan.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "backends/tcp/frame.h"

#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::backends::tcp;

namespace {

constexpr std::size_t kEnd = (std::size_t{2} << 20) + 123;  // more than a block

Buffer pattern(std::size_t n) {
    Buffer bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 29 + i / 253);
    return bytes;
}

/// A message that was offered, and the place of its end.
struct Lent {
    const Buffer message = pattern(kEnd);
    OfferSlot slot;
    const Offer offer = make_offer(message, slot);
    Buffer place = Buffer(kEnd);
    Loan loan{offer, place};

    bool untouched() const { return place == Buffer(kEnd); }
};

bool never() {
    return false;
}

}  // namespace

TEST_CASE("a sender that is free fills the place that it was lent") {
    Lent lent;
    use_loan(lent.loan.terms(), lent.message, lent.slot);
    CHECK(lent.loan.end(never));
    CHECK((lent.place == lent.message));
    CHECK(still_stands(lent.offer));
}

TEST_CASE("a sender that comes too late writes nothing") {
    Lent lent;
    const Offer terms = lent.loan.terms();
    CHECK_FALSE(lent.loan.end(never));
    use_loan(terms, lent.message, lent.slot);
    CHECK(lent.untouched());
}

TEST_CASE("a loan that names another place's key, or a process that is not there, is not used") {
    Lent lent;
    Offer other = lent.loan.terms(), nobody = other, nowhere = other;
    ++other.key;
    nobody.pid = uint32_t{1} << 30U;
    nowhere.address = 8;
    for (const Offer& terms : {other, nobody, nowhere}) use_loan(terms, lent.message, lent.slot);
    CHECK(lent.untouched());
    CHECK_FALSE(lent.loan.end(never));
}

TEST_CASE("a receiver waits for what its sender has begun, and for nothing else") {
    Lent lent;
    std::atomic<int> asked = 0;
    // As use_loan says before it looks for the key; it then takes its time.
    std::atomic_ref(lent.slot.word).store(1);
    std::thread sender([&] {
        while (asked < 3) std::this_thread::yield();
        std::ranges::copy(lent.message, lent.place.begin());
        std::atomic_ref(lent.slot.word).store(2);
    });
    CHECK(lent.loan.end([&] {
        ++asked;
        return false;
    }));
    sender.join();
    CHECK((lent.place == lent.message));
}

TEST_CASE("a sender that was stopped while it wrote is given up, and writes no more") {
    Lent lent;
    const Offer terms = lent.loan.terms();
    std::atomic_ref(lent.slot.word).store(1);
    int asked = 0;
    CHECK_FALSE(lent.loan.end([&] { return ++asked == 3; }));
    use_loan(terms, lent.message, lent.slot);
    CHECK(lent.untouched());
}

TEST_CASE("the block that a sender is at when all is given up is waited for") {
    Lent lent;
    std::atomic<bool> given_up = false, written = false;
    std::atomic_ref(lent.slot.word).store(1);
    std::thread sender([&] {
        while (!given_up) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        written = true;
        std::atomic_ref(lent.slot.word).store(3);
    });
    CHECK_FALSE(lent.loan.end([&] {
        given_up = true;
        return true;
    }));
    CHECK(written);
    sender.join();
}

TEST_CASE("begin and end at any moment: the place is filled whole, or the receiver's") {
    for (int i = 0; i < 200; ++i) {
        Lent lent;
        std::atomic<bool> go = false;
        std::thread sender([&] {
            while (!go) std::this_thread::yield();
            use_loan(lent.loan.terms(), lent.message, lent.slot);
        });
        go = true;
        for (int spins = 0; spins < i; ++spins) std::this_thread::yield();
        const bool written = lent.loan.end(never);
        const Buffer then = lent.place;  // what the receiver finds is what stays
        sender.join();
        REQUIRE((lent.place == then));
        REQUIRE((lent.place == lent.message) == written);
        if (!written) REQUIRE(lent.untouched());
    }
}

TEST_CASE("a process fills what another one lends it") {
    std::array<int, 2> there{}, back{};
    REQUIRE(::pipe(there.data()) == 0);
    REQUIRE(::pipe(back.data()) == 0);
    const Buffer message = pattern(kEnd);
    Buffer place(kEnd);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        OfferSlot slot;
        const Buffer offer = encode_offer(make_offer(message, slot));
        Buffer terms(kOfferBytes);
        const auto all = static_cast<ssize_t>(kOfferBytes);
        if (::write(there[1], offer.data(), offer.size()) != all) ::_exit(1);
        if (::read(back[0], terms.data(), terms.size()) != all) ::_exit(2);
        const auto lent = decode_offer(terms);
        if (!lent) ::_exit(3);
        use_loan(*lent, message, slot);
        std::byte end{};
        if (::write(there[1], &end, 1) != 1) ::_exit(4);
        ::close(back[1]);
        ::_exit(::read(back[0], &end, 1) == 0 ? 0 : 5);
    }
    Buffer bytes(kOfferBytes);
    REQUIRE(::read(there[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    const auto offer = decode_offer(bytes);
    REQUIRE(offer);
    Loan loan(*offer, place);
    const Buffer terms = encode_offer(loan.terms());
    REQUIRE(::write(back[1], terms.data(), terms.size()) == static_cast<ssize_t>(terms.size()));
    std::byte told{};
    REQUIRE(::read(there[0], &told, 1) == 1);
    // A system that forbids a child to write to its parent leaves the place to the receiver.
    if (loan.end(never))
        CHECK((place == message));
    else
        WARN("this system does not let a process write to its parent");
    ::close(back[1]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    for (const int fd : {there[0], there[1], back[0]}) ::close(fd);
}
