#include "app/gui/view/common.h"

#include <algorithm>

namespace meshscope::view {

int32_t focus_rank(const trace::Trace& trace, const Selection& s) {
    const int32_t rank = s.rank ? *s.rank : s.event_rank ? *s.event_rank : s.asking_rank;
    return std::clamp(rank, 0, std::max(0, static_cast<int32_t>(trace.ranks.size()) - 1));
}

int32_t focus_rank(const Input& input) {
    return focus_rank(input.trace, input.selection);
}

std::vector<std::string> event_labels(const Painter& painter, const trace::Trace& trace,
                                      const trace::Event& event) {
    const std::string unit(trace.text(event.unit));
    const std::string name(trace.text(event.name));
    if (event.kind == trace::EventKind::collective) {
        const std::string op(meshscope::name(event.op));
        return unit.empty() ? std::vector<std::string>{op} : std::vector<std::string>{unit};
    }
    std::string mark;
    switch (event.phase) {
        case Phase::forward:
            if (has_phases(trace)) mark = painter.say("view.mark.forward");
            break;
        case Phase::backward:
            mark = painter.say("view.mark.backward");
            break;
        case Phase::optimizer:
            mark = painter.say("view.mark.optimizer");
            break;
        case Phase::evaluation:
            mark = painter.say("view.mark.evaluation");
            break;
        case Phase::setup:
            mark = "";
            break;
    }
    std::vector<std::string> labels;
    if (!unit.empty() && !name.empty())
        labels.push_back((mark.empty() ? "" : mark + " ") + unit + " " + name);
    if (!unit.empty()) labels.push_back((mark.empty() ? "" : mark + " ") + unit);
    if (unit.empty() && !name.empty()) {
        labels.push_back((mark.empty() ? "" : mark + " ") + name);
        labels.push_back(name);
    }
    if (!mark.empty()) labels.push_back(mark);
    return labels;
}

std::string op_mark(CollectiveOp op) {
    switch (op) {
        case CollectiveOp::all_gather:
            return "AG";
        case CollectiveOp::reduce_scatter:
            return "RS";
        case CollectiveOp::all_reduce:
            return "AR";
        case CollectiveOp::all_to_all:
            return "A2A";
        case CollectiveOp::broadcast:
            return "BC";
        default:
            return std::string(name(op));
    }
}

const trace::Event* selected_event(const Input& input) {
    return selected_event(input.trace, input.selection);
}

const trace::Event* selected_event(const trace::Trace& trace, const Selection& s) {
    if (!s.event_rank || !s.event || *s.event_rank < 0 || *s.event < 0) return nullptr;
    if (static_cast<std::size_t>(*s.event_rank) >= trace.ranks.size()) return nullptr;
    const auto& events = trace.ranks[static_cast<std::size_t>(*s.event_rank)].events;
    return static_cast<std::size_t>(*s.event) < events.size() ? &events[static_cast<std::size_t>(*s.event)]
                                                              : nullptr;
}

bool has_microbatches(const trace::Trace& trace, int32_t rank) {
    const auto& events = trace.ranks[static_cast<std::size_t>(rank)].events;
    return std::any_of(events.begin(), events.end(), [](const auto& e) { return e.microbatch > 0; });
}

bool tells_microbatch(const trace::Trace& trace, int32_t rank, const trace::Event& event) {
    return (event.phase == Phase::forward || event.phase == Phase::backward) && has_microbatches(trace, rank);
}

std::string no_event_id(const trace::Trace& trace, const char* otherwise) {
    return trace.info.level == trace::Level::off ? "view.events.off" : otherwise;
}

bool has_phases(const trace::Trace& trace) {
    constexpr std::size_t kMost = 4096;
    for (const auto& rank : trace.ranks) {
        const std::size_t end = std::min(kMost, rank.events.size());
        for (std::size_t i = 0; i < end; ++i) {
            if (rank.events[i].kind != trace::EventKind::collective) continue;
            return !trace.text(rank.events[i].rule).starts_with("call.");
        }
    }
    return true;
}

bool same_collective(const trace::Event& a, const trace::Event& b) {
    return a.kind == trace::EventKind::collective && b.kind == trace::EventKind::collective &&
           a.group == b.group && a.sequence == b.sequence;
}

Fill event_pattern(CollectiveOp op) {
    if (op == CollectiveOp::reduce_scatter || op == CollectiveOp::scatter) return Fill::hatch;
    return op == CollectiveOp::all_to_all ? Fill::cross_hatch : Fill::solid;
}

void event_bar(Painter& p, const trace::Event& event, const Rect& box, const Id& id) {
    if (event.kind == trace::EventKind::compute) {
        p.rect(box, Token::compute, 3, id);
        return;
    }
    const Token hue = op_hue(event.op);
    auto& bar = p.rect(box, hue, 3, id);
    bar.fill_alpha = 0.26F * p.alpha;
    bar.stroke = hue;
    bar.stroke_alpha = p.alpha;
    bar.width = 1.4F;
    bar.pattern = event_pattern(event.op);
    bar.hatch = hue;
    if (box.w < 8) return;
    switch (event.op) {
        case CollectiveOp::all_gather:
        case CollectiveOp::gather:
            p.rect({box.x, box.y, 3, box.h}, hue, 1);
            break;
        case CollectiveOp::all_reduce:
        case CollectiveOp::reduce:
            p.line({box.x + 3.5F, box.y + 1}, {box.x + 3.5F, box.y + box.h - 1}, hue, 1.4F);
            p.line({box.x + box.w - 3.5F, box.y + 1}, {box.x + box.w - 3.5F, box.y + box.h - 1}, hue, 1.4F);
            break;
        case CollectiveOp::broadcast:
            p.polygon({{box.x, box.y}, {box.x + 5, box.y}, {box.x, box.y + 5}}, hue);
            break;
        case CollectiveOp::send:
        case CollectiveOp::recv: {
            const float right = box.x + box.w - 2, mid = box.y + box.h / 2;
            p.polygon({{right, mid}, {right - 5, mid - 4}, {right - 5, mid + 4}}, hue);
            break;
        }
        default:
            break;
    }
}

void event_bar_words(Painter& p, const trace::Event& event, const Rect& box, const std::string& words,
                     Token colour, Token on, const Id& id) {
    if (event.kind == trace::EventKind::collective && event_pattern(event.op) != Fill::solid) {
        const float w = p.width(words, Face::caption) + 6;
        p.rect({box.x + (box.w - w) / 2, box.y + 1.5F, w, box.h - 3}, Token::panel, 2).fill_alpha = 0.85F;
    }
    p.label(box, words, Face::caption, colour, on, id);
}

}  // namespace meshscope::view
