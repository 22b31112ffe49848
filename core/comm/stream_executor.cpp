#include "core/comm/stream_executor.h"

#include <utility>

#include "core/base/error.h"

namespace meshscope::comm {
namespace {

// A collective is often over, or about to begin, within the time that sleeping and waking takes.
constexpr int kYields = 32;

}  // namespace

StreamExecutor::Mode StreamExecutor::choose_mode(int32_t ranks_here, int32_t cores) {
    return 2 * ranks_here <= cores ? Mode::helper_thread : Mode::inline_in_wait;
}

StreamExecutor::StreamExecutor(Transport& transport, Mode mode)
    : transport_(transport), mode_(transport.one_at_a_time() ? Mode::inline_in_wait : mode) {
    if (mode_ == Mode::helper_thread) helper_ = std::thread([this] { serve(); });
}

StreamExecutor::~StreamExecutor() {
    stop();
}

void StreamExecutor::stop() noexcept {
    if (n_ended_.load() < next_position_ || !sent_.empty()) transport_.give_up();
    if (helper_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        has_work_.notify_one();
        helper_.join();
    }
    if (!sent_.empty()) transport_.withdraw();  // before the copies go
    sent_.clear();
    // A Work may outlive its executor; it must not wait for ever.
    for (const auto& state : states_) {
        if (!state->ended.load())
            state->error = std::make_exception_ptr(
                CommError({"comm.never_ran", {{"rank", static_cast<int64_t>(transport_.rank().value)}}},
                          transport_.rank()));
        state->ended.store(true);
    }
    n_ended_.store(next_position_);
    let_go(next_position_);
}

Work StreamExecutor::submit(std::shared_ptr<Work::State> state) {
    state->executor = this;
    state->position = next_position_++;
    states_.push_back(state);
    if (mode_ == Mode::helper_thread) {
        {
            const std::lock_guard lock(mutex_);
            queue_.push_back(state.get());
        }
        has_work_.notify_one();
    }
    return Work(std::move(state));
}

void StreamExecutor::run_one(Work::State& state) {
    if (!failure_) {
        try {
            drop_received();
            state.run();
        } catch (...) {
            failure_ = std::current_exception();
        }
    }
    state.error = failure_;
    state.ended.store(true);
}

void StreamExecutor::serve() {
    while (true) {
        Work::State* state = nullptr;
        {
            std::unique_lock lock(mutex_);
            has_work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
            if (queue_.empty() || (stop_ && failure_)) return;
            state = queue_.front();
            queue_.pop_front();
        }
        run_one(*state);
        {
            // Under the lock, so that whoever is about to sleep for it does not miss it.
            const std::lock_guard lock(mutex_);
            n_ended_.fetch_add(1);
        }
        has_ended_.notify_one();
    }
}

void StreamExecutor::reach(int64_t position) {
    if (mode_ == Mode::inline_in_wait) {
        while (n_ended_.load() <= position) {
            const int64_t behind = next_position_ - n_ended_.load();
            const std::shared_ptr<Work::State> state =
                states_[states_.size() - static_cast<std::size_t>(behind)];
            run_one(*state);
            n_ended_.fetch_add(1);
        }
    } else {
        for (int i = 0; i < kYields && n_ended_.load() <= position; ++i) std::this_thread::yield();
        if (n_ended_.load() <= position) {
            std::unique_lock lock(mutex_);
            has_ended_.wait(lock, [&] { return n_ended_.load() > position; });
        }
    }
}

void StreamExecutor::await(int64_t position) {
    reach(position);
    let_go(position + 1);
}

void StreamExecutor::run_in_turn(std::function<void()> work) {
    auto state = std::make_shared<Work::State>();
    state->run = std::move(work);
    const int64_t position = next_position_;
    submit(state);
    reach(position);
    if (state->error) std::rethrow_exception(state->error);
}

void StreamExecutor::let_go(int64_t up_to) {
    while (!states_.empty() && states_.front()->position < up_to) {
        states_.front()->run = nullptr;
        states_.front()->tensors.clear();
        states_.front()->executor = nullptr;
        states_.pop_front();
    }
}

void StreamExecutor::finish() {
    // The last thing the running thread does for us: see that all copies were received.
    auto closing = std::make_shared<Work::State>();
    closing->run = [this] {
        while (!sent_.empty()) {
            transport_.wait(sent_.front().ticket);
            sent_.pop_front();
        }
    };
    const int64_t position = next_position_;
    submit(closing);
    await(position);
    if (closing->error) std::rethrow_exception(closing->error);
}

void StreamExecutor::post_copy(GlobalRank dst, Channel channel, std::span<const std::byte> data) {
    sent_.push_back({0, {data.begin(), data.end()}});
    try {
        sent_.back().ticket = transport_.post(dst, channel, sent_.back().data);
    } catch (...) {
        sent_.pop_back();
        throw;
    }
}

void StreamExecutor::drop_received() {
    while (!sent_.empty() && transport_.done(sent_.front().ticket)) {
        transport_.wait(sent_.front().ticket);
        sent_.pop_front();
    }
}

}  // namespace meshscope::comm
