#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/scenario/scenario.h"

namespace meshscope::sandbox {

/// A mistake and the key at which it is to be marked (mesh.shape); "" where it belongs to none.
struct Mistake {
    std::string key;
    Diagnostic diagnostic;
};

/// What the engine's reader makes of a scenario's text. The lesson's part of it is not read: it speaks of
/// another run.
struct Reading {
    std::map<std::string, std::string> values;  ///< every key that the text gives, as TOML
    std::vector<Mistake> mistakes;              ///< in file order; lines and columns of the text
    /// What the reader took; null where it found mistakes. Its source is without lesson.
    std::shared_ptr<const scenario::Scenario> read;
    /// What would be run: the same, or null where it is for predictions alone, which is a mistake too.
    std::shared_ptr<const scenario::Scenario> scenario;

    /// The value of a key as TOML; "" where the text does not give it.
    const std::string& value(const std::string& key) const;
};

/// Never throws for what is in the text. `path` is the file's: relative paths are meant from its folder.
Reading read_text(std::string_view text, const std::string& path);

/// Where a mistake that is found later (while it runs) is to be marked.
Mistake locate(std::string_view text, const Diagnostic& diagnostic);

}  // namespace meshscope::sandbox
