#include "app/cli/page_export.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <regex>
#include <string_view>

#include "app/html/page.h"
#include "core/base/error.h"
#include "core/base/view_words.h"
#include "core/trace/excerpt.h"
#include "core/trace/recorded.h"
#include "core/trace/store.h"
#include "core/trace/trace_bytes.h"

namespace meshscope::cli {
namespace {

using Words = std::vector<std::string_view>;

[[noreturn]] void refuse(const std::string& option, const std::string& value, const std::string& wanted) {
    throw UsageError({"app.bad_value", {{"option", option}, {"value", value}, {"wanted", wanted}}});
}

void one_of(const std::string& option, const std::string& value, const Words& words) {
    if (std::ranges::find(words, value) != words.end()) return;
    std::string wanted;
    for (const std::string_view word : words) wanted += (wanted.empty() ? "" : ", ") + std::string(word);
    refuse(option, value, wanted);
}

/// Digits alone, of a number that is at most `most`.
bool counts(const std::string& value, int64_t most) {
    constexpr std::size_t kDigits = 12;
    return !value.empty() && value.size() <= kDigits &&
           value.find_first_not_of("0123456789") == std::string::npos && std::stoll(value) <= most;
}

int64_t ranks_of(const trace::Trace& trace) {
    return static_cast<int64_t>(trace.ranks.size());
}

/// What the page would tell of only when somebody opens it: an option of what is shown first.
void check(const std::string& option, const std::string& value, const PageExport& asked,
           const trace::Trace& trace) {
    if (option == "--view") {
        Words views(kViewNames.begin(), kViewNames.end());
        views.push_back(kOldNameOfTensors);
        one_of(option, value, views);
    } else if (option == "--form") {
        one_of(option, value, Words(kFormNames.begin(), kFormNames.end()));
    } else if (option == "--clock") {
        one_of(option, value, {"modelled", "measured"});
    } else if (option == "--theme") {
        one_of(option, value, {"dark", "light", "contrast"});
    } else if (option == "--rank") {
        if (!counts(value, ranks_of(trace) - 1))
            refuse(option, value, "0 … " + std::to_string(ranks_of(trace) - 1));
    } else if (option == "--step") {
        if (!counts(value, 1000) || value == "0") refuse(option, value, "1 … 1000");
    } else if (option == "--scale") {
        static const std::regex kScale(R"(0?\.7[5-9]\d*|0?\.[89]\d*|[12](\.\d*)?|3(\.0*)?)");
        if (!std::regex_match(value, kScale)) refuse(option, value, "0.75 … 3");
    } else if (option == "--at") {
        static const std::regex kTime(R"(\d{1,9}(\.\d*)?(ns|us|µs|ms|s))");
        const auto named = std::ranges::find(asked.place, "--rank");
        const std::size_t rank = named == asked.place.end() ? 0 : std::stoul(*(named + 1));
        const auto events = static_cast<int64_t>(trace.ranks.at(rank).events.size());
        if (!counts(value, events - 1) && !std::regex_match(value, kTime))
            refuse(
                option, value,
                (events > 0 ? "0 … " + std::to_string(events - 1) + ", " : "") + "300ns, 4.2us, 12.5ms, 1s");
    }
}

std::optional<trace::StepRange> steps_of(const std::string& text) {
    if (text.empty()) return {};
    const auto steps = trace::step_range(text);
    if (!steps) refuse("--steps", text, "10:20");
    return steps;
}

}  // namespace

trace::Trace read_with_events(const std::string& path) {
    trace::Trace trace = trace::read_trace(path);
    if (trace.info.level == trace::Level::off)
        throw InvalidArgument({"query.not_recorded",
                               {{"what", std::string("events")},
                                {"level", std::string(name(trace.info.level))},
                                {"least", std::string(name(trace::Level::collectives))}}});
    return trace;
}

void export_page(const PageExport& asked, CommandContext& context) {
    const std::optional<trace::StepRange> steps = steps_of(asked.steps);
    const std::string page = html::find_page(context.environment("MESHSCOPE_PAGE"), context.program_folder);
    const trace::Trace trace = read_with_events(asked.file);
    const Polling polling(context);
    const std::optional<trace::Trace> part = html::part_for_page(trace, steps, context.catalogue);
    // Checked in the order of the table, in which --rank stands before --at.
    for (std::size_t i = 0; i + 1 < asked.place.size(); i += 2)
        check(asked.place[i], asked.place[i + 1], asked, part ? *part : trace);
    html::PageRecord record{asked.file.substr(asked.file.rfind('/') + 1), html::place_of(asked.place)};
    record.place.emplace_back("lang", i18n::name(context.language));
    const std::string bytes = trace::trace_bytes(part ? *part : trace);
    const auto go_on = [&] {
        if (context.cancelled && *context.cancelled) throw Cancelled({"cli.trace.export_cancelled", {}});
    };
    if (asked.out == "-")
        html::write_page(bytes, record, page, [&](std::string_view text) {
            go_on();
            context.out << text;
        });
    else
        html::export_page(bytes, record, page, asked.out, go_on);
    if (asked.out != "-") context.err << context.text("cli.trace.written", {{"path", asked.out}}) << '\n';
}

}  // namespace meshscope::cli
