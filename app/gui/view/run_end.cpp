#include "app/gui/view/run_end.h"

#include <algorithm>

#include "app/gui/view/common.h"
#include "app/gui/view/sheet.h"
#include "core/base/one_process.h"
#include "core/base/rank_set.h"
#include "core/base/recorded_failure.h"
#include "core/trace/ended.h"
#include "core/trace/recorded.h"

namespace meshscope::view {
namespace {

using Kind = RunEnd::Kind;

const trace::Event* last_event(const trace::Trace& trace, int32_t rank) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= trace.ranks.size()) return nullptr;
    const auto& events = trace.ranks[static_cast<std::size_t>(rank)].events;
    return events.empty() ? nullptr : &events.back();
}

/// A rank that died or stopped marks the place by itself; in all other cases it is where the ranks stood
/// that could not go on.
bool marks_the_place(const RunEnd& end) {
    return end.diagnosis == DiagnosisKind::lost || end.diagnosis == DiagnosisKind::stalled;
}

/// What a rank stood in: its call, else what it did last.
const trace::Event* stood_in(const RunEnd& end, const trace::Trace& trace, int32_t rank) {
    const RankEnd* stood = end.waits.at(rank);
    const int32_t event = stood == nullptr ? -1 : stood->call >= 0 ? stood->call : stood->last;
    return event < 0 ? last_event(trace, rank) : &trace.event(rank, event);
}

/// The last event of whoever marks the place; of several the latest on the measured clock.
void find_place(RunEnd& end, const trace::Trace& trace) {
    int64_t latest = -1;
    const auto look = [&](int32_t rank, bool of_calls) {
        const trace::Event* event = stood_in(end, trace, rank);
        if (event == nullptr) return;
        const bool call = event->kind == trace::EventKind::collective;
        const RankEnd* stood = end.waits.at(rank);
        if (of_calls && (!call || (stood != nullptr && stood->stands == RankEnd::Stands::finished))) return;
        const int64_t at = call ? event->t_begin_ns : event->t_end_ns;
        if (at <= latest) return;
        latest = at;
        end.at = {rank, event->id};
        end.in_call = call && end.kind == Kind::failed;
    };
    if (marks_the_place(end))
        for (const int32_t rank : end.ranks) look(rank, false);
    // What failed broke off in calls; a record that was cut ends with whatever came last.
    for (const bool of_calls : {true, false}) {
        if (latest >= 0) return;
        if (of_calls && end.kind != Kind::failed) continue;
        for (std::size_t r = 0; r < trace.ranks.size(); ++r) look(static_cast<int32_t>(r), of_calls);
    }
}

/// The step that the run was in: the latest of which any rank recorded anything. A rank that died as it
/// entered a step recorded nothing of it.
void find_step(RunEnd& end, const trace::Trace& trace) {
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        if (const trace::Event* event = last_event(trace, static_cast<int32_t>(r)))
            end.step = std::max(end.step, event->step);
}

/// The last forward of a step, on the first rank that has one: there its loss was made.
void place_in_step(RunEnd& end, const trace::Trace& trace, int32_t step) {
    end.step = step;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        const auto& events = trace.ranks[r].events;
        for (auto e = events.rbegin(); e != events.rend(); ++e)
            if (e->step == step && e->phase == Phase::forward) {
                end.at = {static_cast<int32_t>(r), e->id};
                return;
            }
    }
}

/// The words of these say who it was.
bool says_who(DiagnosisKind kind) {
    return kind == DiagnosisKind::lost || kind == DiagnosisKind::missing || kind == DiagnosisKind::stalled ||
           kind == DiagnosisKind::timeout;
}

/// The words that a diagnosis has of its own, by the end of their ids.
std::string_view kind_words(const RunEnd& end) {
    switch (end.kind) {
        case Kind::failed:
            if (!end.diagnosis || (says_who(*end.diagnosis) && end.ranks.empty())) return "failed";
            return name(*end.diagnosis);
        case Kind::recovered:
            return "recovered";
        case Kind::stopped:
            return "stopped";
        case Kind::not_finite:
            return "not_finite";
    }
    return "failed";
}

std::vector<MessageArg> words_args(const RunEnd& end) {
    return {arg("step", int64_t{end.step}), {"who", rank_list(end.ranks)}};
}

}  // namespace

