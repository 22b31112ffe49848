#include "app/gui/session/live_run.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <tuple>

#include "app/gui/session/background.h"
#include "app/gui/session/held_world.h"
#include "app/gui/session/lesson_document.h"
#include "app/i18n/error_text.h"
#include "backends/registry.h"
#include "core/run/run.h"

namespace meshscope::session {
namespace {

using comm::NextStep;
using TracePointer = std::shared_ptr<const trace::Trace>;
using Stands = view::LiveRank::Stands;

/// What a run left, and how it ended.
struct Left {
    TracePointer trace;
    std::exception_ptr error;
};

Left run_held(const scenario::Scenario& scenario, Held& held, comm::InterleavingScheduler& scheduler) {
    Left left;
    const auto registry = backends::make_registry();
    const HeldBackends backends(*registry, held);
    run::RunOptions options;
    options.backend = backends::window_backend();
    options.level = trace::Level::values;
    options.scheduler = &scheduler;
    options.cancel = &held.leave;
    options.on_failure = [&](const TracePointer& so_far) { left.trace = so_far; };
    try {
        left.trace = run::run_scenario(scenario, backends, options).trace;
    } catch (...) {
        left.error = std::current_exception();
    }
    return left;
}

/// Chooses as was chosen before; then the world is left.
class Again final : public comm::InterleavingScheduler {
  public:
    Again(const std::vector<int32_t>& choices, Held& held) : choices_(choices), held_(held) {}
    std::size_t choose(std::span<const NextStep> runnable) override {
        if (at_ >= choices_.size()) {
            held_.leave = true;
            return 0;
        }
        const int32_t rank = choices_[at_++];
        for (std::size_t i = 0; i < runnable.size(); ++i)
            if (runnable[i].rank.value == rank) return i;
        return 0;
    }

  private:
    const std::vector<int32_t>& choices_;
    Held& held_;
    std::size_t at_ = 0;
};

/// What a run had recorded after these choices: as of a run that failed there, so that its calls that nobody
/// has come to yet last to the end of the record.
TracePointer trace_after(const scenario::Scenario& scenario, const std::vector<int32_t>& choices) {
    Held held(static_cast<std::size_t>(scenario::world_size(scenario)));
    Again again(choices, held);
    return run_held(scenario, held, again).trace;
}

/// Which call a rank is in.
using CallKey = std::tuple<int32_t, int32_t, int>;
CallKey key_of(const comm::IssuedCall* call) {
    if (call == nullptr || !call->group) return {-1, -1, -1};
    return {call->group->index, call->sequence, static_cast<int>(call->op)};
}

}  // namespace

/// Holds every rank until it is told whom to let go. choose() is called by one rank's thread at a time, while
/// no rank runs.
struct LiveRun::Worker final : public comm::InterleavingScheduler {
    Worker(RunRequest asked, std::shared_ptr<const scenario::Scenario> read, std::function<void()> wake)
        : request(std::move(asked)),
          scenario(std::move(read)),
          held(static_cast<std::size_t>(scenario::world_size(*scenario))),
          wake_(std::move(wake)) {
        for (std::size_t r = 0; r < held.gone.size(); ++r) {
            ranks_.emplace_back();
            ranks_.back().rank = static_cast<int32_t>(r);
            ranks_.back().next = "start";
        }
    }
    ~Worker() override {
        leave();
        background.reset();
    }

    void leave() {
        {
            const std::lock_guard guard(lock);
            held.leave = true;
        }
        if (background) background->notify();
    }

    void let_go(const LetGo& how) {
        {
            const std::lock_guard guard(lock);
            if (!waits_) return;
            command = how;
        }
        background->notify();
    }

