#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::jobs {

/// How many values a YAML text may hold, and how many bytes of text these; what an anchor marks counts twice,
/// and an alias as often as it is used.
inline constexpr int64_t kMostYamlValues = 100'000, kMostYamlBytes = int64_t{8} << 20;

/// A plain word as YAML 1.1 reads it, because the programs that own these files do: "no" is false, "1_000" a
/// number, "~" nothing; also "1e-6", which YAML 1.1 takes for text and whoever gets it for a number. What is
/// none of these is text.
nlohmann::json yaml_scalar(std::string_view word);

/// At most so many keys with two values are reported.
inline constexpr std::size_t kMostTwice = 100;

/// A key that has two values in one table. The programs whose files these are take the last.
struct Twice {
    std::string key;  ///< with the tables that it stands in: "fsdp_config.fsdp_version", "groups[0].lr"
    std::string first, second;
    int line = 0, column = 0;  ///< of the second; 0: not known
};

/// The only way from a text to YAML: one document of lists, tables with text keys and plain values. Aliases
/// and merge keys (<<) are followed. Keys with two values go into `twice`, and have the last. `path` is the
/// file's name, for messages. Throws InputError, each at its place: "yaml.syntax" {detail}, "yaml.key",
/// "yaml.tag" {tag}, "yaml.too_deep" {most}, "yaml.too_many" {most}, "yaml.too_long" {most},
/// "yaml.documents", "yaml.not_text", "yaml.tab", "yaml.merge". Never more memory than for kMostYamlValues of
/// kMostYamlBytes together.
nlohmann::json parse_yaml(std::string_view text, const std::string& path, std::vector<Twice>& twice);

}  // namespace meshscope::jobs