std::optional<RunEnd> run_end(const trace::Trace& trace, int32_t planned_steps) {
    RunEnd end;
    const trace::RunInfo& info = trace.info;
    const auto not_finite = trace::first_not_finite_step(info);
    const std::optional<Message> what = trace::early_end(info, planned_steps);
    if (!what) return {};
    end.what = *what;
    if (const auto failure = read_failure(info.failure)) {
        end.kind = failure->message.id == trace::kRecovered ? Kind::recovered : Kind::failed;
        end.diagnosis = failure->kind;
        end.by_fault = is_of_one_process(info.backend);
        const auto ranks = static_cast<int32_t>(trace.ranks.size());
        for (const int32_t rank : failure->culprits)
            if (rank < ranks) end.ranks.push_back(rank);
        if (end.kind == Kind::failed) end.waits = wait_graph(trace, *failure);
    } else if (info.failure.empty()) {
        end.kind = not_finite ? Kind::not_finite : Kind::stopped;
    }
    if (end.kind == Kind::not_finite)
        place_in_step(end, trace, *not_finite);
    else
        find_place(end, trace);
    if (end.kind != Kind::not_finite) find_step(end, trace);
    end.unrecorded = trace::unrecorded_ranks(trace);
    return end;
}

int64_t broke_off_ns(const trace::Trace& trace, const time::Clock& clock, const RunEnd& end) {
    int64_t latest = -1;
    for (std::size_t r = 0; r < end.waits.ranks.size(); ++r)
        latest = std::max(latest, stood_ns(clock, end.waits, static_cast<int32_t>(r)));
    if (latest > 0) return latest;
    if (last_event(trace, end.at.rank) == nullptr) return clock.end_ns;
    const time::Interval& at =
        clock.events[static_cast<std::size_t>(end.at.rank)][static_cast<std::size_t>(end.at.event)];
    return end.in_call ? at.begin_ns : at.end_ns;
}

std::optional<int64_t> gone_ns(const time::Clock& clock, const RunEnd& end, int32_t rank) {
    const std::string_view kind = mark_of(end, rank);
    if ((kind != "lost" && kind != "stalled") || end.waits.at(rank) == nullptr) return {};
    return stood_ns(clock, end.waits, rank);
}

int64_t known_until_ns(const trace::Trace& trace, const time::Clock& clock, const RunEnd& end, int32_t rank) {
    if (end.kind != Kind::failed) return clock.end_ns;
    const auto gone = gone_ns(clock, end, rank);
    return gone ? *gone : broke_off_ns(trace, clock, end);
}

bool is_open(const RunEnd& end, int32_t rank, int32_t event) {
    const RankEnd* stood = end.waits.at(rank);
    return stood != nullptr && (std::ranges::binary_search(stood->open, event) || stood->call == event);
}

Message end_title(const RunEnd& end) {
    const std::string id = "view.end.title." + std::string(kind_words(end));
    return {end.step < 0 && end.kind != Kind::stopped && end.kind != Kind::recovered ? id + ".setup" : id,
            words_args(end)};
}

std::vector<Message> end_advice(const RunEnd& end) {
    std::string id = "view.end.advice." + std::string(kind_words(end));
    const bool lost = end.kind == Kind::failed && end.diagnosis == DiagnosisKind::lost && !end.ranks.empty();
    if (lost && end.by_fault) id += ".fault";
    std::vector<Message> lines;
    for (const char* line : {".1", ".2", ".3"}) lines.push_back({id + line, words_args(end)});
    return lines;
}

std::string_view mark_of(const RunEnd& end, int32_t rank) {
    if (!end.diagnosis || end.kind != Kind::failed) return "";
    if (const RankEnd* stood = end.waits.at(rank)) {
        if (stood->stands == RankEnd::Stands::lost) return "lost";
        if (stood->stands == RankEnd::Stands::stalled) return "stalled";
        if (!stood->named) return "";
    }
    const bool otherwise = *end.diagnosis == DiagnosisKind::missing ||
                           *end.diagnosis == DiagnosisKind::mismatch ||
                           *end.diagnosis == DiagnosisKind::corrupt;
    return otherwise && std::ranges::count(end.ranks, rank) > 0 ? name(*end.diagnosis) : "";
}

bool is_marked(const RunEnd& end) {
    for (std::size_t r = 0; r < end.waits.ranks.size(); ++r)
        if (end.waits.ranks[r].stands == RankEnd::Stands::waiting ||
            !mark_of(end, static_cast<int32_t>(r)).empty())
            return true;
    return false;
}

