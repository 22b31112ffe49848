#include "core/time/read_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/error.h"
#include "core/base/file_kind.h"
#include "core/base/joined.h"
#include "core/base/resolve_offers.h"
#include "core/base/text_file.h"
#include "core/base/toml_number.h"
#include "core/base/toml_text.h"
#include "core/base/units.h"

namespace meshscope::embedded {
std::string_view time_profiles(std::string_view file);
}

namespace meshscope::time {
namespace {

constexpr std::size_t kMostUnknown = 1000;  ///< keys that are told

constexpr std::string_view kNames[] = {"classroom", "laptop",    "rtx4090", "a100_40gb", "a100",
                                       "h100",      "h100_96gb", "h200",    "b200",      "gb200"};

/// What a number may be.
enum class Wanted {
    positive,           ///< above 0
    positive_if_there,  ///< above 0 or left out, which is no other word for 0: the figure is another's then
    from_zero           ///< 0 or more; 0 when left out
};

/// The tables of a profile and their keys.
struct TableKeys {
    std::string_view table;
    std::vector<std::string_view> keys;
};

const std::vector<TableKeys>& all_keys() {
    static const std::vector<TableKeys> kAll{
        {"", {"compute", "links", "name"}},
        {"compute",
         {"attention_efficiency", "bfloat16_gflops", "efficiency", "float16_gflops", "float32_gflops",
          "fp8_gflops", "half_speed_gflop", "kernels", "launch_us", "memory_GB_per_s", "memory_GiB",
          "overlap", "reduce_GB_per_s", "tf32", "tf32_gflops"}},
        {"compute.kernels.", {"GB_per_s", "gflops"}},  // of each
        {"links", {"between", "inside", "ranks_per_node"}},
        {"links.inside", {"GB_per_s", "latency_us"}},
        {"links.between", {"GB_per_s", "latency_us", "node_GB_per_s"}}};
    return kAll;
}

const std::vector<std::string_view>& keys_of(std::string_view table) {
    return std::ranges::find(all_keys(), table, &TableKeys::table)->keys;
}

/// The tables that have a key.
std::vector<std::string> tables_of(std::string_view key) {
    std::vector<std::string> found;
    for (const TableKeys& each : all_keys())
        if (!each.table.ends_with('.') && std::ranges::find(each.keys, key) != each.keys.end())
            found.emplace_back(each.table);
    return found;
}

/// Reads tables and collects what is wrong with them.
class Reader {
  public:
    explicit Reader(std::string path) : path_(std::move(path)) {}

    void add(const toml::source_region& at, Message message) {
        refusals_.push_back({{std::move(message),
                              {path_, static_cast<int>(at.begin.line), static_cast<int>(at.begin.column), -1},
                              {}},
                             {},
                             {},
                             {}});
    }
    bool found_none() const { return refusals_.empty(); }
    std::vector<Refusal>& refusals() { return refusals_; }
    /// All of them in file order.
    std::vector<Diagnostic> take() {
        std::vector<Diagnostic> found;
        for (Refusal& refusal : refusals_) found.push_back(std::move(refusal.diagnostic));
        refusals_.clear();
        std::ranges::stable_sort(
            found, {}, [](const Diagnostic& d) { return std::pair(d.position.line, d.position.column); });
        return found;
    }