    std::size_t choose(std::span<const NextStep> runnable) override {
        if (held.leave || held.failed) return 0;
        look(runnable);
        std::optional<std::size_t> chosen = goes_on(runnable);
        if (!chosen) {
            // Only now, and not before each act: making it costs a run.
            beside_->with_room([&] {
                const TracePointer so_far = trace_after(*scenario, choices_);
                {
                    const std::lock_guard guard(lock);
                    waits_ = true;  // before it is told: the answer may come at once
                }
                publish(so_far, false, {});
            });
            std::unique_lock guard(lock);
            beside_->wait(guard, [&] { return command.has_value() || held.leave; });
            waits_ = false;
            if (held.leave) return 0;
            present_ = *command;
            command.reset();
            chosen = begin(runnable);
        }
        const NextStep& next = runnable[*chosen];
        did_message_ = (next.what == NextStep::What::post || next.what == NextStep::What::receive) &&
                       next.channel.carries_tensors();
        last_ = next.rank.value;
        choices_.push_back(last_);
        return *chosen;
    }

    void run(Background& beside) {
        beside_ = &beside;
        const Left left = run_held(*scenario, held, *this);
        if (held.leave) return;
        std::optional<Diagnosis> diagnosis;
        try {
            if (left.error) std::rethrow_exception(left.error);
        } catch (const DiagnosedError& error) {
            diagnosis = error.diagnosis();
        } catch (...) {
            const std::lock_guard guard(lock);
            failure = left.error;
        }
        publish(left.trace, true, diagnosis);
    }

    const RunRequest request;
    const std::shared_ptr<const scenario::Scenario> scenario;
    Held held;
    std::mutex lock;  // of what follows
    std::optional<LetGo> command;
    std::optional<LiveState> state;  ///< news
    std::exception_ptr failure;
    std::optional<Background> background;

  private:
    static std::optional<std::size_t> viewpoint_of(std::span<const NextStep> runnable, int32_t rank) {
        for (std::size_t i = 0; i < runnable.size(); ++i)
            if (runnable[i].rank.value == rank) return i;
        return {};
    }

    static view::LiveRank::Carries carries_of(const NextStep& next) {
        using Carries = view::LiveRank::Carries;
        const bool message = next.what == NextStep::What::post || next.what == NextStep::What::receive;
        if (!message || next.channel.carries_tensors()) return Carries::tensor;
        return next.channel.value < 0 ? Carries::fingerprint : Carries::checksum;
    }

    /// How a rank's run ended.
    Stands end_of(int32_t rank, const std::optional<Diagnosis>& diagnosis) const {
        if (!held.broke[static_cast<std::size_t>(rank)]) return Stands::gone;
        const bool culprit = diagnosis && std::find(diagnosis->culprits.begin(), diagnosis->culprits.end(),
                                                    rank) != diagnosis->culprits.end();
        return culprit || held.first == rank ? Stands::failed : Stands::stopped;
    }

    /// Who could go on is held; who is missing waits for what it did last, or is gone.
    void look(std::span<const NextStep> runnable) {
        for (view::LiveRank& rank : ranks_) {
            const auto at = static_cast<std::size_t>(rank.rank);
            rank.stands = held.gone[at] ? Stands::gone : Stands::waiting;
        }
        for (const NextStep& next : runnable) {
            view::LiveRank& rank = ranks_[static_cast<std::size_t>(next.rank.value)];
            rank.stands = Stands::held;
            rank.next = comm::name(next.what);
            rank.peer = next.what == NextStep::What::start ? -1 : next.peer.value;
            rank.bytes = next.bytes;
            rank.carries = carries_of(next);
            rank.call = next.call != nullptr ? comm::report_of(*next.call) : CallReport{};
        }
    }

    /// The rank whose turn it is under the present order; nothing: it is fulfilled.
    std::optional<std::size_t> goes_on(std::span<const NextStep> runnable) {
        if (!present_) return {};
        if (present_->how == LetGoHow::all) return in_turn(runnable);
        const auto at = viewpoint_of(runnable, present_->rank);
        if (!at) return {};  // it waits, or is done
        if (present_->how == LetGoHow::hop) return did_message_ ? std::nullopt : at;
        const CallKey now = key_of(runnable[*at].call);
        const bool another = runnable[*at].call != nullptr && now != began_in_;
        return another ? std::nullopt : at;
    }

