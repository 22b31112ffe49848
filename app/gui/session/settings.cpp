#include "app/gui/session/settings.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <type_traits>

#include "app/gui/session/commands.h"
#include "app/gui/session/keys.h"
#include "app/gui/session/lessons.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/replace_file.h"
#include "core/base/text_file.h"

namespace meshscope::session {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kThemes[] = {"dark", "light", "contrast"};
/// A command's id without "keys.": its name in the file.
constexpr std::size_t kPrefix = 5;

/// Reads what is there and of the right type; what is not is said with its key.
class Reader {
  public:
    Reader(const ordered_json& json, std::vector<Message>& said, std::string at)
        : json_(json), said_(said), at_(std::move(at)) {}

    template <class T>
    std::optional<T> get(const char* key) const {
        const auto found = json_.find(key);
        if (found == json_.end() || found->is_null()) return {};
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            const std::optional<T> whole = json_whole<T>(*found);
            if (!whole) wrong(key);
            return whole;
        } else {
            try {
                auto value = found->template get<T>();
                // The system would take the part before a NUL for the whole name of a file.
                if constexpr (std::is_same_v<T, std::string>)
                    if (value.find('\0') != std::string::npos) {
                        wrong(key);
                        return {};
                    }
                return value;
            } catch (const ordered_json::exception&) {
                wrong(key);
                return {};
            }
        }
    }
    template <class T>
    void to(const char* key, T& value) const {
        if (const auto found = get<T>(key)) value = *found;
    }
    void to(const char* key, std::optional<int32_t>& value) const { value = get<int32_t>(key); }

    /// Calls `each` with every entry of an object, or with every item of a list ("" as its key).
    template <class Each>
    void entries(const char* key, bool list, const Each& each) const {
        const auto found = json_.find(key);
        if (found == json_.end()) return;
        if (list ? !found->is_array() : !found->is_object()) return wrong(key);
        for (auto it = found->begin(); it != found->end(); ++it) each(list ? std::string() : it.key(), *it);
    }
    void wrong(const std::string& key) const {
        said_.push_back({"settings.wrong", {{"key", at_.empty() ? key : at_ + "." + key}}});
    }

  private:
    const ordered_json& json_;
    std::vector<Message>& said_;
    std::string at_;
};

Viewpoint read_viewpoint(const Reader& in) {
    Viewpoint place;
    if (const auto view = in.get<std::string>("view"))
        if (const auto kind = view::view_named(*view)) {
            place.view = *kind;
            if (*view == kOldNameOfTensors) place.forms.set(view::Form::rows);
        }
    in.entries("forms", true, [&](const std::string&, const ordered_json& value) {
        if (!value.is_string()) return in.wrong("forms");
        if (const auto known = view::form_named(value.get<std::string>())) place.forms.set(*known);
    });
    if (in.get<std::string>("clock") == "measured") place.clock = time::ClockKind::measured;
    in.to("cursor_ns", place.cursor_ns);
    in.to("range_begin_ns", place.range_begin_ns);
    in.to("range_end_ns", place.range_end_ns);
    in.to("lesson_step", place.lesson_step);
    in.to("rank", place.rank);
    in.to("event_rank", place.event_rank);
    in.to("event", place.event);
    in.to("slice", place.slice);
    in.to("parameter", place.parameter);
    in.to("row", place.row);
    return place;
}

ordered_json viewpoint_json(const Viewpoint& place) {
    ordered_json json{{"view", view::view_name(place.view)},
                      {"clock", place.clock == time::ClockKind::measured ? "measured" : "modelled"},
                      {"cursor_ns", place.cursor_ns},
                      {"lesson_step", place.lesson_step}};
    if (place.range_end_ns > place.range_begin_ns) {
        json["range_begin_ns"] = place.range_begin_ns;
        json["range_end_ns"] = place.range_end_ns;
    }
    for (const view::ViewKind view : view::kViewKinds)
        if (const auto form = place.forms.of(view); form != view::first_form(view))
            json["forms"].push_back(view::form_name(*form));
    if (place.rank) json["rank"] = *place.rank;
    if (place.event_rank) json["event_rank"] = *place.event_rank;
    if (place.event) json["event"] = *place.event;
    if (!place.slice.empty()) json["slice"] = place.slice;
    if (!place.parameter.empty()) json["parameter"] = place.parameter;
    if (place.row >= 0) json["row"] = place.row;
    return json;
}

