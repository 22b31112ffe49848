#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/tcp/options.h"

namespace meshscope::backends::tcp {

struct StoreServerOptions {
    std::string bind = "127.0.0.1";  ///< anything but loopback needs a token
    uint16_t port = 0;               ///< 0: the system chooses
    Token token;
    std::string run_id;       ///< clients of another run id are refused
    int32_t max_clients = 0;  ///< authenticated at a time; 0: 1024
    /// Besides those of strangers, "tcp.client_refused" {address} with its cause: a client says why it goes
    /// (StoreClient::tell_refused).
    Log log;
};

/// The rendezvous store: keys and values in memory, served by a thread of its own until it is destroyed. At
/// most 65,536 keys of 256 bytes, values of 64 KiB, 64 MiB in all. Strangers (no proof of the token within
/// 2 s, anything that is not our protocol) lose their connection and leave one line in the log; at most 80 of
/// them are heard at a time.
class StoreServer {
  public:
    /// Throws InvalidArgument "tcp.token_required" {bind} when `bind` is not loopback and there is no token,
    /// "tcp.run_id_too_long"; IoError "tcp.address_taken", "tcp.cannot_listen" {address, reason}.
    explicit StoreServer(const StoreServerOptions& options);
    ~StoreServer();
    StoreServer(const StoreServer&) = delete;
    StoreServer& operator=(const StoreServer&) = delete;

    uint16_t port() const;
    /// "host:port", as a client can use it; the host is `bind`.
    std::string address() const;

  private:
    class Service;
    std::unique_ptr<Service> service_;
};

}  // namespace meshscope::backends::tcp
