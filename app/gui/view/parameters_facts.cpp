#include <algorithm>

#include "app/gui/view/format.h"
#include "app/gui/view/parameters_picture.h"
#include "app/gui/view/sheet.h"
#include "core/memory/ledger.h"

namespace meshscope::view {
namespace {

std::string shape_of(const ShownParameter& p) {
    return p.columns == 1 ? format_list({p.rows}) : format_list({p.rows, p.columns});
}

/// What one rank keeps of the parameter: its rows, its numbers, its padding.
void kept_by(FactList& list, const Input& input, const ParametersScene& scene) {
    const ShownParameter& parameter = scene.parameter();
    int64_t numbers = 0, padding = 0, updated = 0;
    std::string rows;
    for (const auto& run : input.trace.ranks[static_cast<std::size_t>(scene.rank)].parameters) {
        if (run.parameter != parameter.id) continue;
        (run.padding != 0 ? padding : numbers) += run.elements;
        if (run.padding == 0 && run.updated != 0) updated += run.elements;
        for (const Block& b : blocks_of(run)) {
            if (!rows.empty()) rows += ", ";
            rows += b.rows == 1 ? std::to_string(b.row)
                                : std::to_string(b.row) + "–" + std::to_string(b.row + b.rows - 1);
            if (b.columns < parameter.columns)
                rows += "[" + std::to_string(b.column) + ":" + std::to_string(b.column + b.columns) + "]";
        }
    }
    const Painter& p = list.p;
    const std::vector<MessageArg> args{arg("rank", scene.rank),
                                       arg("rows", rows),
                                       arg("numbers", format_count(numbers)),
                                       arg("all", format_count(parameter.rows * parameter.columns)),
                                       arg("padding", format_count(padding)),
                                       arg("updated", format_count(updated))};
    list.sentence(p.say(numbers == 0 ? "view.parameters.keeps.nothing" : "view.parameters.keeps", args));
    if (padding > 0) list.sentence(p.say("view.parameters.keeps.padding", args));
    if (scene.parameter().frozen)
        list.sentence(p.say("view.parameters.keeps.frozen", args));
    else if (updated < numbers)
        list.sentence(p.say("view.parameters.keeps.updated", args));
}

void row_of(FactList& list, const Input& input, const ParametersScene& scene) {
    const auto ranks = keepers(input.trace, scene.parameter().id, scene.row);
    const std::vector<int64_t> numbers(ranks.begin(), ranks.end());
    const Painter& p = list.p;
    constexpr std::size_t kMost = 16;  // ranks told one by one
    const std::string who =
        numbers.size() <= kMost
            ? format_list(numbers)
            : p.say("view.parameters.many", {arg("ranks", static_cast<int64_t>(numbers.size()))});
    list.sentence(p.say("view.parameters.row", {arg("row", scene.row), arg("who", who)}), {"row_kept"},
                  Token::text);
}

/// Has the rank the chosen row in this state?
const char* row_here(const Input& input, const ParametersScene& scene, Holding holding) {
    const auto ranks = keepers(input.trace, scene.parameter().id, scene.row);
    const bool own = std::find(ranks.begin(), ranks.end(), scene.rank) != ranks.end();
    switch (holding) {
        case Holding::whole:
        case Holding::gradient:
            return "view.parameters.row.here";
        case Holding::gathering:
        case Holding::reducing:
            return "view.parameters.row.moves";
        default:
            return own ? "view.parameters.row.here" : "view.parameters.row.away";
    }
}

}  // namespace

Picture parameters_facts(const Input& input) {
    FactList list(input);
    const Painter& p = list.p;
    const auto scene = parameters_scene(input);
    if (scene.unit < 0) {
        list.sentence(p.say("view.parameters.none"), {"empty"});
        return list.take();
    }
    const ShownParameter& parameter = scene.parameter();
    list.head(parameter.name + " " + shape_of(parameter), "rank " + std::to_string(scene.rank));
    kept_by(list, input, scene);
    if (scene.row >= 0) row_of(list, input, scene);
    list.head(p.say("view.parameters.life.short", {arg("step", scene.step)}),
              "rank " + std::to_string(scene.rank));
    const ParameterLife life = life_of(input.trace, input.clock, scene.rank, scene.step, parameter);
    if (life.spans.empty()) list.sentence(p.say("view.parameters.no_life"));
    const LifeSpan* now = life.at(input.cursor.t_ns);
    const bool all = keeps_all(input.trace, scene.rank, scene.shown());
    for (const LifeSpan& span : life.spans) {
        std::string note = format_time(span.begin_ns);
        if (span.event >= 0) {
            const auto& event = input.trace.event(scene.rank, span.event);
            note += " · " + memory::what_text(input.trace, event) + " · " +
                    p.say("view.phase." + std::string(name(event.phase)));
        }
        if (scene.row >= 0)
            note += " · " + p.say(row_here(input, scene, span.holding), {arg("row", scene.row)});
        const std::string key = std::string("view.holding.") + name(span.holding);
        const float top = list.y;
        const Id id{span.event >= 0 ? "life" : "", scene.rank, span.event};
        Shape& swatch = list.row(Token::grey, p.say(key), p.say(key + ".short"), "", note, id);
        swatch.stroke = Token::none;
        style_holding(swatch, span.holding, all);
        if (now == nullptr || now->begin_ns != span.begin_ns) continue;
        list.p.line({14, top + 2}, {14, list.y - 4}, Token::accent, 3).id = {"now"};
    }
    return list.take();
}

}  // namespace meshscope::view
