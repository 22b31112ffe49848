#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/tcp/options.h"
#include "backends/tcp/socket.h"

namespace meshscope::backends::tcp {

/// Where ranks leave their addresses for each other.
class Rendezvous {
  public:
    virtual ~Rendezvous() = default;
    /// Leaves this rank's address. In a file it takes the place of one that a killed run left; in a store,
    /// which nobody outlives who serves it, one that is there belongs to a living process: throws CommError
    /// "tcp.rank_taken" {rank, address}.
    virtual void publish(const std::string& address) = 0;
    /// A peer's address as it stands now; waits for it a little, then gives nothing.
    virtual std::optional<std::string> look_up(int32_t peer) = 0;
    /// The ranks whose addresses are there; nothing where they are too many to be told.
    virtual std::optional<std::vector<int32_t>> published() = 0;
    /// Takes this rank's address away again.
    virtual void forget() noexcept = 0;
    /// This machine's address towards the others, as far as it is known; "" when not.
    virtual std::string own_host() const = 0;
};

/// What init_method says: a store's address, or a file's path; the other is empty.
struct InitMethod {
    std::string store;  ///< "host:port"
    std::string file;
};
/// Throws InvalidArgument "tcp.init_method" {init_method}.
InitMethod parse_init_method(const std::string& init_method);

/// Opens the rendezvous of options.init_method for one run. A store is connected to until `deadline`; throws
/// what StoreClient does. A file is made when it is missing, with access for its owner alone; throws IoError
/// "tcp.rendezvous_file" {path, reason}.
///
/// The file has one line a rank: run id (hex), generation, rank, address. Ranks read and write it under
/// flock(2). Lines of other runs and broken lines are left alone or passed over, so what a killed run left
/// does no harm; each rank takes its own line out in the end.
std::unique_ptr<Rendezvous> open_rendezvous(const TcpOptions& options, uint64_t generation,
                                            Deadline deadline);

}  // namespace meshscope::backends::tcp
