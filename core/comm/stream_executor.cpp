#include "core/comm/stream_executor.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/start_thread.h"

namespace meshscope::comm {
namespace {

// A collective is often over, or about to begin, within the time that sleeping and waking takes.
constexpr int kYields = 32;

void run_now(const Work::State& state) {
    if (state.group != nullptr)
        state.group->run(state);
    else
        state.work();
}

}  // namespace

StreamExecutor::Mode StreamExecutor::choose_mode(int32_t ranks_here, int32_t cores) {
    return 2 * ranks_here <= cores ? Mode::helper_thread : Mode::inline_in_wait;
}

StreamExecutor::StreamExecutor(Transport& transport, Mode mode)
    : transport_(transport),
      queues_(queues_of(transport)),
      mode_(transport.abilities().one_thread_a_rank ? Mode::inline_in_wait : mode) {
    if (mode_ == Mode::helper_thread) helper_ = start_thread([this] { serve(); });
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
    if (queues_ != nullptr) {
        queues_->drain();
        for (const auto& state : states_) state->ended_at = DeviceQueues::kNothing;  // all of it is done
    }
    for (const Sent& each : sent_)
        if (each.on_device != nullptr) queues_->free(each.on_device);
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
    forget_receipts();
}

Work StreamExecutor::submit(std::shared_ptr<Work::State> state) {
    state->executor = this;
    state->position = next_position_++;
    if (queues_ != nullptr) state->issued_at = queues_->issued();
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

void StreamExecutor::begin(Work::State& state) {
    const IssuedCall& call = state.call;
    const auto bytes = [&](int64_t n) { return static_cast<std::size_t>(n * bytes_per_element(call.dtype)); };
    const bool writes = call.output != nullptr;
    queues_->begin(call.stream, std::exchange(state.issued_at, DeviceQueues::kNothing),
                   {call.input, call.input != nullptr ? bytes(call.in_elements) : 0},
                   {call.output, writes ? bytes(call.out_elements) : 0});
}

void StreamExecutor::end_early(Work::State& state) noexcept {
    try {
        state.ended_at = queues_->end();
    } catch (...) {
        queues_->drain();
    }
}

void StreamExecutor::run_one(Work::State& state) {
    if (!failure_) {
        try {
            if (queues_ != nullptr) begin(state);
            drop_received();
            const int64_t before = n_dropped_ + static_cast<int64_t>(sent_.size());
            run_now(state);
            // A message leaves behind its fingerprint.
            const int64_t after = n_dropped_ + static_cast<int64_t>(sent_.size());
            if (after > before) state.sent = after - 1;
            if (queues_ != nullptr) state.ended_at = queues_->end();
        } catch (...) {
            failure_ = std::current_exception();
            if (queues_ != nullptr) end_early(state);
        }
    }
    if (failure_) state.error = failure_;
    state.ended.store(true, std::memory_order_release);  // with the error
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
            run_one(*states_[states_.size() - static_cast<std::size_t>(behind)]);
            n_ended_.store(n_ended_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
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

void StreamExecutor::await_receipt(const std::shared_ptr<Work::State>& state) {
    if (state->sent < 0) return;
    const auto number = state->sent;
    run_in_turn([this, number] {
        if (number >= n_dropped_) wait_for_sent(sent_[static_cast<std::size_t>(number - n_dropped_)]);
    });
    state->sent = -1;
    state->executor = nullptr;
    std::erase_if(unreceived_, [](const auto& each) { return each->sent < 0; });
}

void StreamExecutor::forget_receipts() {
    for (const auto& state : unreceived_) {
        state->sent = -1;
        state->executor = nullptr;
    }
    unreceived_.clear();
}

void StreamExecutor::run_in_turn(std::function<void()> work) {
    const auto state = std::make_shared<Work::State>();
    state->work = std::move(work);
    const int64_t position = next_position_;
    submit(state);
    reach(position);
    if (state->error) std::rethrow_exception(state->error);
}

void StreamExecutor::let_go(int64_t up_to) {
    while (!states_.empty() && states_.front()->position < up_to) {
        if (queues_ != nullptr)
            queues_->wait(std::exchange(states_.front()->ended_at, DeviceQueues::kNothing));
        Work::State& state = *states_.front();
        state.work = nullptr;
        for (Tensor& tensor : state.tensors) tensor.reset();
        state.group = nullptr;
        state.kept.reset();
        if (state.sent >= 0 && states_.front().use_count() > 1) {
            // Those of which nobody asks any more, so that they do not add up.
            std::erase_if(unreceived_, [](const auto& each) { return each.use_count() == 1; });
            unreceived_.push_back(std::move(states_.front()));
            states_.pop_front();
            continue;
        }
        state.executor = nullptr;
        state.call.group.reset();
        states_.pop_front();
    }
}

void StreamExecutor::finish() {
    // The last thing the running thread does for us: see that all copies were received, and that all met.
    const auto closing = std::make_shared<Work::State>();
    closing->work = [this] {
        for (; !sent_.empty(); drop_first_sent()) wait_for_sent(sent_.front());
        if (NativeLibrary* const library = transport_.abilities().library) library->settle();
    };
    const int64_t position = next_position_;
    submit(closing);
    await(position);
    if (closing->error) std::rethrow_exception(closing->error);
    forget_receipts();
}

void StreamExecutor::wait_for_sent(Sent& sent) {
    if (sent.ticket == Sent::kReceived) return;
    transport_.begin_receipt(sent.call);
    take_receipt(sent);
    transport_.end_call();
}

void StreamExecutor::take_receipt(Sent& sent) {
    transport_.wait(sent.ticket);
    sent.ticket = Sent::kReceived;
    if (sent.on_device != nullptr) queues_->free(std::exchange(sent.on_device, nullptr));
}

void StreamExecutor::post_copy(const IssuedCall& call, GlobalRank dst, Channel channel,
                               std::span<const std::byte> data) {
    sent_.push_back({});
    Sent& sent = sent_.back();
    sent.call = call;
    Transport::Bytes copy;
    try {
        if (queues_ != nullptr && channel.carries_tensors()) {
            sent.on_device = queues_->allocate(static_cast<int64_t>(data.size()));
            queues_->copy(sent.on_device, data.data(), static_cast<int64_t>(data.size()));
            copy = {sent.on_device, data.size()};
        } else {
            sent.data.assign(data.begin(), data.end());
            copy = sent.data;
        }
        sent.ticket = transport_.post(dst, channel, copy);
    } catch (...) {
        if (sent.on_device != nullptr) queues_->free(sent.on_device);
        sent_.pop_back();
        throw;
    }
}

void StreamExecutor::drop_first_sent() {
    sent_.pop_front();
    ++n_dropped_;
}

void StreamExecutor::drop_received() {
    const auto received = [this](const Sent& sent) {
        return sent.ticket == Sent::kReceived || transport_.done(sent.ticket);
    };
    while (!sent_.empty() && received(sent_.front())) {
        // It is there, so nobody has to be told what is waited for.
        if (sent_.front().ticket != Sent::kReceived) take_receipt(sent_.front());
        drop_first_sent();
    }
}

}  // namespace meshscope::comm
