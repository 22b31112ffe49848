#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "backends/tcp/first_cause.h"
#include "backends/tcp/options.h"
#include "core/comm/transport.h"

namespace meshscope::backends::tcp {

class StoreServer;

/// One rank of a world of processes. run() connects to all peers, calls the body once, and returns when every
/// rank's body has ended.
///
/// What run() throws: the body's own error when it came first; otherwise what the other rank's failure means
/// for this one: CommError "comm.aborted" (secondary), "comm.peer_lost", "comm.peer_silent". Before the body:
/// "tcp.ranks_missing" {rank, missing, waited_ms} when not all ranks came in time, "tcp.rank_not_reached"
/// {rank, peer, address, waited_ms, reason} when one said where it is but could not be connected to,
/// "tcp.peer_refused" {rank, peer, reason}, Cancelled "tcp.stopped_joining" {rank}, StoreClient's errors, and
/// of rank 0 InvalidArgument "tcp.store_elsewhere" {init_method, bind} where it does not listen there.
///
/// Can be run again, also after a failure: every rank must do so the same number of times.
class TcpWorld final : public comm::World {
  public:
    /// Throws InvalidArgument: "backend.world_size", "comm.rank_outside_world", "tcp.token_required" {bind},
    /// "tcp.init_method" {init_method}, "tcp.run_id_too_long", "tcp.no_own_address" {bind, init_method} when
    /// ranks that listen on all addresses are to meet in a file; IoError "tcp.address_taken",
    /// "tcp.cannot_listen" (rank 0, for the store).
    explicit TcpWorld(TcpOptions options);
    ~TcpWorld() override;

    int32_t size() const override { return options_.world_size; }
    void run(const std::function<void(comm::Transport&)>& body) override;
    bool whole() const override { return options_.world_size == 1; }
    int32_t ranks_on_this_machine() const override {
        return options_.local_world_size > 0 ? options_.local_world_size : options_.world_size;
    }

    /// Of the last run; nothing when it went well.
    const std::optional<FirstCause>& first_cause() const { return first_cause_; }

  private:
    TcpOptions options_;
    std::unique_ptr<StoreServer> store_;
    int32_t runs_ = 0;
    std::optional<FirstCause> first_cause_;
};

}  // namespace meshscope::backends::tcp
