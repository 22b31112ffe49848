#pragma once

#include <optional>
#include <span>

#include "core/comm/checksum_transport.h"
#include "core/comm/faults.h"

namespace meshscope::run {

/// What lies between a rank and the world's transport: the faults that a scenario asks for, and over them, so
/// that they are found, the checksums of a checked run.
class RankTransport {
  public:
    /// `transport` outlives this.
    RankTransport(comm::Transport& transport, std::span<const comm::Fault> faults, int32_t round,
                  bool checked)
        : faults_(faults, transport.rank(), round), top_(&transport) {
        // On every rank, faults of its own or not: under it nobody meets at tables, and all must do the same.
        if (!faults.empty()) top_ = &faulty_.emplace(*top_, faults_);
        if (checked) top_ = &checksums_.emplace(*top_);
    }
    RankTransport(const RankTransport&) = delete;
    RankTransport& operator=(const RankTransport&) = delete;

    comm::Transport& top() { return *top_; }
    comm::Faults& faults() { return faults_; }

  private:
    comm::Faults faults_;
    std::optional<comm::FaultyTransport> faulty_;
    std::optional<comm::ChecksumTransport> checksums_;
    comm::Transport* top_;
};

}  // namespace meshscope::run
