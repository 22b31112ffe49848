// A rank over an MPI that is none: what it does with receives that have begun when another of them fails, or
// when the sender stops in the middle.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/mpi/mpi_transport.h"
#include "tests/mpi/held.h"
#include "tests/patience.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using backends::mpi::MpiTransport;
using std::chrono::milliseconds;

namespace {

/// What the library knows: one message of rank 1 that comes slowly, and perhaps a word of rank 2 that it
/// failed. Plain functions reach nothing else than a variable.
struct Library {
    struct Receive {
        std::byte* into = nullptr;
        int64_t bytes = 0;
        int tests_left = 0;  ///< until it is done; -1: it never is
    };
    std::deque<Receive> begun;
    int tests_of_slow = 0;
    std::vector<std::byte> word;  ///< of rank 2's end, until it is taken
    bool sent = true;             ///< rank 1 has sent its message
    bool posts_open = false;      ///< nobody takes what this rank sends
    int64_t letters = 0;          ///< that this rank wrote of its end

    bool writes() const {
        return std::ranges::any_of(begun, [](const Receive& each) { return each.tests_left != 0; });
    }
};
Library* g_library = nullptr;

constexpr int64_t kBytes = 1000;
constexpr uint64_t kOpenPost = ~uint64_t{0};

int probe(MeshscopeMpiHandle, int32_t src, int32_t tag, MeshscopeMpiMessage* message, int32_t* found) {
    *found = 0;
    if (tag == 0 && !g_library->word.empty()) {
        *message = {2, 0, static_cast<int64_t>(g_library->word.size())};
        *found = 1;
    } else if (tag != 0 && src != 2 && g_library->sent) {
        *message = {1, tag == MESHSCOPE_MPI_ANY ? 1 : tag, kBytes};
        *found = 1;
    }
    return 0;
}

int receive(MeshscopeMpiHandle, void* data, int64_t bytes, int32_t src, int32_t,
            MeshscopeMpiHandle* request) {
    if (src == 2) {
        std::memcpy(data, g_library->word.data(), g_library->word.size());
        g_library->word.clear();
        request->bits = 0;
        return 0;
    }
    g_library->sent = false;
    held_by_mpi().insert(held_by_mpi().end(), {data, request});
    g_library->begun.push_back({static_cast<std::byte*>(data), bytes, g_library->tests_of_slow});
    request->bits = g_library->begun.size();
    return 0;
}

int test_request(MeshscopeMpiHandle* request, int32_t* done) {
    *done = request->bits == kOpenPost ? 0 : 1;
    if (request->bits == 0 || request->bits == kOpenPost) return 0;
    Library::Receive& one = g_library->begun[request->bits - 1];
    std::memset(one.into, 7, static_cast<std::size_t>(one.bytes));  // as a library does, at any time
    if (one.tests_left > 0) --one.tests_left;
    *done = one.tests_left == 0;
    if (*done != 0) request->bits = 0;
    return 0;
}

int send(MeshscopeMpiHandle, const void*, int64_t, int32_t, int32_t, MeshscopeMpiHandle* request) {
    request->bits = g_library->posts_open ? kOpenPost : 0;
    return 0;
}

int send_letter(MeshscopeMpiHandle, const void*, int64_t, int32_t, int32_t, MeshscopeMpiHandle* request) {
    ++g_library->letters;
    request->bits = 0;
    return 0;
}

MeshscopeMpi functions() {
    MeshscopeMpi mpi{};
    mpi.abi = MESHSCOPE_MPI_ABI;
    mpi.send = send;
    mpi.send_buffered = send_letter;
    mpi.probe = probe;
    mpi.receive = receive;
    mpi.test = test_request;
    return mpi;
}

/// Receives of rank 1, which has sent, and of rank 2, which fails; gives what is thrown.
std::string receive_of_both(const MeshscopeMpi& mpi, Library& library) {
    g_library = &library;
    backends::mpi::End end;
    end.failed = true;
    end.message = {"mesh.larger_than_world", {{"ranks", int64_t{8}}}};
    library.word = pack(end);
    MpiTransport transport(mpi, {1}, {0, 3, 3, 32767, 0}, false, milliseconds(60'000));
    const std::array<comm::Expected, 2> both{{{GlobalRank{1}, kBytes}, {GlobalRank{2}, kBytes}}};
    const std::string id =
        test::thrown_id<CommError>([&] { transport.receive_together(both, comm::Channel{0}, [](auto) {}); });
    return id + (library.writes() ? ", and MPI still writes" : "");
}

/// Whether the library, which writes on, writes into memory that is still there; the address sanitizer sees.
bool writes_where_it_may(Library& library) {
    MeshscopeMpiHandle request{1};
    int32_t done = 1;
    test_request(&request, &done);
    return done == 0 && library.begun[0].into[kBytes - 1] == std::byte{7};
}

/// A rank of two whose peer has sent the beginning of a message and stopped.
struct Stopped {
    MeshscopeMpi mpi = functions();
    Library library;
    std::vector<std::string> told;
    std::unique_ptr<MpiTransport> transport;

    explicit Stopped(bool crowded) {
        library.tests_of_slow = -1;
        g_library = &library;
        transport = std::make_unique<MpiTransport>(
            mpi, MeshscopeMpiHandle{1}, MeshscopeMpiJob{0, 2, 2, 32767, 0}, crowded, milliseconds(200),
            comm::LongWaits([this](const Message& message) { told.push_back(message.id); }, milliseconds(200),
                            milliseconds(50)));
    }
};

}  // namespace

TEST_CASE("a receive that has begun over MPI is finished before another one's failure is told") {
    const MeshscopeMpi mpi = functions();
    Library library;
    library.tests_of_slow = 100;
    CHECK(receive_of_both(mpi, library) == "comm.aborted");
    REQUIRE(library.begun.size() == 1);
}

TEST_CASE("a receive over MPI that never ends keeps its memory, and holds up nobody") {
    const MeshscopeMpi mpi = functions();
    Library library;
    library.tests_of_slow = -1;
    const auto begin = std::chrono::steady_clock::now();
    CHECK(receive_of_both(mpi, library) == "comm.aborted, and MPI still writes");
    CHECK(std::chrono::steady_clock::now() - begin < test::kGuard);
    CHECK(writes_where_it_may(library));  // the transport is gone
}

TEST_CASE(
    "a sender over MPI that stops in the middle of a message is waited for as long as the time-out says") {
    for (const bool crowded : {false, true}) {
        Stopped rank(crowded);
        const auto begin = std::chrono::steady_clock::now();
        CHECK(test::thrown_id<CommError>([&] {
                  rank.transport->receive(GlobalRank{1}, comm::Channel{0}, kBytes, [](auto) {});
              }) == "mpi.timeout");
        CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(200));
        CHECK(std::chrono::steady_clock::now() - begin < test::kGuard);
        REQUIRE_FALSE(rank.told.empty());
        CHECK(rank.told.front() == "comm.waiting_aside");
        CHECK(rank.library.letters == 1);  // the peer is told
        const std::size_t tests = rank.library.begun.size();
        CHECK(test::thrown_id<CommError>([&] {
                  rank.transport->receive(GlobalRank{1}, comm::Channel{0}, kBytes, [](auto) {});
              }) == "comm.gave_up");  // MPI is not called any more
        CHECK(rank.library.begun.size() == tests);
        rank.transport.reset();
        CHECK(writes_where_it_may(rank.library));
    }
}

TEST_CASE("a message over MPI that is received in place is waited for as long as the time-out says") {
    Stopped rank(true);
    std::vector<std::byte> here(kBytes);
    CHECK(test::thrown_id<CommError>([&] {
              rank.transport->receive_at(GlobalRank{1}, comm::Channel{0}, here, [](auto) {});
          }) == "mpi.timeout");
    REQUIRE_FALSE(rank.told.empty());
    // Where they are wanted is the caller's: nothing makes MPI write there from now on.
    std::ranges::fill(here, std::byte{0});
    backends::mpi::End over;
    over.over = true;
    rank.transport->end_together(over);
    rank.transport->end_calls(comm::Channel{1});
    rank.transport.reset();
    CHECK(std::ranges::count(here, std::byte{0}) == kBytes);
}

TEST_CASE("a failure that is heard of while a message over MPI is under way ends its receive") {
    Stopped rank(false);
    backends::mpi::End end;
    end.failed = true;
    end.message = {"mesh.larger_than_world", {{"ranks", int64_t{8}}}};
    rank.library.word = pack(end);  // of a third rank
    const MeshscopeMpiJob three{0, 3, 3, 32767, 0};
    MpiTransport transport(rank.mpi, {1}, three, false, milliseconds(60'000));
    CHECK(test::thrown_id<CommError>([&] {
              transport.receive(GlobalRank{1}, comm::Channel{0}, kBytes, [](auto) {});
          }) == "comm.aborted");
    CHECK(writes_where_it_may(rank.library));
}

TEST_CASE("a rank over MPI that takes its sends back is not held up by who stopped while it was sending") {
    Stopped rank(true);
    rank.library.posts_open = true;
    const std::vector<std::byte> data(8);
    rank.transport->post(GlobalRank{1}, comm::Channel{0}, data);
    const auto begin = std::chrono::steady_clock::now();
    rank.transport->withdraw();  // takes what comes meanwhile
    REQUIRE(rank.library.begun.size() == 1);
    CHECK(std::chrono::steady_clock::now() - begin < test::kGuard);
    rank.transport.reset();
    CHECK(writes_where_it_may(rank.library));
}
