#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/sandbox/edit_text.h"
#include "app/gui/sandbox/reading.h"

namespace meshscope::sandbox {

/// A question about memory that is answered by running the scenario otherwise.
struct WhatIf {
    std::string id;                  ///< "keep", "no_prefetch" …: its words are "sandbox.what_if.ID"
    std::vector<Change> changes;     ///< of the scenario
    std::string code;                ///< the same in the file's words: reshard_after_forward = false
    std::optional<Message> refused;  ///< why this scenario cannot be run so: the reader's first message
};

/// What can be asked of a scenario: to keep the parameters after forward (or to free them), not to gather
/// ahead (or to), other units, to offload, to compute activations again (or to keep them). Those that say
/// what is so already are left out. Cost: the text is read once a question, some milliseconds.
std::vector<WhatIf> what_ifs(const std::string& text, const std::string& path);

/// What a variant of the scenario's lesson changes ("break", "change"); nothing where it has no such. Cost:
/// the text is read once, with its lesson.
std::vector<Change> variant_changes(const std::string& text, const std::string& path, const std::string& id);

}  // namespace meshscope::sandbox
