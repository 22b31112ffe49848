#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"

namespace meshscope::jobs {

using Value = std::variant<bool, int64_t, double, std::string>;

/// A value as a person reads it: true, 8, 1e-5, bf16.
std::string to_text(const Value& value);

/// Where a value comes from.
struct Origin {
    enum class Kind : uint8_t {
        file,      ///< `key` of `source`, a file
        fallback,  ///< what `source`, a program, takes where no file gives its `key`
        option,    ///< `key` of the command line
        derived,   ///< computed: `key` is the sum, "256 / (4 · 8)"
        chosen     ///< nothing says it, and it was chosen here; `key` is a message's id with the reason
    };
    Kind kind = Kind::file;
    std::string source = {}, key = {};
};

/// The origin as words: "jobs.origin.…" {source, key}.
Message to_message(const Origin& origin);

/// One thing that is known of a job, under a name that all programs share: "tp", "micro_batch",
/// "model.layers".
struct Fact {
    std::string name;
    Value value;
    Origin origin;
};

/// What is known of a job, from all files and options together.
class Facts {
  public:
    /// Takes a fact in. A program's own default yields to all but another one. Two values that differ are a
    /// mistake, which goes to `found`: "jobs.contradiction", at the file that came second.
    void put(std::string name, Value value, Origin origin, std::vector<Diagnostic>& found);
    /// Takes it in whatever was known before.
    void replace(std::string name, Value value, Origin origin);
    void remove(std::string_view name);

    const Fact* find(std::string_view name) const;
    bool has(std::string_view name) const { return find(name) != nullptr; }
    /// What is known, and not a program's own default.
    bool said(std::string_view name) const;

    // The value, where it is known and of that type.
    std::optional<int64_t> whole(std::string_view name) const;
    std::optional<double> number(std::string_view name) const;  ///< of whole numbers too
    std::optional<std::string> text(std::string_view name) const;
    bool flag(std::string_view name) const;  ///< false where nothing is known

    /// In the order in which they were first known.
    const std::vector<Fact>& all() const { return facts_; }

  private:
    std::vector<Fact> facts_;
};

}  // namespace meshscope::jobs
