// The facts column of algorithms side by side.
#include <algorithm>

#include "app/gui/view/algorithms_view.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/predict_call.h"
#include "app/gui/view/sheet.h"
#include "app/gui/view/stepping.h"
#include "core/base/joined.h"

namespace meshscope::view {

Picture algorithms_facts(const Input& input, const AlgorithmsOptions& options) {
    Painter p(input);
    p.grow();
    Sheet sheet(p, FactList::kPad, input.size.width - FactList::kPad, 14);
    const std::vector<AlgorithmRow> rows = algorithm_rows(input, options);
    if (rows.empty()) {
        sheet.paragraph(
            p.say(shown_collective(input) ? "view.algorithms.transfer" : no_collective(input.trace)));
    } else if (!options.sums) {
        sheet.paragraph(p.say("view.algorithms.covered"));
    }
    for (const AlgorithmRow& row : rows) {
        const CallLandings& call = *row.landings;
        const trace::Event& event = row.trace->event(row.call.rank, row.call.event);
        sheet.head(row.name, row.first && options.sums ? p.say(first_words(row)) : "");
        if (call.algorithm != Algorithm::none)
            sheet.paragraph(p.say("view.algorithm." + std::string(name(call.algorithm))), Face::caption);
        if (row.runs.size() > 1)
            sheet.paragraph(p.say("view.algorithms.same", {arg("runs", joined(row.runs))}), Face::caption);
        sheet.space(4);
        if (options.sums) {
            if (call.rounds > 0) sheet.row(p.say("view.algorithms.fact.rounds"), format_count(call.rounds));
            if (row.sent_bytes >= 0)
                sheet.row(p.say("view.algorithms.fact.sent", {arg("rank", int64_t{row.call.rank})}),
                          format_exact_bytes(row.sent_bytes));
            if (const auto formula = byte_formula(*row.trace, event)) {
                const bool agrees = formula->bytes == row.sent_bytes;
                sheet.row(formula->text, format_exact_bytes(formula->bytes), Face::mono_small,
                          agrees     ? Token::ok
                          : row.done ? Token::warn
                                     : Token::mute);
            }
            sheet.row(p.say(input.clock.kind == time::ClockKind::modelled ? "view.algorithms.fact.modelled"
                                                                          : "view.algorithms.fact.measured"),
                      row.done ? format_time(call.length_ns) : p.say("view.algorithms.cut_off"),
                      Face::mono_small, row.done ? Token::text : Token::warn);
            for (const PredictedSize& size : kPredictedSizes)
                if (options.profile != nullptr && size.bytes == options.choice.predicted_bytes)
                    if (const auto takes =
                            predicted_ns(*row.trace, row.call, *options.profile, size.bytes, input.memo))
                        sheet.row(p.say("view.algorithms.fact.predicted", {arg("size", size.words)}),
                                  format_time(*takes), Face::mono_small, Token::soft);
            if (call.all > 0 && !call.landings.empty())
                sheet.row(
                    p.say("view.algorithms.fact.complete"),
                    format_count(call.complete_at(input.cursor.t_ns - rows.front().landings->begin_ns)) +
                        " / " + format_count(call.all));
        }
        sheet.space(12);
    }
    return p.take(sheet.y + 12);
}

}  // namespace meshscope::view
