// The collectives of an MPI, to be compared with `meshscope bench collectives`. Built twice from this source,
// with mpicxx.openmpi and mpicxx.mpich; started by the launcher of the same MPI.
#include <mpi.h>

#include "tests/bench/peers/peer.h"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const peer::Request request = peer::read(argc, argv);
    // The launcher of another MPI gives every process a world of its own.
    if (ranks != request.ranks) {
        std::fprintf(stderr, "%d ranks instead of %d: the launcher of another MPI?\n", ranks, request.ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    peer::pin(rank);
#ifdef OPEN_MPI
    const char* const library = "openmpi";
#else
    const char* const library = "mpich";
#endif
    for (const std::string& op : request.ops)
        for (const int64_t size : request.sizes) {
            const int64_t part = peer::part_of(size, ranks);
            const int64_t whole = part * ranks;
            std::vector<float> full(static_cast<std::size_t>(whole)), own(static_cast<std::size_t>(part));
            const auto n = static_cast<int>(whole), n_part = static_cast<int>(part);
            const auto call = [&] {
                if (op == "all_reduce")
                    MPI_Allreduce(MPI_IN_PLACE, full.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                else if (op == "all_gather")
                    MPI_Allgather(own.data(), n_part, MPI_FLOAT, full.data(), n_part, MPI_FLOAT,
                                  MPI_COMM_WORLD);
                else if (op == "reduce_scatter")
                    MPI_Reduce_scatter_block(full.data(), own.data(), n_part, MPI_FLOAT, MPI_SUM,
                                             MPI_COMM_WORLD);
                else
                    MPI_Bcast(full.data(), n, MPI_FLOAT, 0, MPI_COMM_WORLD);
            };
            const auto largest = [](double mine) {
                double all = 0;
                MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
                return all;
            };
            const double us = peer::time_calls(
                whole * 4, request.repeats, call, [] { MPI_Barrier(MPI_COMM_WORLD); }, largest);
            if (rank == 0) peer::print(op, whole * 4, ranks, library, us);
        }
    MPI_Finalize();
}
