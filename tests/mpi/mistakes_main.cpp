// The table of mistakes over MPI: run under mpiexec, each process judges what its own rank was told. Says
// what is lacking and ends with exit code 1. Arguments: openmpi or mpich, and the number of ranks.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>

#include "backends/mpi/mpi_world.h"
#include "tests/diagnosis/judge.h"

using namespace meshscope;
using namespace meshscope::diagnosis;
using backends::mpi::Library;
using backends::mpi::MpiWorld;

namespace {

constexpr std::chrono::milliseconds kPatience{300};
constexpr float kPromiseMs = 1'000;

Library library_of(const std::string& word) {
    for (const Library& library : backends::mpi::libraries())
        if (library.word == word) return library;
    throw std::runtime_error("no library " + word);
}

/// The greatest of what each rank gives, in a world without a mistake.
std::array<float, 2> greatest(MpiWorld& world, std::array<float, 2> mine) {
    const Outcome outcome = run_in(world, true, [&](Place& p) {
        const Tensor t = p.memory.of(std::span<const float>(mine), {2}, MemoryCategory::temporaries, "test");
        p.world()->all_reduce(t, ReduceOp::max).wait();
        mine = {t.data<float>()[0], t.data<float>()[1]};
    });
    for (const std::string& words : outcome.words)
        if (!words.empty()) throw std::runtime_error("a world without a mistake: " + words);
    return mine;
}

/// What this rank, or all of them together, lack.
std::string lacking_over_mpi(const Mistake& mistake, MpiWorld& world, MpiWorld& impatient, int32_t me,
                             int32_t odd, float& slowest_ms) {
    const bool ring = mistake.kind == DiagnosisKind::deadlock;
    const int32_t n = world.size();
    Outcome outcome;
    std::array<float, 2> all{};
    std::optional<Diagnosis> exact;
    if (ring) exact = on_threads(mistake, n, odd);
    std::string lacking;
    // A busy machine is late once, or lets a rank wait in vain for a late one; what is wrong is wrong each
    // time.
    for (int turn = 0; turn < 5; ++turn) {
        outcome = run_in(ring ? impatient : world, true, [&](Place& p) { mistake.program(p, odd); });
        const bool found = outcome.told[static_cast<std::size_t>(me)].has_value();
        all = greatest(world, {static_cast<float>(outcome.slowest_ms), found ? 1.0F : 0.0F});
        lacking = lacking_on_process(mistake, outcome, me, n, odd, exact ? &*exact : nullptr);
        const float wrong = greatest(world, {lacking.empty() ? 0.0F : 1.0F, 0})[0];
        if (all[0] < kPromiseMs && wrong == 0) break;
    }
    slowest_ms = std::max(slowest_ms, all[0]);
    if (all[0] >= kPromiseMs) return "time: " + std::to_string(all[0]) + " ms";
    if (all[1] == 0) return "anybody's diagnosis";
    return lacking;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Library library = library_of(argc > 1 ? argv[1] : "openmpi");
        const int32_t n = argc > 2 ? std::atoi(argv[2]) : 4;
        MpiWorld world(library, n), impatient(library, n, kPatience);
        int32_t me = -1;
        world.run([&](comm::Transport& transport) { me = transport.rank().value; });
        int worlds = 0, n_mistakes = 0;
        float failed = 0, slowest_ms = 0;
        for (const Mistake& mistake : mistakes()) {
            if (mistake.least_ranks > n) continue;
            ++n_mistakes;
            for (const int32_t odd : {0, n - 1}) {
                ++worlds;
                const std::string lacks = lacking_over_mpi(mistake, world, impatient, me, odd, slowest_ms);
                if (lacks.empty()) continue;
                ++failed;
                std::fprintf(stderr, "rank %d, %s, %d ranks, odd %d: lacks %s\n", me, mistake.name.c_str(), n,
                             odd, lacks.c_str());
            }
        }
        // The last world ends well: MPI ends in order.
        failed = greatest(world, {failed, 0})[0];
        if (me == 0)
            std::printf("%d mistakes in %d worlds of %s, %d ranks: the slowest rank knew after %.1f ms\n",
                        n_mistakes, worlds, library.title.c_str(), n, static_cast<double>(slowest_ms));
        return failed == 0 && n_mistakes >= 60 ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
