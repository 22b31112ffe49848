#include "core/scenario/evaluate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/base/digits.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/scenario/estimated.h"
#include "core/time/exposed.h"
#include "core/time/step.h"
#include "core/trace/recorded.h"

namespace meshscope::scenario {
namespace {

constexpr std::array<std::string_view, 8> kFigures{"step_ms",    "compute_ms",     "communication_ms",
                                                   "exposed_ms", "bubble_percent", "mfu_percent",
                                                   "events_us",  "hops_us"};

/// The data sheet's peak for the products of a dtype: what large ones reach, and what the profile says they
/// do not.
double peak_of(const time::Profile& profile, DType dtype) {
    const double reached = time::peak_flops_per_s(profile, "linear", dtype);
    const double stated = profile.bfloat16_peak_flops_per_s;
    return stated > 0 ? reached * stated / profile.bfloat16_flops_per_s : reached;
}

/// Operations of matrix products and attention in forward and backward of a step on all ranks, each as a
/// part of its dtype's peak: seconds at that peak. What runs again is no work of the model's.
double seconds_at_peak(const trace::Trace& trace, const time::Profile& profile, int32_t step) {
    double seconds = 0;
    for (const trace::RankTrace& rank : trace.ranks)
        for (const trace::Event& event : rank.events) {
            if (event.kind != trace::EventKind::compute || event.step != step || event.flops == 0) continue;
            const std::string_view name = trace.text(event.name);
            if (time::is_product(name) && !name.ends_with(".recompute"))
                seconds += static_cast<double>(event.flops) / peak_of(profile, event.dtype);
        }
    return seconds;
}

double milliseconds(int64_t ns) {
    return static_cast<double>(ns) / 1e6;
}

/// "16,093.5", as printf('%,d') of a lesson's SQL writes its numbers.
std::string with_decimals(double value, int32_t decimals) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(decimals), value);
    return grouped(text.data());
}

/// From the first begin to the last end of the hops of one collective that its rank received; nothing where
/// it received none.
int64_t hops_ns(const trace::RankTrace& rank, const std::vector<time::Interval>& hops, int32_t event) {
    time::Interval span;
    bool found = false;
    for (std::size_t h = 0; h < rank.hops.size(); ++h) {
        if (rank.hops[h].event != event) continue;
        span.begin_ns = found ? std::min(span.begin_ns, hops[h].begin_ns) : hops[h].begin_ns;
        span.end_ns = found ? std::max(span.end_ns, hops[h].end_ns) : hops[h].end_ns;
        found = true;
    }
    return span.end_ns - span.begin_ns;
}

using trace::Cell;
using trace::TraceDatabase;

bool is_true(const Cell& cell) {
    if (const auto* n = std::get_if<int64_t>(&cell)) return *n != 0;
    if (const auto* x = std::get_if<double>(&cell)) return *x != 0.0;
    return false;
}

/// Whole digits with commas between thousands, "7,168", without them; nothing where the commas stand
/// elsewhere.
std::optional<std::string> without_commas(std::string_view digits) {
    std::string plain;
    std::size_t since = 0;  // the comma before
    for (std::size_t i = 0; i <= digits.size(); ++i) {
        if (i < digits.size() && digits[i] != ',') {
            plain += digits[i];
            continue;
        }
        const std::size_t length = i - since;
        const bool first = since == 0, last = i == digits.size();
        if (!(first && last) && (first ? length < 1 || length > 3 : length != 3)) return std::nullopt;
        since = i + 1;
    }
    return plain;
}

/// A number as people write it: "7168", "7,168", "7168 B", "−1.5" (the minus sign of print).
std::optional<double> to_number(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789";
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    bool negative = false;
    for (const std::string_view sign : {"-", "−", "+"})
        if (text.starts_with(sign)) {
            negative = sign != "+";
            text.remove_prefix(sign.size());
            break;
        }
    const std::size_t whole = std::min(text.find_first_not_of("0123456789,"), text.size());
    const std::optional<std::string> plain = without_commas(text.substr(0, whole));
    if (!plain || (plain->empty() && !text.starts_with('.'))) return std::nullopt;
    const std::string number = *plain + std::string(text.substr(whole));
    const char* const end = number.data() + number.size();
    double value = 0;
    const auto [stop, error] = std::from_chars(number.data(), end, value);
    const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    if (error != std::errc() || unit.find_first_of(kDigits) != unit.npos ||
        unit.find_first_of(",.") != unit.npos)
        return std::nullopt;
    return negative ? -value : value;
}

