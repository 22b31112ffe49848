#include "backends/mpi/mpi_world.h"

#include <exception>
#include <thread>
#include <utility>

#include "backends/mpi/mpi_transport.h"
#include "core/base/cause.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/comm/aborted.h"

namespace meshscope::backends::mpi {
namespace {

/// How a body ended that threw `cause`; null: in order.
End end_of(int32_t rank, const std::exception_ptr& cause) {
    End end;
    end.rank = rank;
    end.over = true;
    end.at_ns = wall_ns();
    if (!cause) return end;
    end.failed = true;
    end.message = message_of(cause);
    try {
        std::rethrow_exception(cause);
    } catch (const CommError& error) {
        end.secondary = error.secondary();
    } catch (...) {  // nothing else only follows
    }
    return end;
}

/// The failure that came first; null when there was none. One that only followed another's counts when nobody
/// said the other.
const End* first_failure(const std::vector<End>& ends) {
    const End* first = nullptr;
    for (const bool secondary : {false, true})
        for (const End& end : ends)
            if (end.rank >= 0 && end.failed && end.secondary == secondary &&
                (!first || (first->secondary == secondary && end.at_ns < first->at_ns)))
                first = &end;
    return first;
}

}  // namespace

MpiWorld::MpiWorld(const Library& library, int32_t size, std::chrono::milliseconds timeout,
                   comm::LongWaits::Tell tell, Threads threads)
    : mpi_(load(library)), timeout_(timeout), tell_(std::move(tell)) {
    if (size < 1) throw InvalidArgument({"backend.world_size", {{"world_size", int64_t{size}}}});
    check(mpi_, mpi_.start(&job_, threads == Threads::one ? 1 : 0), "MPI_Init_thread");
    if (job_.size != size)
        throw InvalidArgument({"mpi.wrong_world",
                               {{"library", library.title},
                                {"word", library.word},
                                {"wanted", int64_t{size}},
                                {"size", int64_t{job_.size}}}});
}

void MpiWorld::run(const std::function<void(comm::Transport&)>& body) {
    const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
    MeshscopeMpiHandle world{0};
    check(mpi_, mpi_.open(&world), "MPI_Comm_dup");
    mpi_.leave(0);
    std::exception_ptr cause;
    std::vector<End> ends;
    {
        MpiTransport transport(mpi_, world, job_, job_.ranks_here > cores, timeout_, {tell_, timeout_});
        try {
            body(transport);
        } catch (...) {
            cause = std::current_exception();
        }
        try {
            ends = transport.end_together(end_of(job_.rank, cause));
        } catch (...) {
            if (!cause) throw;
        }
    }
    bool all_over = ends.size() == static_cast<std::size_t>(job_.size);
    for (const End& end : ends) all_over = all_over && end.over;
    if (all_over) mpi_.leave(1);
    const End* const first = first_failure(ends);
    if (all_over && !first) check(mpi_, mpi_.close(&world), "MPI_Comm_free");
    if (cause && (!first || first->rank == job_.rank || first->secondary)) std::rethrow_exception(cause);
    if (!first) return;
    // Its own sentence of the same thing says more than that another failed first.
    if (cause && comm::is_told_by_all(end_of(job_.rank, cause).message)) std::rethrow_exception(cause);
    // A message of ours that had the wrong size is our mistake as well.
    if (cause && !end_of(job_.rank, cause).secondary && first->message.id == "comm.size_mismatch")
        std::rethrow_exception(cause);
    comm::throw_aborted(GlobalRank{job_.rank}, first->rank, first->message);
}

}  // namespace meshscope::backends::mpi