    std::optional<std::size_t> begin(std::span<const NextStep> runnable) {
        did_message_ = false;
        if (present_->how == LetGoHow::all) return in_turn(runnable);
        const auto at = viewpoint_of(runnable, present_->rank);
        if (at) began_in_ = key_of(runnable[*at].call);
        // A rank that cannot go on is not let go; the panel does not offer it.
        return at ? at : in_turn(runnable);
    }

    /// Each in its turn, so that no rank runs far ahead.
    std::size_t in_turn(std::span<const NextStep> runnable) const {
        for (std::size_t i = 0; i < runnable.size(); ++i)
            if (runnable[i].rank.value > last_) return i;
        return 0;
    }

    void publish(const TracePointer& trace, bool ended, const std::optional<Diagnosis>& diagnosis) {
        LiveState now;
        now.name = request.name;
        now.world.ranks = ranks_;
        now.world.acts = static_cast<int64_t>(choices_.size());
        now.world.ended = ended;
        now.world.diagnosis = diagnosis;
        for (view::LiveRank& rank : now.world.ranks) {
            if (ended) rank.stands = end_of(rank.rank, diagnosis);
            if (!diagnosis) continue;
            for (const RankReport& report : diagnosis->ranks)
                if (report.rank == rank.rank && report.waits_for >= 0) {
                    rank.stands = Stands::waiting;
                    rank.next = "receive";
                    rank.peer = report.waits_for;
                    rank.call = report.call;
                }
        }
        std::exception_ptr trouble;
        try {
            if (trace && has_events(*trace)) {
                const auto made = make_document(trace, request.name, nullptr);
                // Ranks that are held have not ended early. Nobody else has the document yet.
                if (!ended) std::const_pointer_cast<Document>(made)->end.reset();
                now.document = made;
            }
        } catch (...) {
            trouble = std::current_exception();  // told; the ranks stand as they stand all the same
        }
        {
            const std::lock_guard guard(lock);
            state = std::move(now);
            if (trouble) failure = trouble;
        }
        if (wake_) wake_();
    }

    static bool has_events(const trace::Trace& trace) {
        for (const trace::RankTrace& rank : trace.ranks)
            if (!rank.events.empty()) return true;
        return false;
    }

    std::function<void()> wake_;
    Background* beside_ = nullptr;  ///< what runs this, as it sees itself
    bool waits_ = false;            // under lock

    // Touched by the rank that chooses alone.
    std::vector<view::LiveRank> ranks_;
    std::vector<int32_t> choices_;
    std::optional<LetGo> present_;
    CallKey began_in_{-1, -1, -1};
    bool did_message_ = false;
    int32_t last_ = -1;
};

LiveRun::LiveRun() = default;
LiveRun::~LiveRun() = default;

void LiveRun::on_news(std::function<void()> wake) {
    wake_ = std::move(wake);
}

void LiveRun::start(const RunRequest& request) {
    worker_.reset();
    const sandbox::Reading reading = sandbox::read_text(request.text, request.path);
    if (!reading.scenario) return;  // it was not offered
    worker_ = std::make_unique<Worker>(request, reading.scenario, wake_);
    Worker& worker = *worker_;
    try {
        worker.background.emplace([&worker](Background& beside) { worker.run(beside); });
    } catch (...) {
        worker.failure = std::current_exception();
    }
}

void LiveRun::let_go(const LetGo& how) {
    if (worker_) worker_->let_go(how);
}

void LiveRun::stop() {
    worker_.reset();
}

std::vector<Action> LiveRun::news(const i18n::Catalogue& catalogue, i18n::Language language) {
    std::vector<Action> actions;
    if (!worker_) return actions;
    if (worker_->background) worker_->background->give_time();
    const std::lock_guard guard(worker_->lock);
    if (worker_->state) actions.push_back(ShowLive{std::move(worker_->state)});
    worker_->state.reset();
    if (worker_->failure) {
        try {
            std::rethrow_exception(worker_->failure);
        } catch (const std::exception& error) {
            actions.push_back(ShowError{{i18n::describe_error(error, catalogue, language).lines}});
        }
        worker_->failure = nullptr;
    }
    return actions;
}

}  // namespace meshscope::session
