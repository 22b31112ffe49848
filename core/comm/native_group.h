#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/comm/native.h"
#include "core/comm/recorded_group.h"

namespace meshscope::comm {

/// A ProcessGroup whose collectives are those of the backend's own library (MPI_Allreduce …): the measure
/// that our algorithms are held against. Each is one span in the record, algorithm "native", without hops and
/// with 0 sent bytes, because nobody tells what travelled. send and recv are one message, as everywhere.
class NativeGroup final : public RecordedGroup {
  public:
    /// As TransportGroup's. Every member makes it, each its groups in the same order, before anything is
    /// issued. `watches_peers`: see NativeCollectives::watch_peers. Throws InvalidArgument "comm.no_native"
    /// where the backend's library brings no collectives. Its calls throw "comm.native_dtype" for a
    /// reduction that the library cannot do.
    NativeGroup(StreamExecutor& executor, int32_t index, std::string name, std::vector<GlobalRank> ranks,
                Channel channel, trace::Recorder* recorder, bool watches_peers = false);
    ~NativeGroup() override;

  private:
    struct Members;
    NativeGroup(StreamExecutor& executor, const std::shared_ptr<Members>& members, Channel channel,
                trace::Recorder* recorder, bool watches_peers);
    std::shared_ptr<const void> kept() const override { return native_; }

    std::shared_ptr<NativeCollectives> native_;  ///< its calls' as well, and no transport's: it goes before
};

}  // namespace meshscope::comm
