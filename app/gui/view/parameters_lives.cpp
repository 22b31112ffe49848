#include <algorithm>
#include <cmath>
#include <limits>

#include "app/gui/view/format.h"
#include "app/gui/view/parameters_picture.h"

namespace meshscope::view {
namespace {

constexpr float kBar = 26;  // of shards

/// "1.up.weight" of "layers.1.up.weight": what most parameters of a unit share says nothing.
std::string without_first(const std::string& name) {
    const std::size_t dot = name.find('.');
    return dot == std::string::npos ? name : name.substr(dot + 1);
}

}  // namespace

const trace::Event* first_gather(const trace::Trace& trace, int32_t rank, trace::StringId unit) {
    if (unit == 0) return nullptr;
    for (const auto& e : trace.ranks[static_cast<std::size_t>(rank)].events)
        if (e.kind == trace::EventKind::collective && e.op == CollectiveOp::all_gather && e.unit == unit &&
            e.phase != Phase::setup)
            return &e;
    return nullptr;
}

FlatArray flat_array_of(std::string_view rule) {
    if (rule.starts_with("fsdp1.")) return FlatArray::fsdp1;
    if (rule.starts_with("zero3.")) return FlatArray::zero3;
    return FlatArray::none;
}

const trace::Event* ParametersPicture::gather() const {
    const trace::Event* found = first_gather(in_.trace, scene_.rank, scene_.shown().unit);
    if (found == nullptr) return nullptr;
    // Its shards are what ranks keep: else (ZeRO's buckets) there is nothing to lay side by side.
    int64_t kept = 0;
    for (const auto& run : in_.trace.ranks[static_cast<std::size_t>(scene_.rank)].parameters)
        if (run.unit == scene_.shown().unit) kept += run.elements;
    return kept == found->in_elements ? found : nullptr;
}

bool ParametersPicture::flat() const {
    const trace::Event* event = gather();
    return event != nullptr && flat_array_of(in_.trace.text(event->rule)) != FlatArray::none;
}

float ParametersPicture::shards_height() const {
    const trace::Event* event = gather();
    if (event == nullptr) return 0;
    const auto members = in_.trace.groups[static_cast<std::size_t>(event->group)].ranks.size();
    if ((in_.size.width - 2 * kPad) / static_cast<float>(members) < 3) return 0;  // nothing would be seen
    return 2 * p_.line_height(Face::caption) + kBar + 22;
}

/// The parameters' parts in a rank's shard, and the padding.
void ParametersPicture::shard_runs(Rect shard, int32_t rank, const trace::Event& event) {
    const auto& runs = in_.trace.ranks[static_cast<std::size_t>(rank)].parameters;
    bool odd = false;
    for (std::size_t k = 0; k < runs.size(); ++k) {
        const auto& run = runs[k];
        if (run.unit != event.unit || run.elements == 0) continue;
        const auto x = [&](int64_t at) {
            return std::round(shard.x +
                              shard.w * static_cast<float>(at) / static_cast<float>(event.in_elements));
        };
        const float x0 = x(run.first_in_shard), x1 = x(run.first_in_shard + run.elements);
        const Id id{"run", rank, static_cast<int64_t>(k)};
        p_.layer = kFills;
        auto& s = p_.rect({x0, shard.y, std::max(1.F, x1 - x0), shard.h}, Token::inset, 0, id);
        if (run.padding != 0) {
            s.pattern = s.box.w >= 4 ? Fill::hatch : Fill::solid;
            s.hatch = s.stroke = Token::line2;
            s.stroke_style = Stroke::dashed;
            continue;
        }
        s.fill = Token::blue;
        // Where one parameter ends and the next begins; no paler, for its name is written on it.
        s.fill_alpha = odd ? 0.88F : 1.F;
        s.box.w = std::max(1.F, s.box.w - 1);
        odd = !odd;
        if (run.parameter == scene_.parameter().id) {
            p_.layer = kMarks;
            p_.outline({x0, shard.y, std::max(1.F, x1 - x0), shard.h}, Token::accent, 2);
        }
        const std::string name(in_.trace.text(run.parameter));
        const std::string label =
            p_.fit({name, without_first(name), name.substr(name.rfind('.') + 1)}, Face::caption, x1 - x0 - 8);
        p_.layer = kWords;
        if (!label.empty())
            p_.label({x0 + 4, shard.y, x1 - x0 - 8, shard.h}, label, Face::caption, Token::ink, Token::blue,
                     id);
    }
}

// The unit as it travels: each rank's shard in the order of the group, padding hatched.
void ParametersPicture::shards(Rect box) {
    const trace::Event& event = *gather();
    const auto& members = in_.trace.groups[static_cast<std::size_t>(event.group)].ranks;
    const float line = p_.line_height(Face::caption);
    int64_t padding = 0;
    for (const int32_t rank : members)
        for (const auto& run : in_.trace.ranks[static_cast<std::size_t>(rank)].parameters)
            if (run.unit == event.unit && run.padding != 0) padding += run.elements;
    const auto n = static_cast<int64_t>(members.size());
    const std::vector<MessageArg> args{arg("shard", format_count(event.in_elements)), arg("ranks", n),
                                       arg("padding", format_count(padding)),
                                       arg("all", format_count(event.in_elements * n))};
    const FlatArray array = flat_array_of(in_.trace.text(event.rule));
    const std::string full = p_.say(array == FlatArray::none    ? "view.parameters.shards"
                                    : array == FlatArray::zero3 ? "view.parameters.flat.zero3"
                                                                : "view.parameters.flat",
                                    args);
    const std::string words =
        p_.fit({full, p_.say("view.parameters.shards.short", args)}, Face::caption, box.w);
    p_.layer = kWords;
    if (!words.empty())
        p_.text(words, {box.x, box.y}, Face::caption, array == FlatArray::none ? Token::mute : Token::text,
                Align::left, {"shards"});
    p_.tell(full);
    const float top = box.y + line + 4, wide = box.w / static_cast<float>(members.size()),
                gap = wide > 12 ? 6.F : 1.F;
    float free_x = 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
        const Rect shard{std::round(box.x + wide * static_cast<float>(m)), top, std::round(wide - gap), kBar};
        const int32_t rank = members[m];
        p_.layer = kBack;
        p_.rect(shard, Token::ghost, 2, {"rank", rank});
        shard_runs(shard, rank, event);
        const int64_t mark = mark_of(rank);
        const float symbol = mark >= 0 && shard.w > 40 ? 15.F : 0.F;
        if (symbol > 0) {
            p_.layer = kLines;
            p_.rect({shard.x, shard.y + kBar + 1.5F, shard.w, 3}, Token::soft, 1);
        }
        const std::string who = shard.x >= free_x
                                    ? p_.fit({"rank " + std::to_string(rank), std::to_string(rank)},
                                             Face::caption, std::max(20.F, shard.w - symbol))
                                    : "";
        p_.layer = kWords;
        if (!who.empty() && shard.x + symbol + p_.width(who, Face::caption) <= in_.size.width) {
            if (symbol > 0) p_.symbol({shard.x + 5, top + kBar + 6 + line / 2}, 4.5F, mark, Token::soft);
            p_.text(who, {shard.x + symbol, top + kBar + 6}, Face::caption,
                    rank == scene_.rank ? Token::text : Token::mute, Align::left, {"rank", rank});
            free_x = shard.x + symbol + p_.width(who, Face::caption) + 4;
        }
    }
}

