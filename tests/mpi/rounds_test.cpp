// A rank over an MPI that is none, which says to its peers after each step that it has made its calls: what
// it keeps of that.
#include <algorithm>
#include <vector>

#include "backends/mpi/mpi_transport.h"
#include "tests/mpi/held.h"
#include "tests/test.h"

using namespace meshscope;
using backends::mpi::MpiTransport;

namespace {

/// What the library knows. Plain functions reach nothing else than a variable.
struct Library {
    int tests_of_a_letter = 0;
    std::vector<int> letters;  ///< tests left until it is read; 0: its request is gone
    int64_t probed = 0;

    int64_t open() const {
        return std::ranges::count_if(letters, [](int left) { return left > 0; });
    }
};
Library* g_library = nullptr;

int send(MeshscopeMpiHandle, const void* data, int64_t, int32_t, int32_t, MeshscopeMpiHandle* request) {
    held_by_mpi().insert(held_by_mpi().end(), {data, request});
    g_library->letters.push_back(g_library->tests_of_a_letter);
    request->bits = g_library->letters.size();
    return 0;
}

int probe(MeshscopeMpiHandle, int32_t, int32_t tag, MeshscopeMpiMessage*, int32_t* found) {
    if (tag == 0) ++g_library->probed;
    *found = 0;
    return 0;
}

int test_request(MeshscopeMpiHandle* request, int32_t* done) {
    *done = --g_library->letters[request->bits - 1] == 0 ? 1 : 0;
    if (*done != 0) request->bits = 0;
    return 0;
}

}  // namespace

TEST_CASE("a rank over MPI that tells of each of its steps keeps no letter that was read") {
    MeshscopeMpi mpi{};
    mpi.abi = MESHSCOPE_MPI_ABI;
    mpi.send_buffered = send;
    mpi.probe = probe;
    mpi.test = test_request;
    Library library;
    library.tests_of_a_letter = 3;
    g_library = &library;
    MpiTransport transport(mpi, {1}, {0, 4, 4, 32767, 0}, false, std::chrono::milliseconds(60'000));
    for (int step = 0; step < 1000; ++step) {
        transport.end_calls(comm::Channel{10});
        REQUIRE(library.open() <= 3 * 3);  // three peers, whose letters are read three steps later
    }
    CHECK(library.letters.size() == 3000);
    CHECK(library.probed >= 1000);  // what the peers say is not left for MPI to keep
}