/// A list of ranks in ascending order, each once; nothing when an item is no rank.
std::optional<std::vector<int64_t>> rank_set(const std::string& text) {
    std::vector<int64_t> ranks;
    for (const std::string& item : list_items(text)) {
        int64_t rank = 0;
        const auto [stop, error] = std::from_chars(item.data(), item.data() + item.size(), rank);
        if (error != std::errc() || stop != item.data() + item.size()) return std::nullopt;
        ranks.push_back(rank);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

Answer ask(const TraceDatabase& database, const std::string& sql) {
    try {
        return {trace::to_text(database.value(sql)), {}};
    } catch (const Error& error) {
        return {"", error.message()};
    }
}

Answer read_clock(ModelledClocks& clocks, const LessonNumber& number) {
    try {
        return {clocks.text(number), {}};
    } catch (const Error& error) {
        return {"", error.message()};
    }
}

Answer read_estimate(Estimates& estimates, const LessonNumber& number) {
    try {
        return {with_decimals(estimates.value(*number.estimate), number.decimals), {}};
    } catch (const InputError& error) {
        return {"", error.diagnostics().front().message};
    } catch (const Error& error) {
        return {"", error.message()};
    }
}

std::string right_choice(const Scenario::Quiz& quiz) {
    const auto right =
        std::find_if(quiz.choices.begin(), quiz.choices.end(), [](const auto& c) { return c.right; });
    return std::to_string(right - quiz.choices.begin());
}

}  // namespace

std::span<const std::string_view> modelled_figures() {
    return kFigures;
}

bool is_of_events(std::string_view figure) {
    return figure == "events_us" || figure == "hops_us";
}

bool is_of_a_rank(std::string_view figure) {
    return !is_of_events(figure) && figure != "step_ms" && figure != "mfu_percent";
}

const time::Clock& ModelledClocks::clock(const time::Profile& profile) {
    if (trace_.info.level == trace::Level::off)
        throw InvalidArgument({"query.not_recorded",
                               {{"what", std::string("collectives, compute")},
                                {"level", std::string(name(trace_.info.level))},
                                {"least", std::string(name(trace::Level::collectives))}}});
    const auto found = played_.find(profile.name);
    if (found != played_.end()) return found->second;
    return played_.emplace(profile.name, time::modelled(trace_, profile)).first->second;
}

double ModelledClocks::of_step(const LessonNumber& number, const time::Clock& clock) const {
    const int32_t step = std::max(0, trace_.info.steps - 1);  // as run::summarize has it
    if (number.modelled == "step_ms" || number.modelled == "mfu_percent") {
        const double ms = milliseconds(time::step_ns(trace_, clock, step));
        if (number.modelled == "step_ms") return ms;
        const time::Profile& profile = number.hardware ? *number.hardware : hardware_;
        return 100 * seconds_at_peak(trace_, profile, step) /
               (ms / 1e3 * static_cast<double>(trace_.ranks.size()));
    }
    if (number.modelled == "bubble_percent")
        return 100 * time::bubble(trace_, clock, number.rank, step, true).share();
    const time::Overlap overlap = time::overlap(trace_, clock, number.rank, step);
    if (number.modelled == "compute_ms") return milliseconds(overlap.compute_ns);
    return milliseconds(number.modelled == "exposed_ms" ? overlap.exposed_ns : overlap.communication_ns);
}

double ModelledClocks::of_events(const LessonNumber& number, const time::Clock& clock) const {
    int64_t ns = 0;
    for (const std::vector<trace::Cell>& row : database_.query(number.sql).rows) {
        const auto* rank = row.size() == 2 ? std::get_if<int64_t>(&row[0]) : nullptr;
        const auto* id = row.size() == 2 ? std::get_if<int64_t>(&row[1]) : nullptr;
        constexpr int64_t kMost = int64_t{1} << 31;
        if (!rank || !id || *rank < 0 || *rank >= kMost || *id < 0 || *id >= kMost)
            throw InvalidArgument({"scenario.modelled_rows", {{"id", number.id}}});
        const trace::Event& event = trace_.event(static_cast<int32_t>(*rank), static_cast<int32_t>(*id));
        const auto r = static_cast<std::size_t>(*rank);
        const time::Interval& whole = clock.events[r][static_cast<std::size_t>(event.id)];
        ns += number.modelled == "hops_us" ? hops_ns(trace_.ranks[r], clock.hops[r], event.id)
                                           : whole.end_ns - whole.begin_ns;
    }
    return static_cast<double>(ns) / 1e3;
}

std::string ModelledClocks::text(const LessonNumber& number) {
    const time::Clock& played = clock(number.hardware ? *number.hardware : hardware_);
    const double value = is_of_events(number.modelled) ? of_events(number, played) : of_step(number, played);
    return with_decimals(value, number.decimals);
}

std::vector<std::string> list_items(const std::string& text) {
    std::vector<std::string> items(1);
    const std::string_view rest = text;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        const char c = rest[i];
        const std::string_view three = rest.substr(i, 3);
        if (three == "，" || three == "、") {
            items.emplace_back();
            i += 2;
        } else if (c == ',' || c == ' ' || c == '\t') {
            items.emplace_back();
        } else if (c != '[' && c != ']' && c != '(' && c != ')') {
            items.back() += c;
        }
    }
    items.erase(std::remove(items.begin(), items.end(), ""), items.end());
    return items;
}

