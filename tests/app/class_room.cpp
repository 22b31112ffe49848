#include "class_room.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace meshscope::test {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Without the comparison of calls a wrong one is not refused but waits.
constexpr const char* kRing = R"(format = 1

[[call]]
op = "broadcast"
elements = 8

[mesh]
shape = [2]

[run]
checked = false

[[faults]]
kind = "skip"
rank = 0
step = 0
)";

}  // namespace

ClassRoom::ClassRoom() : display_(folder_.path.string()) {
    json recent;
    recent["path"] = folder_.write("ring.toml", kRing);
    recent["name"] = "ring";
    json settings;
    settings["recent"].push_back(recent);
    folder_.write("config/meshscope/settings.json", settings.dump());
    start({"--lang", "en", "--size", "1280x900"});
}

void ClassRoom::start(const std::vector<std::string>& words) {
    app_ = std::make_unique<DrivenApp>(display_, folder_.path.string(), words);
}

json ClassRoom::until(const std::string& what, const std::function<bool(const json&)>& wanted,
                      int patience) const {
    return app_->wait_for(what, wanted, patience);
}

json ClassRoom::view(const std::string& key, const std::string& name) const {
    app_->key(key);
    return until("the view " + name, [&](const json& s) { return s["view"] == name; });
}

void ClassRoom::palette(const std::string& words) const {
    app_->key("ctrl+k");
    until("the palette", [](const json& s) { return s["palette"] == true && s["typing"] == true; });
    app_->act({"type", "--delay", "20", words});
    app_->key("Return");
    until("what was found", [](const json& s) { return s["palette"] == false; });
}

void ClassRoom::export_to(const std::string& path) const {
    app_->key("ctrl+e");
    app_->fill("export_path", path);
    app_->click("export_go");
    until("the export goes on",
          [](const json& s) { return s["export_sheet"] == false || s["error"].is_array(); });
}

json line_of_words(const json& state, const std::string& kind, int a) {
    json found;
    for (const auto& p : state["places"]) {
        const json& box = p["box"];
        if (p["kind"] != kind || p["a"] != a || box[3] > 40) continue;
        if (found.is_null() || box[2] > found[2]) found = box;
    }
    if (found.is_null()) throw std::runtime_error("no words of " + kind + " on screen");
    return found;
}

bool in_path(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::string folders = path != nullptr ? path : "";
    for (std::size_t at = 0; at <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', at), folders.size());
        std::error_code none;
        if (fs::exists(fs::path(folders.substr(at, end - at)) / program, none)) return true;
        at = end + 1;
    }
    return false;
}

}  // namespace meshscope::test
