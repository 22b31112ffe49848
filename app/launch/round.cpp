#include "app/launch/round.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <utility>

#include "app/launch/output.h"
#include "core/base/clock.h"
#include "core/base/error.h"

namespace meshscope::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick{100};
constexpr int kLostRanks = 75;  // the exit code of a peer that was lost
constexpr const char* kLog = ".log";

struct Running {
    const Job* job = nullptr;
    Worker worker;
    std::unique_ptr<OutputLines> out, err;
    std::optional<StartedRanks> ranks;
    bool stuck = false;    ///< was killed, because it did not see that its ranks had gone
    bool counted = false;  ///< its end was looked at
};

class Round {
  public:
    Round(const std::vector<Job>& jobs, const RoundOptions& options, Writer& out, Writer& err)
        : options_(options) {
        try {
            for (const Job& job : jobs) begin(job, out, err);
        } catch (...) {
            end_now();
            throw;
        }
    }

    /// However this ends, no worker outlives it.
    ~Round() { end_now(); }
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

    RoundResult run() {
        while (true) {
            wait_for_output();
            look_at_ends();
            look_at_ranks();
            if (std::ranges::all_of(running_, &Running::counted)) break;
            if (result_.outcome == Outcome::finished && !result_.failures.empty()) {
                end_all(Outcome::failed, SIGTERM);
            } else if (result_.outcome == Outcome::finished && options_.signal() != 0) {
                result_.signal = options_.signal();
                end_all(Outcome::signalled, result_.signal == SIGPIPE ? SIGTERM : result_.signal);
            }
            if (ask() && result_.outcome == Outcome::finished) end_all(Outcome::stopped, SIGTERM);
        }
        for (Running& one : running_) {
            finish(one.worker.out, one.out.get());
            finish(one.worker.err, one.err.get());
        }
        if (result_.outcome == Outcome::finished && !result_.failures.empty())
            result_.outcome = Outcome::failed;
        if (result_.outcome != Outcome::failed) result_.failures.clear();
        order_by_cause(result_.failures);
        return std::move(result_);
    }

  private:
    void end_now() {
        stop(SIGKILL);
        for (Running& one : running_) {
            while (!has_ended(one.worker)) usleep(1000);
            for (const int end : {one.worker.out, one.worker.err})
                if (end >= 0) close(end);
        }
    }

    /// Asks while workers are being stopped, too: who answers has to hear from us.
    bool ask() {
        if (Clock::now() - asked_ < kTick) return false;
        asked_ = Clock::now();
        try {
            return options_.ask();
        } catch (const Error&) {
            // Workers that are being stopped get the time they need; it comes out when the round is told of.
            if (result_.outcome == Outcome::finished) throw;
            return false;
        }
    }

    void begin(const Job& job, Writer& out, Writer& err) {
        Running one;
        one.job = &job;
        const std::string prefix = options_.prefixes ? "[" + std::to_string(job.rank) + "]: " : "";
        const std::string log = job.log.empty() ? "" : job.log + "/";
        if (!job.command.own_output) {
            const auto lines = [&](Writer& writer, const char* name) {
                return std::make_unique<OutputLines>(writer, prefix, log.empty() ? "" : log + name + kLog,
                                                     options_.tell);
            };
            one.out = lines(out, "stdout");
            one.err = lines(err, "stderr");
        }
        if (job.starter)
            one.ranks.emplace(*job.starter, options_.mark.first, options_.mark.second,
                              std::min(kTick, options_.patience / 5));
        one.worker = start(job.command);
        running_.push_back(std::move(one));
    }

    /// Passes on what came, as far as there is room for it; returns after a tick at the latest.
    void wait_for_output() {
        std::vector<pollfd> ends;
        const auto watch = [&](int end, const std::unique_ptr<OutputLines>& lines) {
            if (end >= 0 && lines->has_room()) ends.push_back({end, POLLIN, 0});
        };
        for (const Running& one : running_) {
            watch(one.worker.out, one.out);
            watch(one.worker.err, one.err);
        }
        // Nothing tells that a worker has ended but asking; soon, so that its peers do not wait.
        poll(ends.data(), ends.size(), 20);
        for (Running& one : running_) {
            pump(one.worker.out, one.out.get());
            pump(one.worker.err, one.err.get());
        }
        if (killing_since_ && Clock::now() - *killing_since_ > options_.grace) {
            stop(SIGKILL);
            killing_since_.reset();
        }
    }

    static void pump(int& descriptor, OutputLines* lines) {
        if (descriptor >= 0 && !lines->pump(descriptor)) finish(descriptor, lines);
    }

    static void finish(int& descriptor, OutputLines* lines) {
        if (descriptor < 0) return;
        lines->finish(descriptor);
        close(std::exchange(descriptor, -1));
    }

    void look_at_ends() {
        for (Running& one : running_) {
            if (one.counted || !has_ended(one.worker)) continue;
            one.counted = true;
            // Its group may hold more than itself, which must not hold the pipes open for ever.
            kill(-one.worker.pid, SIGKILL);
            const int code = one.stuck ? kLostRanks : exit_code(*one.worker.status);
            if (code == 0 || result_.outcome == Outcome::stopped || result_.outcome == Outcome::signalled)
                continue;
            // Of those we stopped ourselves only what they had to say before counts, its exit code too.
            const bool by_us = result_.outcome == Outcome::failed && code == 128 + stopped_by_;
            Failure failure{
                one.job->rank, one.job->local_rank, options_.node, by_us ? 1 : code, wall_ns(), "", "", "",
                false};
            read_error_file(one.job->error_file, failure);
            // It ends with the code of its ranks; a signal was for itself.
            if (one.ranks && !one.stuck && failure.id.empty() && WIFSIGNALED(*one.worker.status))
                failure.id = kStarterKilled;
            if (by_us && failure.id.empty()) continue;
            result_.failures.push_back(std::move(failure));
        }
    }

    /// A starter that does not see that its ranks have gone would be waited for for ever.
    void look_at_ranks() {
        for (Running& one : running_) {
            if (!one.ranks || one.counted || one.stuck ||
                one.ranks->incomplete(one.worker.pid) < options_.patience)
                continue;
            one.stuck = true;
            options_.tell({one.ranks->is_idle() ? "launch.starter_idle" : "launch.starter_stuck",
                           {{"program", one.job->command.words.front()},
                            {"seconds", std::chrono::duration<double>(options_.patience).count()}}});
            send_signal(one.worker, SIGKILL);
        }
    }

    void end_all(Outcome outcome, int signal) {
        result_.outcome = outcome;
        stopped_by_ = signal;
        stop(signal);
        killing_since_ = Clock::now();
    }

    void stop(int signal) {
        for (const Running& one : running_) {
            // Open MPI's mpiexec gives its ranks a second to end in; told themselves they take what they
            // need.
            const bool told = signal != SIGKILL && one.ranks && !one.counted && one.ranks->send(signal);
            if (!told) send_signal(one.worker, signal);
        }
        if (signal == SIGKILL) stopped_by_ = SIGKILL;
    }

    const RoundOptions& options_;
    std::vector<Running> running_;
    RoundResult result_;
    std::optional<Clock::time_point> killing_since_;
    Clock::time_point asked_ = Clock::now();
    int stopped_by_ = 0;
};

}  // namespace

RoundResult run_round(const std::vector<Job>& jobs, const RoundOptions& options, Writer& out, Writer& err) {
    return Round(jobs, options, out, err).run();
}

}  // namespace meshscope::launch