const Command* named(const std::string& name) {
    for (const Command& command : commands())
        if (name == command.id + kPrefix) return &command;
    return nullptr;
}

/// "keys": {"play": "Space", "export": ["Ctrl+E", "F9"], "theme": []}.
void read_keys(const Reader& in, OwnKeys& keys, std::vector<Message>& said) {
    in.entries("keys", false, [&](const std::string& name, const ordered_json& value) {
        const Command* command = named(name == kOldNameOfTensors ? "tensors" : name);
        if (command == nullptr) {
            said.push_back({"settings.unknown_command", {{"name", name}}});
            return;
        }
        std::vector<window::KeyPress> presses;
        ordered_json words = ordered_json::array();
        if (value.is_array())
            words = value;
        else
            words.push_back(value);
        for (const ordered_json& word : words) {
            const auto press = word.is_string() ? parse_key(word.get<std::string>()) : std::nullopt;
            if (!press) {
                said.push_back({"settings.unknown_key", {{"name", name}, {"key", json_text(word)}}});
                return;
            }
            presses.push_back(*press);
        }
        keys[command->id] = presses;
    });
    for (const KeyConflict& conflict : conflicts(keys))
        said.push_back({"settings.key_conflict",
                        {{"key", key_name(conflict.press)},
                         {"first", std::string(conflict.first + kPrefix)},
                         {"second", std::string(conflict.second + kPrefix)}}});
}

void read_progress(const Reader& in, Remembered& remembered, std::vector<Message>& said) {
    in.entries("lessons", false, [&](const std::string& name, const ordered_json& value) {
        if (!value.is_object()) return in.wrong("lessons." + name);
        const Reader lesson(value, said, "lessons." + name);
        LessonProgress progress;
        lesson.to("steps", progress.steps);
        lesson.to("seen", progress.seen);
        lesson.to("answers", progress.answers);
        remembered.progress[name] = std::move(progress);
    });
}

void read_unfinished(const Reader& in, std::vector<Unfinished>& unfinished, std::vector<Message>& said) {
    in.entries("unfinished", true, [&](const std::string&, const ordered_json& value) {
        Unfinished one;
        if (value.is_object()) {
            const Reader entry(value, said, "unfinished");
            entry.to("what", one.what);
            entry.to("name", one.name);
            entry.to("path", one.path);
        }
        if (one.what == "run")
            said.push_back({"settings.kept_run", {{"name", one.name}, {"path", one.path}}});
        else if (one.what == "edits")
            said.push_back({"settings.kept_edits", {{"name", one.name}, {"path", one.path}}});
        else if (one.what == "export")
            said.push_back({"settings.kept_export", {{"path", one.path}}});
        else
            return in.wrong("unfinished");
        unfinished.push_back(std::move(one));
    });
}

/// A name beside `path` that no file has yet.
std::string aside(const std::string& path) {
    std::error_code none;
    for (int i = 1;; ++i) {
        const std::string name = path + ".broken" + (i == 1 ? "" : std::to_string(i));
        if (!fs::exists(name, none) || i > 99) return name;
    }
}

/// What is left out would be gone when the file is written anew: a copy of it as it was, made once.
void keep_copy(const std::string& path, const std::string& text, std::vector<Message>& said) {
    const bool left_out = std::any_of(said.begin(), said.end(), [](const Message& message) {
        return message.id == "settings.wrong" || message.id == "settings.unknown_command" ||
               message.id == "settings.unknown_key";
    });
    const std::string to = path + ".before";
    try {
        if (!left_out || (fs::exists(to) && read_text_file(to) == text)) return;
        replace_file(to, text);
        said.push_back({"settings.copied", {{"to", to}}});
    } catch (const std::exception&) {
        // A folder that takes no file takes no new settings either: the old ones stay.
    }
}

}  // namespace