namespace {

/// Side by side where they have room, else one below the other; gives the y below.
float buttons(Painter& p, const BannerOptions& options, Point at, float right) {
    constexpr float kGap = 8;
    const float left = at.x, most = right - left;
    float below = at.y;
    const auto button = [&](const char* words_id, const char* id, bool primary) {
        const std::string words = p.say(words_id);
        if (at.x > left && at.x + p.width(words, Face::body) + 28 > right) at = {left, below + kGap};
        const Rect box = draw_button(p, at, most, words, {id}, primary);
        at.x += box.w + kGap;
        below = std::max(below, box.y + box.h);
    };
    if (const auto fault = button_of(options.without)) button(fault->words, fault->id, fault->primary);
    button("view.end.show", "end_show", false);
    return below;
}

}  // namespace

std::optional<FaultButton> button_of(WithoutFault without) {
    switch (without) {
        case WithoutFault::no:
            return std::nullopt;
        case WithoutFault::offered:
            return FaultButton{"view.end.rerun", "end_rerun", true};
        case WithoutFault::running:
            return FaultButton{"view.end.rerun.going", "end_going", false};
        case WithoutFault::done:
            return FaultButton{"view.end.rerun.compare", "end_compare", true};
    }
    return std::nullopt;
}

Picture run_end_view(const Input& input, const RunEnd& end, const BannerOptions& options) {
    constexpr float kPad = 12, kMark = 26;
    Painter p(input);
    p.picture().content_height = 1e6F;
    const float left = kPad + 12, width = std::max(80.F, input.size.width - 2 * kPad - 24);
    const std::string say = p.say(options.folded ? "view.end.open" : "view.end.fold");
    p.layer = 1;
    float y = 8 + kPad;
    const float line = p.line_height(Face::body);
    p.cross({left + 7, y + line / 2}, 5, Token::err, 1.8F);
    // Folds at the right of the title where both fit in a line, else below.
    const Message title = end_title(end);
    const std::string words = p.say(title.id, title.args);
    const float fold_w = p.width(say, Face::caption) + 16;
    const bool beside = width - kMark - fold_w - 8 >= width * 0.4F;
    const float room = width - kMark - (beside ? fold_w + 8 : 0);
    const auto fold = [&](float at) {
        const Rect box{left + width - fold_w, at, fold_w, std::max(24.F, line)};
        p.rect(box, Token::none, 6, {"end_fold"});
        p.label(box, say, Face::caption, Token::accent, Token::none, {"end_fold"});
    };
    if (beside) fold(y);
    p.tell(words);
    y = p.paragraph(words, {left + kMark, y}, Face::body, Token::text, room);
    if (!beside) {
        fold(y + 4);
        y += std::max(24.F, line) + 4;
    }
    if (!options.folded && options.alone) y = buttons(p, options, {left + kMark, y + 6}, left + width) + 6;
    if (!options.folded) {
        std::string waits;
        for (const Message& sentence : end.waits.sentences)
            waits += (waits.empty() || input.language == Language::zh ? "" : " ") +
                     p.say(sentence.id, sentence.args);
        // The facts beside it have the exact words.
        if (options.alone || waits.empty()) {
            const std::string what = p.say(end.what.id, end.what.args);
            p.tell(what);
            y = p.paragraph(what, {left + kMark, y + 2}, Face::mono_small, Token::soft, width - kMark) + 4;
        }
        if (!end.unrecorded.empty()) {
            const std::string none = p.say("view.end.unrecorded", {{"who", rank_list(end.unrecorded)}});
            p.tell(none);
            y = p.paragraph(none, {left + kMark, y}, Face::body, Token::soft, width - kMark) + 4;
        }
        if (!waits.empty()) {
            p.tell(waits);
            y = p.paragraph(waits, {left + kMark, y}, Face::body, Token::text, width - kMark) + 4;
        }
        if (options.alone)
            for (const Message& advice : end_advice(end)) {
                const std::string step = p.say(advice.id, advice.args);
                p.tell(step);
                y = p.paragraph(step, {left + kMark, y}, Face::body, Token::soft, width - kMark) + 2;
            }
    }
    p.layer = 0;
    auto& frame = p.rect({kPad, 8, input.size.width - 2 * kPad, y + kPad - 8}, Token::inset, 8);
    frame.stroke = Token::err;
    frame.width = 1.4F;
    Picture picture = p.take();
    picture.height = picture.content_height = y + kPad + 4;
    return picture;
}

}  // namespace meshscope::view
