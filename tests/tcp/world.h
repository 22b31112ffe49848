#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "tests/contract/harness.h"

/// What tests of whole worlds over TCP share.
namespace tcp_world {

using namespace meshscope;

inline constexpr comm::Channel kChannel{0};

/// The id of the world's error, and what its message's list or number `arg` says.
struct Told {
    std::string id;
    std::string arg;
    bool secondary = false;
};
inline Told told(const std::exception_ptr& error, const char* arg) {
    if (!error) return {"nothing", "", false};
    try {
        std::rethrow_exception(error);
    } catch (const CommError& e) {
        const MessageValue* value = e.message().find(arg);
        return {e.message().id, value == nullptr ? "" : to_text(*value), e.secondary()};
    } catch (const std::exception& e) {
        return {e.what(), "", false};
    }
}

/// Ranks on threads that meet in a file.
inline std::vector<std::exception_ptr> run_by_file(
    const std::string& path, int32_t n, const std::string& run_id,
    const std::function<void(comm::Transport&)>& body,
    std::chrono::milliseconds connect = std::chrono::milliseconds(20'000)) {
    std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n));
    std::vector<std::thread> threads;
    for (int32_t r = 0; r < n; ++r)
        threads.emplace_back([&, r] {
            try {
                backends::tcp::TcpOptions options;
                options.rank = r;
                options.world_size = n;
                options.init_method = "file://" + path;
                options.run_id = run_id;
                options.timeouts.connect = connect;
                backends::tcp::TcpWorld(options).run(body);
            } catch (...) {
                errors[static_cast<std::size_t>(r)] = std::current_exception();
            }
        });
    for (std::thread& thread : threads) thread.join();
    return errors;
}

inline void exchange_ranks(comm::Transport& transport) {
    const int32_t me = transport.rank().value;
    for (int32_t r = 0; r < transport.world_size(); ++r) {
        if (r == me) continue;
        const std::byte mine{static_cast<unsigned char>(me)};
        const auto ticket = transport.post(GlobalRank{r}, kChannel, {&mine, 1});
        transport.receive(GlobalRank{r}, kChannel, 1, [&](comm::Transport::Bytes bytes) {
            if (std::to_integer<int32_t>(bytes[0]) != r) throw std::runtime_error("another rank's byte");
        });
        transport.wait(ticket);
    }
}

}  // namespace tcp_world
