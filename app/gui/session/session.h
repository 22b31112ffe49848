#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/session/actions.h"
#include "app/gui/session/document_maker.h"
#include "app/i18n/catalogue.h"
#include "core/scenario/plan_change.h"

namespace meshscope::session {

/// Folders that may hold lessons, in order; those that do not exist are skipped.
struct LessonFolders {
    std::vector<std::string> paths;
    std::string home{};  ///< what "~/" means in a path that is typed; empty: nothing
};

/// The lessons below those folders: sub-folders with a scenario.toml and lesson texts, by name.
std::vector<LessonCard> find_lessons(const LessonFolders& folders);

/// What is known of a thing before it is opened.
struct Preview {
    std::vector<std::string>
        inputs;  ///< every file that opening it reads; "" and missing ones may be among them
    std::optional<int32_t> lesson_steps;  ///< nothing for a trace, which must be read first
};

/// Looks, runs nothing. Throws InputError, IoError, InvalidArgument ("app.lesson_unknown").
Preview preview(const std::string& what, const LessonFolders& folders);

/// Opens a .mscope file, simulates a pipeline's schedule from its CSV, or really runs a scenario file or a
/// lesson (by name, or its folder's), and makes it ready to show. With a `strategy` the scenario (of a
/// .mscope file: the one it was made from) is really run under that data strategy instead
/// (scenario::with_strategy); with `resume` it goes on from that checkpoint. `progress` is called on another
/// thread after each step of a run. Throws InputError, IoError, CommError; InvalidArgument
/// ("app.lesson_unknown") when `what` names nothing.
std::shared_ptr<const Document> load_document(
    const std::string& what, const LessonFolders& folders,
    const std::function<void(int32_t done, int32_t steps)>& progress,
    const std::atomic<bool>* cancel = nullptr, const std::string& strategy = {},
    const std::string& resume = {});

/// The same run played again under the profile in the file `profile` (docs/profile.md), named after it: to
/// stand beside itself. Throws InputError, IoError.
std::shared_ptr<const Document> retimed(const Document& document, const std::string& profile);

/// Opens things on a thread of its own while the window goes on; what comes of it are actions for the state.
class Session {
  public:
    explicit Session(LessonFolders folders);

    /// The lessons, with the texts that the page of lessons searches.
    std::vector<LessonCard> offers() const;
    /// Called from the worker whenever there is news; must be quick and safe from any thread.
    void on_news(std::function<void()> wake);
    /// Starts opening; what was being opened or waits to be is given up. What the scenario compares with
    /// follows by itself.
    void open(const std::string& what);
    /// The same of a scenario that no file holds.
    void open(const RunRequest& text);
    /// Opens one more to stand beside it, after what is being opened.
    void open_beside(const OpenBeside& next);
    /// Plays a run again under the profile in a file, to stand beside it.
    void open_retimed(std::shared_ptr<const Document> document, const std::string& profile);
    /// Makes the modelled run of a plan's layout, and beside it that of the plan's first.
    void open_layout(const std::shared_ptr<const Planned>& plan, const OpenLayout& wanted);
    /// Plans the same model again with something changed.
    void change_plan(const std::shared_ptr<const Planned>& plan, const scenario::PlanChange& change);
    /// Gives up what is being opened and what waits; news() says so when it has stopped.
    void cancel();
    /// What happened since the last call. Errors are told in `language`.
    std::vector<Action> news(const i18n::Catalogue& catalogue, i18n::Language language);

  private:
    struct Job {
        std::string what;
        bool beside = false, look = false;
        std::string strategy = {}, resume = {};
        std::shared_ptr<const Document> retime = {};  ///< play this again under the profile `what`
        std::optional<RunRequest> text = {};          ///< run this; `what` is its name
        std::shared_ptr<const Planned> plan = {};  ///< model its layout number `layout`; `what` is its name
        std::size_t layout = 0;
        std::optional<scenario::PlanChange> change = {};  ///< plan `plan` again, changed so
    };
    /// What came of a job: one of them.
    struct Opened {
        std::shared_ptr<const Document> document;
        std::shared_ptr<const Planned> plan;
    };
    void add(Job job);
    void start(Job job);
    /// What was asked for is there; what it compares with is to follow.
    void show(const Opened& opened, std::vector<Action>& actions);
    LessonFolders folders_;
    std::function<void()> wake_;
    Job job_;                                        ///< the one under way,
    Loading shown_;                                  ///< as it began
    std::unique_ptr<BackgroundMaker<Loading, Opened>> maker_;  ///< null when nothing is under way
    std::deque<Job> waiting_;
};

}  // namespace meshscope::session
