#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace meshscope {

/// The fields of one object of a JSON file, read one by one. Each getter reports a wrong type or an
/// impossible value, with the file, the field and what would be right, and then gives nothing; a field that
/// is null counts as absent.
class JsonFields {
  public:
    /// `object` is a JSON object and, as `found`, outlives it. `within` comes before a field's name in
    /// messages: "rope_scaling.", "row 3: ".
    JsonFields(const nlohmann::json& object, std::string file, std::vector<Diagnostic>& found,
               std::string within = "");

    bool has(std::string_view field) const;
    bool is_false(std::string_view field) const;
    std::vector<Diagnostic>& found() const { return *found_; }
    std::string full(std::string_view field) const { return within_ + std::string(field); }

    std::optional<int64_t> whole(std::string_view field, int64_t least, int64_t most) const;
    /// Greater than `above`.
    std::optional<double> number(std::string_view field, double above, double most) const;
    std::optional<bool> boolean(std::string_view field) const;
    std::optional<std::string> text(std::string_view field) const;
    std::optional<std::vector<std::string>> texts(std::string_view field) const;
    /// An object inside this one; nothing where it is absent or no object.
    std::optional<JsonFields> object(std::string_view field) const;

    /// Reports that `field` must be there, which is `wanted` ("a whole number of at least 1"); true when it
    /// is.
    bool require(std::string_view field, std::string_view wanted_id = "config.hint.size") const;
    void report(Message message, Message hint = {}) const;

  private:
    const nlohmann::json* node(std::string_view field) const;
    void wrong_type(std::string_view field, std::string_view wanted, const nlohmann::json& found) const;

    const nlohmann::json* object_;
    std::string file_;
    std::vector<Diagnostic>* found_;
    std::string within_;
};

}  // namespace meshscope
