// The cases of tests/contract over MPI: run under mpiexec, each process makes the calls of its own rank and
// judges what it got. Arguments: openmpi or mpich, the number of ranks, and Catch2's.
#define CATCH_CONFIG_RUNNER
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/mpi/first_ranks.h"
#include "tests/test.h"

int main(int argc, char** argv) {
    using meshscope::mpi_test::Job;
    if (argc < 3) return 2;
    int result = 1;
    try {
        Job::the().open(argv[1], std::atoi(argv[2]));
        Catch::Session session;
        argv[2] = argv[0];
        result = session.applyCommandLine(argc - 2, argv + 2);
        session.configData().abortAfter = 1;  // the others are in step until then
        if (result == 0) result = session.run();
        if (result != 0) Job::the().end_all();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    return result;
}