/// One stretch of a rank's lane: what it holds, with its word where it has room.
void ParametersPicture::life(Rect box, int32_t rank, const LifeSpan& span, bool all) {
    const Id id{"life", rank, span.event};
    p_.layer = kFills;
    auto& s = p_.rect(box, Token::ghost, 0, span.event >= 0 ? id : Id{});
    style_holding(s, span.holding, all);
    if (span.holding == Holding::kept || span.holding == Holding::updated) {
        tint(s, Token::blue);  // so that its word is read
        s.pattern = Fill::solid;
    }
    if (s.box.w < 5) {
        s.pattern = Fill::solid;
        s.stroke = Token::none;
    }
    const std::string key = std::string("view.holding.") + name(span.holding);
    const std::string state = p_.fit({p_.say(key), p_.say(key + ".short")}, Face::caption, box.w - 8);
    if (state.empty()) return;
    if (s.pattern == Fill::hatch) tint(s, s.hatch);  // no line goes through the word
    s.pattern = Fill::solid;
    const bool solid = span.holding == Holding::whole || span.holding == Holding::reduced;
    p_.layer = kWords;
    p_.label({box.x + 4, box.y, box.w - 8, box.h}, state, Face::caption, solid ? Token::ink : Token::text,
             solid ? s.fill : Token::none, span.event >= 0 ? id : Id{});
}