std::string settings_path(const std::string& xdg_config_home, const std::string& home) {
    // The specification: a relative XDG_CONFIG_HOME is to be ignored.
    if (!xdg_config_home.empty() && xdg_config_home.front() == '/')
        return xdg_config_home + "/meshscope/settings.json";
    return home.empty() ? "" : home + "/.config/meshscope/settings.json";
}

ReadSettings parse_settings(const std::string& text, bool& broken) {
    ReadSettings read;
    const ordered_json json = parse_json<ordered_json>(text);
    broken = !json.is_object();
    if (broken) return read;
    Settings& s = read.settings;
    const Reader in(json, read.said, "");
    if (const auto language = in.get<std::string>("language")) {
        if (*language == "en" || *language == "zh")
            s.language = *language == "zh" ? view::Language::zh : view::Language::en;
        else
            in.wrong("language");
    }
    if (const auto theme = in.get<std::string>("theme")) {
        const auto found = std::find(std::begin(kThemes), std::end(kThemes), *theme);
        if (found != std::end(kThemes))
            s.theme = static_cast<window::ThemeKind>(found - std::begin(kThemes));
        else
            in.wrong("theme");
    }
    if (const auto scale = in.get<float>("text_size")) {
        if (*scale >= kScaleMin && *scale <= kScaleMax)
            s.scale = *scale;
        else
            in.wrong("text_size");
    }
    s.reduced_motion = in.get<bool>("reduced_motion");
    s.plain = in.get<bool>("plain");
    if (const auto size = in.get<std::vector<double>>("window")) {
        if (size->size() == 2 && (*size)[0] >= 320 && (*size)[1] >= 200 && (*size)[0] <= 16384 &&
            (*size)[1] <= 16384) {
            s.width = static_cast<int>((*size)[0]);
            s.height = static_cast<int>((*size)[1]);
        } else {
            in.wrong("window");
        }
    }
    in.to("folder", s.remembered.folder);
    in.entries("recent", true, [&](const std::string&, const ordered_json& value) {
        if (!value.is_object()) return in.wrong("recent");
        const Reader entry(value, read.said, "recent");
        Recent recent;
        entry.to("path", recent.path);
        entry.to("name", recent.name);
        if (!recent.path.empty() && s.remembered.recent.size() < kMostRecent)
            s.remembered.recent.push_back(std::move(recent));
    });
    read_keys(in, s.remembered.keys, read.said);
    read_progress(in, s.remembered, read.said);
    read_unfinished(in, s.unfinished, read.said);
    in.entries("places", true, [&](const std::string&, const ordered_json& value) {
        const auto of = value.find("of");
        if (of == value.end() || !of->is_string() || of->get_ref<const std::string&>().empty())
            return in.wrong("places");
        if (s.viewpoints.size() < kMostViewpoints)
            s.viewpoints.emplace_back(of->get<std::string>(), read_viewpoint({value, read.said, "places"}));
    });
    return read;
}

ReadSettings read_settings(const std::string& path) {
    ReadSettings read;
    std::error_code error;
    if (path.empty() || !fs::exists(path, error)) return read;
    std::string text;
    try {
        text = read_text_file(path);
    } catch (const IoError&) {
        read.said.push_back({"settings.unreadable", {{"path", path}}});
        read.stays = true;
        return read;
    }
    bool broken = false;
    read = parse_settings(text, broken);
    if (!broken) {
        keep_copy(path, text, read.said);
        return read;
    }
    const std::string to = aside(path);
    fs::rename(path, to, error);
    read.stays = static_cast<bool>(error);
    if (error)
        read.said.push_back({"settings.unreadable", {{"path", path}}});
    else
        read.said.push_back({"settings.moved_aside", {{"path", path}, {"to", to}}});
    return read;
}