    /// A table that must be there, with its keys and no others. Where it is not, that is told, and what is
    /// given is nowhere(): whatever is missing from it was told with it.
    const toml::table& table(const toml::table& in, const std::string& name) {
        const std::string key = name.substr(name.rfind('.') + 1);
        const toml::node* node = in.get(key);
        if (node == nullptr) {
            missing(in, name);
            return nowhere();
        }
        if (!node->is_table()) {
            not_a_table(*node, name);
            return nowhere();
        }
        only(*node->as_table(), name, name, keys_of(name));
        return *node->as_table();
    }
    void not_a_table(const toml::node& node, const std::string& name) {
        add(node.source(), {"time.profile.not_a_table", {{"key", name}}});
    }
    /// Tells that `name` is missing from `in`; not where another key there seems to be that one misspelt,
    /// which was told.
    void missing(const toml::table& in, const std::string& name) {
        if (&in != &nowhere() && !meant_.contains(name))
            add(in.source(), {"time.profile.missing", {{"key", name}}});
    }
    /// Refuses the keys of the table `name`, standing at `place`, that are none of `keys`.
    void only(const toml::table& in, const std::string& name, const std::string& place,
              const std::vector<std::string_view>& keys) {
        std::set<std::string> guessed;
        for (const auto& [key, value] : in) {
            if (std::ranges::find(keys, key.str()) != keys.end()) continue;
            if (refusals_.size() >= kMostUnknown) return;
            add(key.source(),
                {"time.profile.unknown_key", {{"key", full(name, key.str())}, {"known", joined(keys)}}});
            Refusal& refusal = refusals_.back();
            // One that several tables have is not misspelt; which of them was meant, nobody knows.
            const std::vector<std::string> tables = tables_of(key.str());
            if (tables.size() == 1) {
                const std::string to = tables[0] + "." + std::string(key.str());
                refusal.diagnostic.hint = {"scenario.hint.key_of_table",
                                           {{"key", std::string(key.str())}, {"table", tables[0]}}};
                refusal.guesses.push_back({refusal.diagnostic.hint,
                                           "scenario.hint.key_of_table_then",
                                           {{to, {}}},
                                           place_of(place, key.str())});
                meant_.insert(to);
            } else if (tables.empty()) {
                const std::string meant = guess_key(refusal, in, key, place, keys, guessed);
                if (!meant.empty()) meant_.insert(full(name, meant));
            }
        }
    }
    /// A number times `unit`; 0 when it is left out.
    double number(const toml::table& in, const std::string& name, const char* key, double unit, Wanted wanted,
                  double most = 1e30) {
        const toml::node* node = in.get(key);
        if (node == nullptr) {
            if (wanted == Wanted::positive) missing(in, full(name, key));
            return 0;
        }
        const std::optional<double> value = toml_number(*node);
        if (!value) {
            add(node->source(), {"time.profile.not_a_number", {{"key", full(name, key)}}});
            return 0;
        }
        if (!(wanted == Wanted::from_zero ? *value >= 0 : *value > 0)) {
            const char* const id = wanted == Wanted::from_zero  ? "time.profile.below_0"
                                   : wanted == Wanted::positive ? "time.profile.not_above_0"
                                                                : "time.profile.not_above_0_or_absent";
            add(node->source(), {id, {{"key", full(name, key)}, {"value", *value}}});
            return 0;
        }
        if (*value > most) {
            add(node->source(),
                {"time.profile.above_most", {{"key", full(name, key)}, {"value", *value}, {"most", most}}});
            return 0;
        }
        return *value * unit;
    }

    /// A whole number from 1; 0 when it is left out.
    int32_t whole(const toml::table& in, const std::string& name, const char* key, int32_t most) {
        const double value = number(in, name, key, 1, Wanted::positive_if_there, most);
        if (value != std::floor(value))
            add(in.get(key)->source(),
                {"time.profile.not_whole", {{"key", full(name, key)}, {"value", value}}});
        return static_cast<int32_t>(value);
    }
    bool boolean(const toml::table& in, const std::string& name, const char* key, bool absent) {
        const toml::node* node = in.get(key);
        if (node == nullptr) return absent;
        if (!node->is_boolean())
            add(node->source(), {"time.profile.not_a_boolean", {{"key", full(name, key)}}});
        return node->value_or(absent);
    }

    static std::string full(const std::string& table, std::string_view key) {
        return table.empty() ? std::string(key) : table + "." + std::string(key);
    }

  private:
    static const toml::table& nowhere() {
        static const toml::table kNone;
        return kNone;
    }

