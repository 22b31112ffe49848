#include "core/time/read_profile.h"

#include <toml++/toml.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "core/base/error.h"

namespace meshscope::embedded {
std::string_view time_profiles(std::string_view file);
}

namespace meshscope::time {
namespace {

constexpr std::string_view kNames[] = {"classroom", "laptop", "a100", "h100"};

/// Reads tables and collects what is wrong with them.
class Reader {
  public:
    explicit Reader(std::string path) : path_(std::move(path)) {}

    void add(const toml::source_region& at, Message message) {
        diagnostics_.push_back(
            {std::move(message),
             {path_, static_cast<int>(at.begin.line), static_cast<int>(at.begin.column), -1},
             {}});
    }
    void throw_if_any() {
        if (!diagnostics_.empty()) throw InputError(std::move(diagnostics_));
    }

    /// A table that must be there, with these keys and no others; empty when it is not.
    const toml::table& table(const toml::table& in, const std::string& name,
                             const std::set<std::string>& keys) {
        static const toml::table kEmpty;
        const std::string key = name.substr(name.rfind('.') + 1);
        const toml::node* node = in.get(key);
        if (node == nullptr || !node->is_table()) {
            add(node == nullptr ? in.source() : node->source(), {"time.profile.missing", {{"key", name}}});
            return kEmpty;
        }
        only(*node->as_table(), name, keys);
        return *node->as_table();
    }
    void only(const toml::table& in, const std::string& name, const std::set<std::string>& keys) {
        for (const auto& [key, value] : in) {
            if (keys.contains(std::string(key.str()))) continue;
            std::string known;
            for (const std::string& each : keys) known += (known.empty() ? "" : ", ") + each;
            add(key.source(),
                {"time.profile.unknown_key", {{"key", full(name, key.str())}, {"known", known}}});
        }
    }
    /// A number times `unit`, above 0 (or at least 0 when `may_be_0`, and then it may be absent).
    double number(const toml::table& in, const std::string& name, const char* key, double unit, bool may_be_0,
                  double most = 1e30) {
        const toml::node* node = in.get(key);
        if (node == nullptr) {
            if (!may_be_0) add(in.source(), {"time.profile.missing", {{"key", full(name, key)}}});
            return 0;
        }
        const auto value = node->value<double>();
        if (!value || !node->is_number()) {
            add(node->source(), {"time.profile.not_a_number", {{"key", full(name, key)}}});
            return 0;
        }
        if (!(may_be_0 ? *value >= 0 : *value > 0) || !(*value <= most)) {
            add(node->source(), {may_be_0 ? "time.profile.below_0" : "time.profile.not_above_0",
                                 {{"key", full(name, key)}, {"value", *value}}});
            return 0;
        }
        return *value * unit;
    }

    static std::string full(const std::string& table, std::string_view key) {
        return table.empty() ? std::string(key) : table + "." + std::string(key);
    }