std::string settings_text(const Settings& s) {
    ordered_json json = ordered_json::object();
    if (s.language) json["language"] = *s.language == view::Language::zh ? "zh" : "en";
    if (s.theme) json["theme"] = kThemes[static_cast<std::size_t>(*s.theme)];
    if (s.scale) json["text_size"] = *s.scale;
    if (s.reduced_motion) json["reduced_motion"] = *s.reduced_motion;
    if (s.plain) json["plain"] = *s.plain;
    if (s.width > 0) json["window"] = {s.width, s.height};
    if (!s.remembered.folder.empty()) json["folder"] = s.remembered.folder;
    ordered_json keys = ordered_json::object();
    for (const auto& [id, presses] : s.remembered.keys) {
        ordered_json& list = keys[id.substr(kPrefix)] = ordered_json::array();
        for (const window::KeyPress press : presses) list.push_back(key_name(press));
    }
    json["keys"] = keys;
    json["recent"] = ordered_json::array();
    for (const Recent& recent : s.remembered.recent)
        json["recent"].push_back({{"path", recent.path}, {"name", recent.name}});
    json["lessons"] = ordered_json::object();
    for (const auto& [name, progress] : s.remembered.progress)
        json["lessons"][name] = {
            {"steps", progress.steps}, {"seen", progress.seen}, {"answers", progress.answers}};
    json["places"] = ordered_json::array();
    for (const auto& [of, place] : s.viewpoints) {
        ordered_json entry{{"of", of}};
        entry.update(viewpoint_json(place));
        json["places"].push_back(std::move(entry));
    }
    for (const Unfinished& one : s.unfinished)
        json["unfinished"].push_back({{"what", one.what}, {"name", one.name}, {"path", one.path}});
    return json_text(json, 2) + "\n";
}

void write_settings(const std::string& path, const Settings& settings) {
    std::error_code ignored;  // a folder that cannot be made is told by the file
    fs::create_directories(fs::path(path).parent_path(), ignored);
    replace_file(path, settings_text(settings));
}

std::string document_key(const Document& document) {
    std::error_code error;
    if (document.plan) return "";  // many layouts have one name
    if (document.path.empty() || !fs::exists(document.path, error)) return document.name;
    fs::path whole = fs::weakly_canonical(fs::absolute(document.path, error), error);
    if (fs::is_directory(whole, error)) whole /= "scenario.toml";
    // A lesson, whichever of its names opened it.
    const bool is_lesson = !document.steps.empty() && whole.filename() == "scenario.toml";
    return is_lesson ? folder_of(whole.string()) : whole.string();
}

Settings settings_of(const AppState& state, const Settings& before) {
    Settings s = before;
    s.language = state.language;
    s.theme = state.theme;
    s.scale = state.scale;
    s.reduced_motion = state.reduced_motion;
    s.remembered = state.remembered;
    std::error_code error;
    for (Recent& recent : s.remembered.recent)
        if (fs::exists(recent.path, error)) recent.path = fs::absolute(recent.path, error).lexically_normal();
    if (!state.document) return s;
    const std::string key = document_key(*state.document);
    if (key.empty()) return s;
    std::erase_if(s.viewpoints, [&](const auto& entry) { return entry.first == key; });
    s.viewpoints.insert(s.viewpoints.begin(), {key, viewpoint_of(state)});
    if (s.viewpoints.size() > kMostViewpoints) s.viewpoints.resize(kMostViewpoints);
    return s;
}

std::vector<Action> start_actions(const Settings& s) {
    std::vector<Action> actions{Remember{s.remembered}};
    if (s.language) actions.push_back(SetLanguage{*s.language});
    if (s.theme) actions.push_back(SetTheme{*s.theme});
    if (s.scale) actions.push_back(SetScale{*s.scale});
    if (s.reduced_motion) actions.push_back(SetReducedMotion{*s.reduced_motion});
    if (s.plain) actions.push_back(SetPlain{*s.plain});
    return actions;
}

const Viewpoint* viewpoint_kept(const Settings& settings, const Document& document) {
    const std::string key = document_key(document);
    for (const auto& [of, place] : settings.viewpoints)
        if (of == key) return &place;
    return nullptr;
}

}  // namespace meshscope::session
