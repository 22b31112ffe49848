#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/tcp/token.h"
#include "core/base/message.h"

namespace meshscope::backends::tcp {

/// How long whoever serves a store tries to reach it itself: at once, or never.
inline constexpr std::chrono::milliseconds kOwnStore{3'000};

struct StoreClientOptions {
    std::string address;  ///< "host:port"
    Token token;
    std::string run_id;
    std::chrono::milliseconds connect{60'000};  ///< tries again until then
    /// What a server may take to answer, beyond what a wait asks for.
    std::chrono::milliseconds answer{10'000};
    /// Told when it has waited unusually long for the server: "tcp.still_connecting" {address, reason,
    /// waited_s, timeout_s}.
    std::function<void(const Message&)> tell = [](const Message&) {};
    /// Whether this process was told to stop; asked once a second at least while it connects.
    std::function<bool()> stopped = [] { return false; };
};

/// One connection to a StoreServer. May be used from several threads: calls take turns, a wait included, so a
/// thread that must not be held up has a client of its own.
///
/// Every call throws CommError (of rank -1): "tcp.store_lost" {address} when the server went away or did not
/// answer; InvalidArgument "tcp.store_refused" {reason} when the server does not take the request (a limit of
/// StoreServer, add on what is no number).
class StoreClient {
  public:
    /// Connects. Throws CommError "tcp.cannot_connect" {address, reason, waited_ms} when nobody answered in
    /// time, or what answered refused us or did not prove the token; Cancelled "tcp.stopped_connecting"
    /// {address}; InvalidArgument "tcp.address_malformed", "tcp.store_token_differs" {address} when the
    /// server does not take our token (see WrongTokenDetector).
    explicit StoreClient(const StoreClientOptions& options);
    ~StoreClient();
    StoreClient(const StoreClient&) = delete;
    StoreClient& operator=(const StoreClient&) = delete;

    void set(const std::string& key, const std::string& value);
    /// Says to whoever serves the store why this client goes, where it was told so by what the store holds.
    void tell_refused(const Message& why) noexcept;
    /// The value, or nothing when there is no such key; does not wait.
    std::optional<std::string> get(const std::string& key);
    /// Waits until the key is there and gives its value. Throws CommError "tcp.store_timeout" {key,
    /// waited_ms}.
    std::string wait(const std::string& key, std::chrono::milliseconds timeout);
    /// Adds to the decimal number under `key` (0 when it is not there); gives the sum.
    int64_t add(const std::string& key, int64_t delta);
    /// Sets `desired` when the value is `expected`, or the key is missing and `expected` is empty. Gives the
    /// value that is there afterwards, "" when the key is still missing (PyTorch: Store.compare_set).
    std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired);
    /// The keys that begin with `prefix`, ascending.
    std::vector<std::string> keys(const std::string& prefix);
    /// Whether there was something to remove.
    bool erase(const std::string& key);

    /// StoreClientOptions::address.
    const std::string& address() const;
    /// The address by which this machine reaches the store, without port: what peers elsewhere can use.
    std::string own_host() const;

  private:
    class Connection;
    std::unique_ptr<Connection> connection_;
};

}  // namespace meshscope::backends::tcp
