// The table of mistakes where ranks have nothing in common but their sockets.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>

#include "tests/contract/tcp_threads_world.h"
#include "tests/diagnosis/judge.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::diagnosis;

namespace {

// How long a rank waits for one that may still come (what it can see takes no such time); and whether all
// numbers of ranks take their turn, which sanitizers make long.
constexpr std::chrono::milliseconds kPatience{test::kSanitizer ? 400 : 250};
constexpr bool kEverySize = !test::kSanitizer;
constexpr double kPromiseMs = 1'000;

std::string words_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();
    }
}

/// One world of a mistake; run again when it was late or, having waited for a late rank, told otherwise: a
/// busy machine does that once, and what is wrong is wrong each time.
Outcome run_over_tcp(const Mistake& mistake, int32_t n, int32_t odd,
                     const std::function<bool(const Outcome&)>& is_right) {
    Outcome outcome;
    for (int turn = 0; turn < 5; ++turn) {
        contract::TcpThreadsWorld world(n, [&](backends::tcp::TcpOptions& options) {
            if (mistake.kind == DiagnosisKind::deadlock) options.timeouts.operation = kPatience;
        });
        outcome = run_in(world, true, [&](Place& p) { mistake.program(p, odd); });
        // One that still joined when another found the mistake is told by its world; its program never ran.
        for (std::size_t r = 0; r < outcome.words.size(); ++r)
            if (const auto& error = world.errors()[r]; outcome.words[r].empty() && error)
                outcome.words[r] = words_of(error);
        if (outcome.slowest_ms < kPromiseMs && is_right(outcome)) break;
    }
    return outcome;
}

}  // namespace

TEST_CASE("every mistake of the table is diagnosed over TCP too, on every rank, within a second") {
    double slowest_ms = 0;
    int worlds = 0, n_mistakes = 0;
    std::string slowest;
    for (const Mistake& mistake : mistakes()) {
        ++n_mistakes;
        const bool ring = mistake.kind == DiagnosisKind::deadlock;
        const int32_t least = std::max(2, mistake.least_ranks);
        for (int32_t n = least; n <= 8; ++n) {
            // A ring takes the time of its ranks' patience.
            if ((ring || !kEverySize) && n != least && n != 4 && n != 8) continue;
            for (const int32_t odd : {0, n - 1}) {
                if (ring && odd == 0) continue;
                std::optional<Diagnosis> exact;
                if (ring) exact = on_threads(mistake, n, odd);
                const auto lacking = [&](const Outcome& outcome, int32_t r) {
                    return lacking_on_process(mistake, outcome, r, n, odd, exact ? &*exact : nullptr);
                };
                const Outcome outcome = run_over_tcp(mistake, n, odd, [&](const Outcome& one) {
                    for (int32_t r = 0; r < n; ++r)
                        if (!lacking(one, r).empty()) return false;
                    return true;
                });
                ++worlds;
                INFO(mistake.name << ", " << n << " ranks, odd " << odd);
                int32_t found_it = 0;
                for (int32_t r = 0; r < n; ++r) {
                    INFO("rank " << r << ": " << outcome.words[static_cast<std::size_t>(r)]);
                    CHECK(lacking(outcome, r) == "");
                    found_it += outcome.told[static_cast<std::size_t>(r)].has_value();
                }
                CHECK(found_it >= 1);
                CHECK(outcome.slowest_ms < kPromiseMs);
                if (outcome.slowest_ms <= slowest_ms) continue;
                slowest_ms = outcome.slowest_ms;
                slowest = mistake.name + ", " + std::to_string(n) + " ranks";
            }
        }
    }
    CHECK(n_mistakes >= 60);
    std::printf("%d mistakes in %d worlds of tcp: the slowest rank knew after %.1f ms (%s)\n", n_mistakes,
                worlds, slowest_ms, slowest.c_str());
}