    std::string path_;
    std::vector<Refusal> refusals_;
    std::set<std::string> meant_;  ///< keys that another one seems to be, misspelt
};

constexpr double kMostGiB = 1e6;

constexpr int32_t kMostNodeRanks = 65536;

int64_t nanoseconds(double ns) {
    return static_cast<int64_t>(std::llround(ns));
}

void read_compute(Reader& reader, const toml::table& root, Profile& profile) {
    const std::string name = "compute";
    const toml::table& compute = reader.table(root, name);
    const double stated = reader.number(compute, name, "efficiency", 1, Wanted::positive_if_there, 1.0);
    const double efficiency = stated == 0 ? 1 : stated;
    const double bfloat16 = reader.number(compute, name, "bfloat16_gflops", 1e9, Wanted::positive_if_there);
    profile.flops_per_s = reader.number(compute, name, "float32_gflops", 1e9, Wanted::positive) * efficiency;
    profile.bfloat16_flops_per_s = bfloat16 * efficiency;
    if (stated > 0) profile.bfloat16_peak_flops_per_s = bfloat16;
    profile.float16_flops_per_s =
        reader.number(compute, name, "float16_gflops", 1e9, Wanted::positive_if_there) * efficiency;
    profile.tf32_flops_per_s =
        reader.number(compute, name, "tf32_gflops", 1e9, Wanted::positive_if_there) * efficiency;
    profile.fp8_flops_per_s =
        reader.number(compute, name, "fp8_gflops", 1e9, Wanted::positive_if_there) * efficiency;
    profile.tf32 = reader.boolean(compute, name, "tf32", false);
    if (profile.tf32 && profile.tf32_flops_per_s == 0)
        reader.missing(compute, Reader::full(name, "tf32_gflops"));
    const double attention =
        reader.number(compute, name, "attention_efficiency", 1, Wanted::positive_if_there, 1.0);
    if (attention > 0) profile.attention_share = attention / efficiency;
    profile.memory_bytes =
        std::llround(reader.number(compute, name, "memory_GiB", kGiB, Wanted::positive_if_there, kMostGiB));
    profile.half_speed_flops = reader.number(compute, name, "half_speed_gflop", 1e9, Wanted::from_zero, 1e6);
    profile.memory_bytes_per_s = reader.number(compute, name, "memory_GB_per_s", 1e9, Wanted::positive);
    profile.launch_ns = nanoseconds(reader.number(compute, name, "launch_us", 1e3, Wanted::from_zero, 1e9));
    profile.reduce_bytes_per_s =
        reader.number(compute, name, "reduce_GB_per_s", 1e9, Wanted::positive_if_there);
    profile.overlap = reader.boolean(compute, name, "overlap", true);
    const toml::node* kernels = compute.get("kernels");
    if (kernels == nullptr) return;
    if (!kernels->is_table()) {
        reader.not_a_table(*kernels, "compute.kernels");
        return;
    }
    for (const auto& [key, value] : *kernels->as_table()) {
        const std::string kernel(key.str());
        const std::string path = "compute.kernels." + kernel;
        if (!value.is_table()) {
            reader.not_a_table(value, path);
            continue;
        }
        const toml::table& speeds = *value.as_table();
        reader.only(speeds, path, place_of("compute.kernels", kernel), keys_of("compute.kernels."));
        profile.kernels[kernel] = {reader.number(speeds, path, "gflops", 1e9, Wanted::positive_if_there),
                                   reader.number(speeds, path, "GB_per_s", 1e9, Wanted::positive_if_there)};
    }
}

void read_links(Reader& reader, const toml::table& root, Profile& profile) {
    const toml::table& links = reader.table(root, "links");
    const toml::table& inside = reader.table(links, "links.inside");
    const toml::table& between = reader.table(links, "links.between");
    profile.node_ranks = reader.whole(links, "links", "ranks_per_node", kMostNodeRanks);
    profile.latency_inside_ns =
        nanoseconds(reader.number(inside, "links.inside", "latency_us", 1e3, Wanted::from_zero, 1e9));
    profile.bandwidth_inside_bytes_per_s =
        reader.number(inside, "links.inside", "GB_per_s", 1e9, Wanted::positive);
    profile.latency_between_ns =
        nanoseconds(reader.number(between, "links.between", "latency_us", 1e3, Wanted::from_zero, 1e9));
    profile.bandwidth_between_bytes_per_s =
        reader.number(between, "links.between", "GB_per_s", 1e9, Wanted::positive);
    profile.node_bytes_per_s =
        reader.number(between, "links.between", "node_GB_per_s", 1e9, Wanted::positive_if_there);
}

/// A profile, with what is wrong in `reader`.
Profile read_all(const toml::table& root, Reader& reader) {
    Profile profile;
    reader.only(root, "", "", keys_of(""));
    const auto name = root["name"].value<std::string>();
    if (!root.contains("name"))
        reader.missing(root, "name");
    else if (!name || name->empty())
        reader.add(root.get("name")->source(), {"time.profile.not_a_name", {{"key", std::string("name")}}});
    profile.name = name.value_or("");
    read_compute(reader, root, profile);
    read_links(reader, root, profile);
    return profile;
}

std::vector<Diagnostic> mistakes_of(const toml::table& root, const std::string& path) {
    Reader reader(path);
    const Profile profile = read_all(root, reader);
    if (!reader.found_none()) return reader.take();
    try {
        check(profile);
    } catch (const Error& error) {
        return {{error.message(), {path, 1, 1, -1}, {}}};
    }
    return {};
}

/// The part of its peaks that a profile is said to reach: so much that bfloat16's peak is the profile's own.
/// Without one, or where it would be less than what is reached, speeds are said as they are reached; where
/// attention is faster than products, both by a part of more.
double told_efficiency(const Profile& profile) {
    if (profile.bfloat16_peak_flops_per_s > 0) {
        const double part = profile.bfloat16_flops_per_s / profile.bfloat16_peak_flops_per_s;
        if (part > 0 && part * std::max(1.0, profile.attention_share) <= 1) return part;
    }
    return profile.attention_share > 1 ? 1 / profile.attention_share : 1;
}

}  // namespace

std::vector<std::string> profile_names() {
    return {std::begin(kNames), std::end(kNames)};
}

Profile named_profile(std::string_view name) {
    for (const std::string_view known : kNames) {
        if (known != name) continue;
        const std::string path = "core/time/profiles/" + std::string(name) + ".toml";
        return parse_profile(embedded::time_profiles(path), path);
    }
    throw InvalidArgument({"time.unknown_profile", {{"name", std::string(name)}, {"known", joined(kNames)}}});
}

Profile parse_profile(std::string_view text, const std::string& path) {
    const toml::table root = parse_toml(text, path);
    Reader reader(path);
    Profile profile = read_all(root, reader);
    if (!reader.found_none()) {
        resolve_offers(reader.refusals(), root,
                       [&](const toml::table& changed) { return mistakes_of(changed, path); });
        throw InputError(reader.take());
    }
    check(profile);
    return profile;
}

Profile read_profile(const std::string& path) {
    return parse_profile(read_text_file(path), path);
}

std::string profile_text(const Profile& profile, const std::string& comment) {
    std::ostringstream out;
    out.precision(6);
    if (!comment.empty()) out << kProfileMark << '\n';
    std::istringstream lines(comment);
    for (std::string line; std::getline(lines, line);) out << "# " << line << '\n';
    const auto optional = [&](const char* key, double value) {
        if (value > 0) out << key << " = " << value << '\n';
    };
    const double efficiency = told_efficiency(profile);
    const auto peak = [&](const char* key, double flops_per_s) {
        optional(key, flops_per_s / efficiency / 1e9);
    };
    out << "name = " << toml_string(profile.name) << "\n[compute]\n";
    peak("float32_gflops", profile.flops_per_s);
    peak("bfloat16_gflops", profile.bfloat16_flops_per_s);
    peak("float16_gflops", profile.float16_flops_per_s);
    peak("tf32_gflops", profile.tf32_flops_per_s);
    peak("fp8_gflops", profile.fp8_flops_per_s);
    if (profile.tf32) out << "tf32 = true\n";
    if (efficiency < 1) out << "efficiency = " << efficiency << '\n';
    if (profile.attention_share != 1)
        out << "attention_efficiency = " << profile.attention_share * efficiency << '\n';
    optional("memory_GiB", static_cast<double>(profile.memory_bytes) / kGiB);
    optional("half_speed_gflop", profile.half_speed_flops / 1e9);
    out << "memory_GB_per_s = " << profile.memory_bytes_per_s / 1e9 << '\n';
    out << "launch_us = " << static_cast<double>(profile.launch_ns) / 1e3 << '\n';
    optional("reduce_GB_per_s", profile.reduce_bytes_per_s / 1e9);
    out << "overlap = " << (profile.overlap ? "true" : "false") << '\n';
    for (const auto& [kernel, speed] : profile.kernels) {
        out << "[compute.kernels." << toml_string(kernel) << "]\n";
        optional("gflops", speed.flops_per_s / 1e9);
        optional("GB_per_s", speed.bytes_per_s / 1e9);
    }
    if (profile.node_ranks > 0) out << "[links]\nranks_per_node = " << profile.node_ranks << '\n';
    out << "[links.inside]\nlatency_us = " << static_cast<double>(profile.latency_inside_ns) / 1e3
        << "\nGB_per_s = " << profile.bandwidth_inside_bytes_per_s / 1e9
        << "\n[links.between]\nlatency_us = " << static_cast<double>(profile.latency_between_ns) / 1e3
        << "\nGB_per_s = " << profile.bandwidth_between_bytes_per_s / 1e9 << '\n';
    optional("node_GB_per_s", profile.node_bytes_per_s / 1e9);
    return out.str();
}

}  // namespace meshscope::time