  private:
    std::string path_;
    std::vector<Diagnostic> diagnostics_;
};

int64_t nanoseconds(double ns) {
    return static_cast<int64_t>(std::llround(ns));
}

void read_compute(Reader& reader, const toml::table& root, Profile& profile) {
    const std::string name = "compute";
    const toml::table& compute =
        reader.table(root, name,
                     {"float32_gflops", "bfloat16_gflops", "efficiency", "half_speed_gflop",
                      "memory_GB_per_s", "launch_us", "reduce_GB_per_s", "overlap", "kernels"});
    double efficiency = reader.number(compute, name, "efficiency", 1, true, 1.0);
    if (efficiency == 0) efficiency = 1;
    profile.flops_per_s = reader.number(compute, name, "float32_gflops", 1e9, false) * efficiency;
    profile.bfloat16_flops_per_s = reader.number(compute, name, "bfloat16_gflops", 1e9, true) * efficiency;
    profile.half_speed_flops = reader.number(compute, name, "half_speed_gflop", 1e9, true, 1e6);
    profile.memory_bytes_per_s = reader.number(compute, name, "memory_GB_per_s", 1e9, false);
    profile.launch_ns = nanoseconds(reader.number(compute, name, "launch_us", 1e3, true, 1e9));
    profile.reduce_bytes_per_s = reader.number(compute, name, "reduce_GB_per_s", 1e9, true);
    if (const toml::node* overlap = compute.get("overlap")) {
        if (!overlap->is_boolean())
            reader.add(overlap->source(),
                       {"time.profile.not_a_boolean", {{"key", std::string("compute.overlap")}}});
        profile.overlap = overlap->value_or(true);
    }
    const toml::node* kernels = compute.get("kernels");
    if (kernels == nullptr) return;
    if (!kernels->is_table()) {
        reader.add(kernels->source(), {"time.profile.missing", {{"key", std::string("compute.kernels")}}});
        return;
    }
    for (const auto& [key, value] : *kernels->as_table()) {
        const std::string kernel(key.str());
        const std::string path = "compute.kernels." + kernel;
        if (!value.is_table()) {
            reader.add(value.source(), {"time.profile.missing", {{"key", path + ".gflops"}}});
            continue;
        }
        const toml::table& speeds = *value.as_table();
        reader.only(speeds, path, {"gflops", "GB_per_s"});
        profile.kernels[kernel] = {reader.number(speeds, path, "gflops", 1e9, true),
                                   reader.number(speeds, path, "GB_per_s", 1e9, true)};
    }
}

void read_links(Reader& reader, const toml::table& root, Profile& profile) {
    const toml::table& links = reader.table(root, "links", {"inside", "between"});
    const toml::table& inside = reader.table(links, "links.inside", {"latency_us", "GB_per_s"});
    const toml::table& between =
        reader.table(links, "links.between", {"latency_us", "GB_per_s", "node_GB_per_s"});
    profile.latency_inside_ns =
        nanoseconds(reader.number(inside, "links.inside", "latency_us", 1e3, true, 1e9));
    profile.bandwidth_inside_bytes_per_s = reader.number(inside, "links.inside", "GB_per_s", 1e9, false);
    profile.latency_between_ns =
        nanoseconds(reader.number(between, "links.between", "latency_us", 1e3, true, 1e9));
    profile.bandwidth_between_bytes_per_s = reader.number(between, "links.between", "GB_per_s", 1e9, false);
    profile.node_bytes_per_s = reader.number(between, "links.between", "node_GB_per_s", 1e9, true);
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
    std::string known;
    for (const std::string_view each : kNames) known += (known.empty() ? "" : ", ") + std::string(each);
    throw InvalidArgument({"time.unknown_profile", {{"name", std::string(name)}, {"known", known}}});
}

Profile parse_profile(std::string_view text, const std::string& path) {
    toml::table root;
    try {
        root = toml::parse(text, path);
    } catch (const toml::parse_error& error) {
        Reader reader(path);
        reader.add(error.source(), {"time.profile.syntax", {{"detail", std::string(error.description())}}});
        reader.throw_if_any();
    }
    Reader reader(path);
    Profile profile;
    reader.only(root, "", {"name", "compute", "links"});
    const auto name = root["name"].value<std::string>();
    if (!name || name->empty())
        reader.add(root.source(), {"time.profile.missing", {{"key", std::string("name")}}});
    profile.name = name.value_or("");
    read_compute(reader, root, profile);
    read_links(reader, root, profile);
    reader.throw_if_any();
    check(profile);
    return profile;
}

Profile read_profile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in || !text) throw IoError({"time.profile_not_read", {{"path", path}}});
    return parse_profile(text.str(), path);
}

std::string profile_text(const Profile& profile, const std::string& comment) {
    std::ostringstream out;
    out.precision(6);
    std::istringstream lines(comment);
    for (std::string line; std::getline(lines, line);) out << "# " << line << '\n';
    const auto optional = [&](const char* key, double value) {
        if (value > 0) out << key << " = " << value << '\n';
    };
    out << "name = \"" << profile.name << "\"\n[compute]\nfloat32_gflops = " << profile.flops_per_s / 1e9
        << '\n';
    optional("bfloat16_gflops", profile.bfloat16_flops_per_s / 1e9);
    optional("half_speed_gflop", profile.half_speed_flops / 1e9);
    out << "memory_GB_per_s = " << profile.memory_bytes_per_s / 1e9
        << "\nlaunch_us = " << static_cast<double>(profile.launch_ns) / 1e3 << '\n';
    optional("reduce_GB_per_s", profile.reduce_bytes_per_s / 1e9);
    out << "overlap = " << (profile.overlap ? "true" : "false") << '\n';
    for (const auto& [kernel, speed] : profile.kernels) {
        out << "[compute.kernels.\"" << kernel << "\"]\n";
        optional("gflops", speed.flops_per_s / 1e9);
        optional("GB_per_s", speed.bytes_per_s / 1e9);
    }
    out << "[links.inside]\nlatency_us = " << static_cast<double>(profile.latency_inside_ns) / 1e3
        << "\nGB_per_s = " << profile.bandwidth_inside_bytes_per_s / 1e9
        << "\n[links.between]\nlatency_us = " << static_cast<double>(profile.latency_between_ns) / 1e3
        << "\nGB_per_s = " << profile.bandwidth_between_bytes_per_s / 1e9 << '\n';
    optional("node_GB_per_s", profile.node_bytes_per_s / 1e9);
    return out.str();
}

}  // namespace meshscope::time
