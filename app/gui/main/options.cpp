#include "app/gui/main/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>

#include "app/gui/main/exporter.h"
#include "app/gui/session/app_state.h"
#include "core/base/error.h"

namespace meshscope::gui {
namespace {

[[noreturn]] void bad(const std::string& option, const std::string& value, const std::string& wanted) {
    throw InvalidArgument({"app.bad_value", {{"option", option}, {"value", value}, {"wanted", wanted}}});
}

double number(const std::string& option, const std::string& value, double low, double high) {
    char* end = nullptr;
    const double parsed = std::strtod(value.c_str(), &end);
    char range[64];
    std::snprintf(range, sizeof(range), "%g … %g", low, high);
    if (value.empty() || *end != '\0' || !std::isfinite(parsed) || parsed < low || parsed > high)
        bad(option, value, range);
    return parsed;
}

int whole(const std::string& option, const std::string& value, int low, int high) {
    int parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || end != value.data() + value.size() || parsed < low || parsed > high) {
        bad(option, value, std::to_string(low) + " … " + std::to_string(high));
    }
    return parsed;
}

template <typename T>
T word(const std::string& option, const std::string& value, const std::map<std::string, T>& words) {
    const auto found = words.find(value);
    if (found != words.end()) return found->second;
    std::string known;
    for (const auto& entry : words) known += (known.empty() ? "" : ", ") + entry.first;
    bad(option, value, known);
}

/// "1042": an event; "12.5ms", "300ns": a time.
At moment(const std::string& option, const std::string& value) {
    const size_t unit = value.find_first_not_of("0123456789.");
    if (unit == std::string::npos) return {true, whole(option, value, 0, 2'000'000'000)};
    const std::map<std::string, double> units = {
        {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const auto found = units.find(value.substr(unit));
    if (found == units.end() || unit == 0) bad(option, value, "1042, 300ns, 4.2us, 12.5ms, 1s");
    return {false, std::llround(number(option, value.substr(0, unit), 0, 1e9) * found->second)};
}

void size(Options& o, const std::string& option, const std::string& value) {
    const size_t x = value.find('x');
    if (x == std::string::npos) bad(option, value, "1280x720");
    o.width = whole(option, value.substr(0, x), 320, 7680);
    o.height = whole(option, value.substr(x + 1), 200, 4320);
    o.size_given = true;
}

/// A form of another view than the one that is named: says what would be right.
[[noreturn]] void refuse_form(view::Form form, view::ViewKind view) {
    std::string own;
    for (const std::string_view word : kFormNames)
        if (view::view_of_form(*view::form_named(word)) == view)
            own += (own.empty() ? "" : ", ") + std::string(word);
    throw InvalidArgument({own.empty() ? "app.view_without_forms" : "app.form_of_other_view",
                           {{"form", std::string(view::form_name(form))},
                            {"view", std::string(view::view_name(view))},
                            {"other", std::string(view::view_name(view::view_of_form(form)))},
                            {"forms", own}}});
}

/// Sets one option that takes a value; false when there is none of that name.
bool set(Options& o, const std::string& option, const std::string& value) {
    using view::Language;
    using view::ViewKind;
    using window::ThemeKind;
    if (option == "--lang") {
        o.language = word<Language>(option, value, {{"en", Language::en}, {"zh", Language::zh}});
    } else if (option == "--theme") {
        o.theme = word<ThemeKind>(
            option, value,
            {{"dark", ThemeKind::dark}, {"light", ThemeKind::light}, {"contrast", ThemeKind::contrast}});
    } else if (option == "--scale") {
        o.scale = static_cast<float>(number(option, value, session::kScaleMin, session::kScaleMax));
    } else if (option == "--view") {
        std::map<std::string, ViewKind> views;
        for (const ViewKind kind : view::kViewKinds) views.emplace(view::view_name(kind), kind);
        const bool old = value == kOldNameOfTensors;
        o.view = word<ViewKind>(option, old ? std::string("tensors") : value, views);
        if (old && !o.form) o.form = view::Form::rows;
    } else if (option == "--form") {
        std::map<std::string, view::Form> forms;
        for (const std::string_view form : kFormNames) forms.emplace(form, *view::form_named(form));
        o.form = word<view::Form>(option, value, forms);
        if (!o.view) o.view = view::view_of_form(*o.form);
    } else if (option == "--rank") {
        o.rank = whole(option, value, 0, 1'000'000);
    } else if (option == "--at") {
        o.at = moment(option, value);
    } else if (option == "--clock") {
        o.clock = word<time::ClockKind>(
            option, value,
            {{"modelled", time::ClockKind::modelled}, {"measured", time::ClockKind::measured}});
    } else if (option == "--export") {
        export_kind(value);  // a wrong ending is told before anything runs
        o.export_to = value;
    } else if (option == "--lesson-pages") {
        o.lesson_pages = value;
    } else if (option == "--render") {
        o.render = value;
    } else if (option == "--from") {
        o.from = number(option, value, 0, 1);
    } else if (option == "--to") {
        o.to = number(option, value, 0, 1);
    } else if (option == "--steps") {
        o.steps = trace::step_range(value);
        if (!o.steps) bad(option, value, "10:20");
    } else if (option == "--size") {
        size(o, option, value);
    } else if (option == "--frames") {
        o.frames = whole(option, value, 1, 100000);
    } else if (option == "--fps") {
        o.frames_per_s = whole(option, value, 1, 120);
        o.fps_given = true;
    } else if (option == "--seconds") {
        o.seconds = number(option, value, 0.01, 3600);
        o.seconds_given = true;
    } else if (option == "--film") {
        o.film = word<FilmLook>(option, value, {{"tour", FilmLook::tour}, {"window", FilmLook::window}});
    } else if (option == "--mp4") {
        o.mp4 = value;
    } else if (option == "--bench") {
        o.bench = whole(option, value, 1, 100000);
    } else if (option == "--step") {
        o.lesson_step = whole(option, value, 1, 1000) - 1;
    } else if (option == "--dump-state") {
        o.dump_state = value;
    } else {
        return false;
    }
    return true;
}

bool known(const std::string& option) {
    constexpr const char* kWithValue[] = {
        "--lang",   "--theme", "--scale",   "--view", "--render",       "--from", "--to",         "--size",
        "--frames", "--fps",   "--seconds", "--mp4",  "--bench",        "--step", "--dump-state", "--rank",
        "--at",     "--clock", "--export",  "--form", "--lesson-pages", "--steps",
        "--film"};
    return std::find(std::begin(kWithValue), std::end(kWithValue), option) != std::end(kWithValue);
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
    Options o;
    for (size_t i = 0; i < arguments.size(); ++i) {
        std::string option = arguments[i];
        if (option == "--help" || option == "-h") {
            o.help = true;
        } else if (option == "--version") {
            o.version = true;
        } else if (option == "--bench-app") {
            o.bench_all = true;
        } else if (option == "--reduced-motion") {
            o.reduced_motion = true;
        } else if (option == "--plain") {
            o.plain = true;
        } else if (option == "--force") {
            o.force = true;
        } else if (option.rfind("--", 0) == 0) {
            std::string value;
            bool missing = false;
            const size_t equals = option.find('=');
            if (equals != std::string::npos) {
                value = option.substr(equals + 1);
                option = option.substr(0, equals);
            } else if (i + 1 < arguments.size()) {
                value = arguments[++i];
            } else {
                missing = true;
            }
            if (missing && known(option)) throw InvalidArgument({"app.missing_value", {{"option", option}}});
            if (!set(o, option, value)) throw InvalidArgument({"app.unknown_option", {{"option", option}}});
        } else if (o.open.empty()) {
            o.open = option;
        } else if (o.beside.size() + 2 <= session::kMostRuns) {
            o.beside.push_back(option);
        } else {
            throw InvalidArgument({"app.too_many_files", {{"most", int64_t{session::kMostRuns}}}});
        }
    }
    if (o.form && o.view && view::view_of_form(*o.form) != *o.view) refuse_form(*o.form, *o.view);
    const double from = o.from.value_or(0), to = o.to.value_or(1);
    if (from >= to) throw InvalidArgument({"app.empty_range", {{"from", from}, {"to", to}}});
    if (!o.mp4.empty() && o.render.empty()) throw InvalidArgument({"app.mp4_needs_render", {}});
    if (!o.mp4.empty() && (o.width % 2 != 0 || o.height % 2 != 0))
        throw InvalidArgument({"app.odd_size", {}});
    if (!o.export_to.empty() && o.open.empty()) throw InvalidArgument({"export.needs_file", {}});
    if (o.steps && (o.export_to.empty() || session::export_kind_of(o.export_to) != ExportKind::html))
        throw InvalidArgument({"app.steps_need_page", {}});
    if (!o.lesson_pages.empty() && o.open.empty()) throw InvalidArgument({"app.pages_need_lesson", {}});
    if (o.bench > 0 && o.open.empty()) throw InvalidArgument({"app.bench_needs_file", {}});
    if (!o.render.empty() && o.open.empty()) throw InvalidArgument({"app.render_needs_file", {}});
    return o;
}

}  // namespace meshscope::gui
