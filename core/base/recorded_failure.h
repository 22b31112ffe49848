#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnosis.h"
#include "core/base/message.h"

namespace meshscope {

/// What a record says of the end of its run: failure_json() (core/base/diagnosis.h), read again.
struct RecordedFailure {
    Message message;
    std::optional<DiagnosisKind> kind;  ///< of its diagnosis, where it holds one
    std::vector<int32_t> culprits;      ///< the ranks that the diagnosis names, ascending
    bool certain = true;                ///< false: the diagnosis was drawn from a clock
    std::vector<std::string> differs;   ///< Diagnosis::differs
    std::vector<int32_t> cycle;         ///< Diagnosis::cycle
    std::vector<RankReport> ranks;      ///< Diagnosis::ranks, ascending; a rank that stands twice is left out
    std::vector<int32_t> unrecorded;    ///< ranks whose record was lost, ascending: see with_unrecorded()
};

/// Reads what failure_json() wrote; nothing for "" and for what is no such text (a record can come from
/// anywhere): then nothing of it is believed. Values of an unknown kind are left out. Cost: linear.
std::optional<RecordedFailure> read_failure(const std::string& json);

/// What failure_json() wrote, with the ranks of which the record holds nothing because it was lost; they
/// stand beside the id as "unrecorded". What is no such text stays as it is.
std::string with_unrecorded(const std::string& json, const std::vector<int32_t>& ranks);

}  // namespace meshscope