// What each rank had of the chosen parameter through the step.
void ParametersPicture::lives(Rect box) {
    const float line = p_.line_height(Face::caption), lane = std::max(24.F, line + 4);
    const std::string name_of_it = scene_.parameter().name;
    const std::string words =
        p_.fit({p_.say("view.parameters.life", {arg("parameter", name_of_it), arg("step", scene_.step)}),
                name_of_it},
               Face::caption, box.w);
    p_.layer = kWords;
    if (!words.empty()) p_.text(words, {box.x, box.y}, Face::caption, Token::mute);
    float y = box.y + line + 6;
    const auto room = static_cast<std::size_t>(std::max(1.F, (box.h - 2 * line - 12) / lane));
    // The chosen rank's column is always among them.
    std::size_t first = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i)
        if (columns_[i].rank == scene_.rank && i >= room) first = i + 1 - room;
    int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
    float label = 0;
    for (std::size_t i = first; i < std::min(columns_.size(), first + room); ++i) {
        label = std::max(label, p_.width(columns_[i].holders.name, Face::caption));
        const auto& spans = columns_[i].lives[scene_.chosen].spans;
        if (spans.empty()) continue;
        begin = std::min(begin, spans.front().begin_ns);
        end = std::max(end, spans.back().end_ns);
    }
    if (begin >= end) return;
    const float x0 = box.x + std::min(label, box.w * 0.25F) + 12, x1 = box.x + box.w;
    const auto x = [&](int64_t t) {
        return std::round(x0 + (x1 - x0) * static_cast<float>(static_cast<double>(t - begin) /
                                                              static_cast<double>(end - begin)));
    };
    const float lanes_y = y;
    for (std::size_t i = first; i < std::min(columns_.size(), first + room); ++i) {
        const Column& c = columns_[i];
        const std::string who =
            p_.fit({c.holders.name, std::to_string(c.rank)}, Face::caption, x0 - box.x - 8);
        p_.layer = kWords;
        if (!who.empty())
            p_.label({box.x, y, x0 - box.x - 8, lane}, who, Face::caption,
                     c.rank == scene_.rank ? Token::text : Token::mute, Token::none, {"rank", c.rank},
                     Align::left);
        const bool all = keeps_all(in_.trace, c.rank, scene_.shown());
        for (const LifeSpan& span : c.lives[scene_.chosen].spans) {
            const float left = x(span.begin_ns), width = std::max(1.F, x(span.end_ns) - left);
            life({left, y + 3, width, lane - 6}, c.rank, span, all);
        }
        y += lane;
    }
    if (in_.cursor.t_ns >= begin && in_.cursor.t_ns <= end) {
        p_.layer = kMarks;
        const float at = x(in_.cursor.t_ns);
        p_.line({at, lanes_y - 2}, {at, y + 2}, Token::accent, 2).id = {"cursor"};
    }
    p_.layer = kWords;
    const std::string time = format_time(in_.cursor.t_ns);
    const float half = p_.width(time, Face::mono_small) / 2;
    p_.try_text(time, {std::clamp(x(in_.cursor.t_ns), x0 + half, std::max(x0 + half, x1 - half)), y + 2},
                Face::mono_small, Token::accent, Align::centre);
    p_.try_text(format_time(begin), {x0, y + 2}, Face::mono_small, Token::mute);
    p_.try_text(format_time(end), {x1, y + 2}, Face::mono_small, Token::mute, Align::right);
}

}  // namespace meshscope::view
