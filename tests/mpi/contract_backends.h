#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/mpi/first_ranks.h"

namespace meshscope::contract {

/// The MPI that this process was started by; contract_main.cpp says which.
inline std::vector<std::string> backends_under_test() {
    return {mpi_test::Job::the().word()};
}
/// Processes that poll on a few cores are slow: fewer sizes, one mode, and of the cases every eighth, other
/// ones for each of 1 to 8 ranks, so that each is run.
inline constexpr bool kEverySize = false;
template <class Case>
std::vector<Case> sampled(const std::vector<Case>& cases, int32_t p) {
    std::vector<Case> some;
    for (auto i = static_cast<std::size_t>(p % 8); i < cases.size(); i += 8) some.push_back(cases[i]);
    return some;
}
inline std::unique_ptr<comm::World> open_world(const std::string&, int32_t n) {
    return std::make_unique<mpi_test::FirstRanks>(n);
}
inline bool has_ranks(int32_t p) {
    return p <= mpi_test::Job::the().world().size();
}
/// A process judges its own rank.
inline constexpr bool kOneProcess = false;
inline std::vector<int32_t> judged_ranks(int32_t p) {
    const int32_t me = mpi_test::Job::the().rank();
    return me < p ? std::vector<int32_t>{me} : std::vector<int32_t>{};
}
inline bool groups_are_native() {
    return false;
}

}  // namespace meshscope::contract
