#include "app/gui/main/first_actions.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "app/gui/main/stage.h"
#include "app/gui/view/format.h"
#include "core/base/error.h"

namespace meshscope::gui {

std::vector<session::Action> place_actions(const Options& options, const session::Document& document) {
    std::vector<session::Action> actions;
    if (options.lesson_step >= 0) actions.push_back(session::GoToLessonStep{options.lesson_step});
    if (options.view) actions.push_back(session::SetView{*options.view});
    if (options.form) actions.push_back(session::SetForm{*options.form});
    if (options.clock) actions.push_back(session::SetClock{*options.clock});
    const auto& ranks = document.trace->ranks;
    const int32_t rank = options.rank.value_or(0);
    if (static_cast<size_t>(rank) >= ranks.size())
        throw InvalidArgument({"export.no_such_rank",
                               {{"rank", int64_t{rank}}, {"last", static_cast<int64_t>(ranks.size()) - 1}}});
    if (options.rank) actions.push_back(session::SelectRank{rank});
    if (!options.at) return actions;
    if (!options.at->is_event) {
        const time::ClockKind clock = options.clock.value_or(session::AppState{}.clock);
        const int64_t end = session::clock_of(document, clock).end_ns;
        if (options.at->value > end)
            throw InvalidArgument(
                {"export.no_such_time",
                 {{"time", view::format_time(options.at->value)}, {"end", view::format_time(end)}}});
        actions.push_back(session::SetCursor{options.at->value});
        return actions;
    }
    const auto events = static_cast<int64_t>(ranks[static_cast<size_t>(rank)].events.size());
    if (options.at->value >= events)
        throw InvalidArgument(
            {"export.no_such_event",
             {{"event", options.at->value}, {"rank", int64_t{rank}}, {"last", events - 1}}});
    actions.push_back(session::SelectEvent{{rank, static_cast<int32_t>(options.at->value)}, true});
    return actions;
}

std::vector<session::Action> first_actions(const Options& options,
                                           std::shared_ptr<const session::Document> document,
                                           const Beside& beside) {
    std::vector<session::Action> actions;
    if (options.language) actions.push_back(session::SetLanguage{*options.language});
    if (options.theme) actions.push_back(session::SetTheme{*options.theme});
    if (options.scale) actions.push_back(session::SetScale{*options.scale});
    if (options.reduced_motion) actions.push_back(session::SetReducedMotion{true});
    if (options.plain) actions.push_back(session::SetPlain{true});
    if (!document) return actions;
    // Files given together are looked at together; a lesson says itself when its comparison is to be seen.
    const bool look = !options.beside.empty();
    actions.push_back(session::ShowDocument{document});
    for (const auto& next : beside) actions.push_back(session::AddDocument{next, look});
    for (session::Action& action : place_actions(options, *document)) actions.push_back(std::move(action));
    return actions;
}

void set_up(Stage& stage, const Options& options, std::shared_ptr<const session::Document> document,
            const Beside& beside) {
    for (const session::Action& action : first_actions(options, std::move(document), beside))
        stage.act(action);
}

}  // namespace meshscope::gui