bool same_items(const std::string& a, const std::string& b) {
    return std::ranges::equal(list_items(a), list_items(b), equal_ignoring_case);
}

std::vector<CheckResult> run_checks(const Scenario& scenario, const TraceDatabase& database) {
    std::vector<CheckResult> results;
    for (const Scenario::Check& check : scenario.checks) {
        CheckResult result{check.id, check.title, check.at, false, "", {}};
        try {
            const Cell cell = database.value(check.sql);
            result.passed = is_true(cell);
            if (const auto* text = std::get_if<std::string>(&cell))
                result.error = Message{"scenario.check_no_number", {{"value", *text}}};
            result.value = std::holds_alternative<std::monostate>(cell) ? "NULL" : trace::to_text(cell);
        } catch (const Error& error) {
            result.error = error.message();
        }
        results.push_back(std::move(result));
    }
    return results;
}

std::map<std::string, Answer> read_numbers(const std::vector<LessonNumber>& wanted, const trace::Trace& trace,
                                           const TraceDatabase& database, const time::Profile& hardware) {
    std::map<std::string, Answer> numbers;
    ModelledClocks clocks(trace, database, hardware);
    Estimates estimates;
    for (const LessonNumber& number : wanted) {
        Answer answer = number.estimate           ? read_estimate(estimates, number)
                        : number.modelled.empty() ? ask(database, number.sql)
                                                  : read_clock(clocks, number);
        if (!answer.error && answer.text.empty())
            answer.error = Message{"scenario.number_empty", {{"id", number.id}}};
        numbers[number.id] = std::move(answer);
    }
    return numbers;
}

std::map<std::string, Answer> read_numbers(const Scenario& scenario, const trace::Trace& trace,
                                           const TraceDatabase& database) {
    return read_numbers(scenario.numbers, trace, database, scenario.hardware);
}

Answer quiz_answer(const Scenario::Quiz& quiz, const TraceDatabase& database) {
    if (quiz.kind == "choice" && quiz.answer.empty()) return {right_choice(quiz), {}};
    Answer answer = ask(database, quiz.answer);
    if (answer.error) return answer;
    const bool usable = quiz.kind == "ranks"    ? rank_set(answer.text) && !rank_set(answer.text)->empty()
                        : quiz.kind == "number" ? to_number(answer.text).has_value()
                                                : !answer.text.empty();
    if (!usable) {
        answer.error = Message{"scenario.answer_unusable", {{"quiz", quiz.id}, {"answer", answer.text}}};
    } else if (quiz.kind == "choice" && answer.text != right_choice(quiz)) {
        answer.error = Message{"scenario.quiz_disagrees",
                               {{"quiz", quiz.id}, {"answer", answer.text}, {"marked", right_choice(quiz)}}};
    }
    return answer;
}

