#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/diagnosis/mistakes.h"

namespace meshscope::diagnosis {

/// What `d`, made where all ranks are seen, should say of a mistake and does not; "" when it lacks nothing.
std::string lacking(const Mistake& mistake, const Diagnosis& d, int32_t n, int32_t odd);

/// The same of what one rank of a world of processes knows in the end: its own diagnosis, or the words of
/// another's. A wait in a ring ends there with a time-out: `exact`, the diagnosis of the same mistake on
/// threads, says for whom this rank waits.
std::string lacking_on_process(const Mistake& mistake, const Outcome& outcome, int32_t rank, int32_t n,
                               int32_t odd, const Diagnosis* exact);

/// What threads, which see all ranks, say of the mistake; nothing where no rank was told.
std::optional<Diagnosis> on_threads(const Mistake& mistake, int32_t n, int32_t odd);

/// The report of one rank; null when there is none.
const RankReport* report_of(const Diagnosis& d, int32_t rank);

}  // namespace meshscope::diagnosis
