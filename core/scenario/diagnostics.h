#pragma once

#include <toml++/toml.h>

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/resolve_offers.h"

namespace meshscope::scenario {

/// Collects every mistake of one file.
class Diagnostics {
  public:
    explicit Diagnostics(std::string file) : file_(std::move(file)) {}
    const std::string& file() const { return file_; }
    void add(toml::source_position at, Message message, Message hint = {}, std::vector<Offer> offers = {});
    void add(Diagnostic diagnostic) { add(Refusal{std::move(diagnostic), {}, {}, {}}); }
    void add(Refusal refusal) { found_.push_back(std::move(refusal)); }
    /// Takes back what was said of a value that stands in `region`, or of its key at `key`.
    void take_back(toml::source_position key, toml::source_region region);
    bool empty() const { return found_.empty(); }
    /// All of them, with what is offered instead; for resolve_offers().
    std::vector<Refusal>& refusals() { return found_; }
    /// All of them in file order.
    std::vector<Diagnostic> take();

    /// Whether `table` was not looked at before; from now on it was.
    bool first_look_at(const toml::table* table) { return looked_at_.insert(table).second; }
    /// Notes that nobody knows what `key` of `table` was to be: its value was refused, or its name misspelt.
    void doubt(const toml::table* table, std::string_view key) { doubted_.emplace(table, key); }
    bool is_doubted(const toml::table* table, std::string_view key) const {
        return doubted_.count({table, std::string(key)}) > 0;
    }

  private:
    std::string file_;
    std::vector<Refusal> found_;
    std::set<const toml::table*> looked_at_;
    std::set<std::pair<const toml::table*, std::string>> doubted_;
};

/// The hint for a word that is not known: what was probably meant, else what there is.
Message hint_for(std::string_view word, std::span<const std::string_view> known);

}  // namespace meshscope::scenario