bool is_right(const Scenario::Quiz& quiz, const std::string& answer, const std::string& given) {
    return is_right(quiz.kind, quiz.tolerance, answer, given);
}

bool is_right(std::string_view kind, double tolerance, const std::string& answer, const std::string& given) {
    if (kind == "number") {
        const std::optional<double> right = to_number(answer), guess = to_number(given);
        return right && guess && std::abs(*right - *guess) <= tolerance;
    }
    if (kind == "ranks") {
        const auto right = rank_set(answer), guess = rank_set(given);
        return right && guess && *right == *guess;
    }
    return same_items(answer, given);
}

bool is_readable(const Scenario::Quiz& quiz, const std::string& given) {
    return is_readable(quiz.kind, quiz.choices.size(), given);
}

bool is_readable(std::string_view kind, std::size_t choices, const std::string& given) {
    if (kind == "number") return to_number(given).has_value();
    if (kind == "ranks") {
        const auto ranks = rank_set(given);
        return ranks && !ranks->empty();
    }
    if (kind != "choice") return !list_items(given).empty();
    const std::optional<double> index = to_number(given);
    return index && *index >= 0 && *index < static_cast<double>(choices);
}

std::string rounded_answer(const std::string& answer, double tolerance) {
    const std::optional<double> value = to_number(answer);
    if (!value || tolerance <= 0) return answer;
    const int digits = std::clamp(static_cast<int>(std::ceil(1 - std::log10(tolerance))), 0, 12);
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f", digits, *value);
    // What is as short already, such as a whole number, is left alone.
    return answer.size() <= std::strlen(text) ? answer : text;
}

const Text* hint_for_answer(const Scenario::Quiz& quiz, const std::string& given) {
    if (quiz.kind == "choice") {
        const std::optional<double> index = to_number(given);
        if (!index || *index < 0 || *index >= static_cast<double>(quiz.choices.size())) return nullptr;
        const Text& hint = quiz.choices[static_cast<std::size_t>(*index)].hint;
        return hint.en.empty() && hint.zh.empty() ? nullptr : &hint;
    }
    for (const Scenario::Quiz::Hint& hint : quiz.hints)
        if (is_right(quiz, hint.when, given)) return &hint.text;
    return nullptr;
}

std::optional<StepEvent> step_event(const Scenario::LessonStep& step, const TraceDatabase& database,
                                    const trace::Trace& trace) {
    if (step.at.empty()) return std::nullopt;
    const trace::QueryResult result = database.query(step.at);
    std::vector<Cell> cells;
    if (!result.rows.empty()) cells = result.rows.front();
    double part = 0.5;
    if (cells.size() == 3) {
        const std::optional<double> given = to_number(trace::to_text(cells.back()));
        part = given ? *given : -1;
        cells.pop_back();
    }
    std::vector<int64_t> numbers;
    for (const Cell& cell : cells)
        if (const auto* n = std::get_if<int64_t>(&cell)) numbers.push_back(*n);
    if (numbers.size() != cells.size() || numbers.empty() || numbers.size() > 2 || !(part >= 0 && part <= 1))
        throw InvalidArgument({"scenario.at_unusable", {{"step", step.id}}});
    const int64_t rank = numbers.size() == 2 ? numbers[0] : 0;
    const int64_t id = numbers.back();
    constexpr int64_t kMost = int64_t{1} << 31;
    if (rank < 0 || rank >= kMost || id < 0 || id >= kMost)
        throw InvalidArgument({"scenario.at_unusable", {{"step", step.id}}});
    const StepEvent event{static_cast<int32_t>(rank), static_cast<int32_t>(id), part};
    trace.event(event.rank, event.event);
    return event;
}

}  // namespace meshscope::scenario
