#include "app/gui/session/dropped.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/checkpoint/manifest.h"
#include "core/run/simulated_pipeline.h"
#include "core/scenario/plan_file.h"
#include "core/trace/schema.h"

namespace meshscope::session {
namespace {

namespace fs = std::filesystem;
using Kind = Dropped::Kind;

constexpr std::size_t kLooked = 64 * 1024;

/// The first bytes of a file; nothing where it cannot be read, or is a pipe or a device (to open such a one
/// may wait for ever).
std::optional<std::string> head(const std::string& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    std::ifstream in(path, std::ios::binary);
    if (!in) return std::nullopt;
    std::string bytes(kLooked, '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(in.gcount()));
    return bytes;
}

Dropped unknown(const std::string& path, const char* what) {
    // What it is is a sentence of the catalogue too: the window fills it in.
    return {Kind::nothing, path, {"drop.unknown", {{"path", path}, {"what", std::string(what)}}}};
}

/// SQLite's header, and "MScp" where it keeps the application's number (offset 68, most significant first).
std::optional<bool> trace_file(const std::string& bytes) {
    if (!bytes.starts_with("SQLite format 3") || bytes.size() < 72) return {};
    uint32_t id = 0;
    for (std::size_t i = 68; i < 72; ++i) id = id << 8 | static_cast<unsigned char>(bytes[i]);
    return id == static_cast<uint32_t>(trace::kApplicationId);
}

std::string shape_text(const std::vector<int64_t>& numbers) {
    std::string text;
    for (const int64_t n : numbers) text += (text.empty() ? "" : "x") + std::to_string(n);
    return text.empty() ? "1" : text;
}

std::optional<Dropped> checkpoint(const fs::path& folder) {
    std::error_code error;
    bool inside = fs::is_regular_file(folder / run::checkpoint::kManifestName, error);
    for (const auto& entry : fs::directory_iterator(folder, error))
        inside = inside || fs::is_regular_file(entry.path() / run::checkpoint::kManifestName, error);
    if (!inside) return {};
    Dropped dropped{Kind::checkpoint, folder.string(), {}};
    try {
        const fs::path found = run::checkpoint::find_checkpoint(folder.string());
        const fs::path file = found / run::checkpoint::kManifestName;
        std::ifstream in(file, std::ios::binary);
        const auto manifest = run::checkpoint::parse_manifest(
            std::string{std::istreambuf_iterator<char>(in), {}}, file.string());
        dropped.alone = {"drop.checkpoint_alone",
                         {{"name", found.filename().string()},
                          {"steps", int64_t{manifest.steps}},
                          {"strategy", manifest.strategy},
                          {"mesh", shape_text(manifest.mesh_shape)}}};
    } catch (const Error& damaged) {
        dropped.alone = damaged.message();
    }
    return dropped;
}

Dropped folder(const fs::path& path) {
    std::error_code error;
    if (fs::exists(path / "scenario.toml", error)) return {Kind::run, path.string(), {}};
    if (const auto found = checkpoint(path)) return *found;
    return unknown(path.string(), "drop.what.folder");
}

/// A scenario and a profile are both TOML; which of them it is says the table that only it has.
Dropped toml(const std::string& path, const std::string& text) {
    const auto has = [&](const char* table) {
        return text.starts_with(table) || text.find("\n" + std::string(table)) != std::string::npos;
    };
    if (has("[links") || has("[compute]")) {
        Dropped dropped{Kind::profile, path, {}};
        dropped.alone = {"drop.profile_alone", {{"name", fs::path(path).filename().string()}}};
        return dropped;
    }
    for (const char* table : {"[model]", "[mesh]", "[train]", "[parallel]", "[data]", "[run]"})
        if (has(table)) return {Kind::run, path, {}};
    return unknown(path, "drop.what.toml");
}

bool is_text(const std::string& bytes) {
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') return false;
    }
    return true;
}

/// A JSON object with "model_type", which every Hugging Face configuration has.
bool begins_as_config(const std::string& bytes) {
    const std::size_t brace = bytes.find_first_not_of(" \t\r\n");
    return brace != std::string::npos && bytes[brace] == '{' && !scenario::begins_as_plan(bytes) &&
           bytes.find("\"model_type\"", brace) != std::string::npos && is_text(bytes);
}

}  // namespace

bool is_database(const std::string& path) {
    const std::optional<std::string> bytes = head(path);
    return bytes && trace_file(*bytes).has_value();
}

bool is_model_config(const std::string& path) {
    const std::optional<std::string> bytes = head(path);
    return bytes && begins_as_config(*bytes);
}

bool opens_as_plan(const std::string& path) {
    const std::optional<std::string> bytes = head(path);
    return bytes && (scenario::begins_as_plan(*bytes) || begins_as_config(*bytes));
}

Dropped look_at_drop(const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error)) return {Kind::nothing, path, {"drop.nothing", {{"path", path}}}};
    if (fs::is_directory(path, error)) return folder(path);
    if (!fs::is_regular_file(path, error)) return unknown(path, "drop.what.binary");
    const std::optional<std::string> read = head(path);
    if (!read) return {Kind::nothing, path, {"file.cannot_read", {{"path", path}}}};
    const std::string& bytes = *read;
    const fs::path file(path);
    if (bytes.empty()) return unknown(path, "drop.what.empty");
    if (const auto ours = trace_file(bytes)) {
        if (*ours) return {Kind::run, path, {}};
        return unknown(path, "drop.what.sqlite");
    }
    // A file of a checkpoint stands for the whole of it.
    const bool part = file.filename() == run::checkpoint::kManifestName || file.extension() == ".safetensors";
    if (part && fs::exists(file.parent_path() / run::checkpoint::kManifestName, error))
        if (const auto found = checkpoint(file.parent_path())) return *found;
    if (file.extension() == ".safetensors") return unknown(path, "drop.what.tensors");
    for (const std::string_view magic : {"\x89PNG", "GIF8", "\xFF\xD8\xFF", "RIFF"})
        if (bytes.starts_with(magic)) return unknown(path, "drop.what.picture");
    if (!is_text(bytes)) return unknown(path, "drop.what.binary");
    if (file.extension() == ".toml") return toml(path, bytes);
    if (run::is_schedule_file(path)) return {Kind::run, path, {}};
    if (scenario::begins_as_plan(bytes) || begins_as_config(bytes)) return {Kind::plan, path, {}};
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && (bytes[first] == '{' || bytes[first] == '['))
        return unknown(path, "drop.what.json");
    return unknown(path, "drop.what.text");
}

}  // namespace meshscope::session
