#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "backends/tcp/store_server.h"
#include "backends/tcp/tcp_world.h"
#include "core/base/message.h"
#include "core/comm/transport.h"

namespace meshscope::contract {

/// Ranks that reach each other over TCP, but live on threads of this process, each with a TcpWorld of its
/// own: so one test body sees all ranks, and sanitizers see both ends.
class TcpThreadsWorld final : public comm::World {
  public:
    using Options = backends::tcp::TcpOptions;

    /// `adjust` may change a rank's options before it joins.
    explicit TcpThreadsWorld(int32_t size, const std::function<void(Options&)>& adjust = {}) {
        backends::tcp::StoreServerOptions store;
        store.token = backends::tcp::Token::random();
        store.run_id = "threads";
        store.log = [](const Message&) {};
        store_ = std::make_unique<backends::tcp::StoreServer>(store);
        for (int32_t r = 0; r < size; ++r) {
            Options options;
            options.rank = r;
            options.world_size = size;
            options.init_method = "tcp://" + store_->address();
            options.host_store = false;
            options.token = store.token;
            options.run_id = store.run_id;
            if (adjust) adjust(options);
            worlds_.push_back(std::make_unique<backends::tcp::TcpWorld>(options));
        }
    }

    int32_t size() const override { return static_cast<int32_t>(worlds_.size()); }
    const backends::tcp::StoreServer& store() const { return *store_; }
    /// What each rank's run() threw; null where it returned.
    const std::vector<std::exception_ptr>& errors() const { return errors_; }

    void run(const std::function<void(comm::Transport&)>& body) override {
        errors_.assign(worlds_.size(), nullptr);
        std::vector<std::thread> threads;
        for (std::size_t r = 0; r < worlds_.size(); ++r)
            threads.emplace_back([&, r] {
                try {
                    worlds_[r]->run(body);
                } catch (...) {
                    errors_[r] = std::current_exception();
                }
            });
        for (std::thread& thread : threads) thread.join();
        // The rank that all say failed first; where two did so at once, the lower one.
        for (std::size_t r = 0; r < worlds_.size(); ++r) {
            const auto& cause = worlds_[r]->first_cause();
            if (errors_[r] && cause && cause->rank == static_cast<int32_t>(r))
                std::rethrow_exception(errors_[r]);
        }
        for (const std::exception_ptr& error : errors_)
            if (error) std::rethrow_exception(error);
    }

  private:
    std::unique_ptr<backends::tcp::StoreServer> store_;
    std::vector<std::unique_ptr<backends::tcp::TcpWorld>> worlds_;
    std::vector<std::exception_ptr> errors_;
};

}  // namespace meshscope::contract
