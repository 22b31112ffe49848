#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/comm/native_group.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport_group.h"
#include "core/tensor/device.h"
#include "core/tensor/host_access.h"
#include "core/tensor/tensor.h"
#include "core/trace/recorder.h"
// What is under test; a program may name another list for the same cases.
#ifndef MESHSCOPE_CONTRACT_BACKENDS
#define MESHSCOPE_CONTRACT_BACKENDS "tests/contract/backends.h"
#endif
#include MESHSCOPE_CONTRACT_BACKENDS

namespace meshscope::contract {

using comm::CallOptions;
using comm::StreamExecutor;
using comm::TransportGroup;
using comm::Work;
using tensor::Tensor;
using Mode = StreamExecutor::Mode;

/// How an executor may do a backend's works: ranks that are fibers have no thread for a helper, and do all
/// inline.
inline std::vector<Mode> modes_of(const std::string& backend) {
    if (backend == "fibers") return {Mode::inline_in_wait};
    return {Mode::inline_in_wait, Mode::helper_thread};
}

/// What a rank's body gets: everything a run gives a rank, and makers of groups and tensors.
struct Rank {
    comm::Transport& transport;
    StreamExecutor& executor;
    tensor::Allocator& memory;
    trace::Recorder& recorder;

    int32_t rank() const { return transport.rank().value; }
    int32_t world_size() const { return transport.world_size(); }

    std::unique_ptr<comm::ProcessGroup> group(int32_t index, std::vector<int32_t> ranks,
                                              Algorithm algorithm = Algorithm::ring,
                                              std::vector<int32_t> node_of = {}) const {
        std::vector<GlobalRank> members;
        for (const int32_t r : ranks) members.push_back(GlobalRank{r});
        if (groups_are_native())
            return std::make_unique<comm::NativeGroup>(executor, index, "dim", members, comm::Channel{index},
                                                       &recorder);
        return std::make_unique<TransportGroup>(executor, index, "dim", members, comm::Channel{index},
                                                &recorder, comm::GroupOptions{algorithm, std::move(node_of)});
    }
    std::unique_ptr<comm::ProcessGroup> world(Algorithm algorithm = Algorithm::ring,
                                              std::vector<int32_t> node_of = {}) const {
        std::vector<int32_t> all;
        for (int32_t r = 0; r < world_size(); ++r) all.push_back(r);
        return group(0, all, algorithm, std::move(node_of));
    }

    Tensor tensor(const std::vector<std::byte>& bytes, DType dtype) const {
        Tensor t = memory.empty({static_cast<int64_t>(bytes.size()) / bytes_per_element(dtype)}, dtype,
                                MemoryCategory::temporaries, "test");
        tensor::write_bytes(t, bytes.data());
        return t;
    }
    Tensor floats(const std::vector<float>& numbers) const {
        return memory.of(numbers, {static_cast<int64_t>(numbers.size())}, MemoryCategory::temporaries,
                         "test");
    }
    Tensor zeros(int64_t n, DType dtype = DType::float32) const {
        return memory.zeros({n}, dtype, MemoryCategory::temporaries, "test");
    }
};

inline std::vector<std::byte> bytes_of(const Tensor& t) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes()));
    tensor::read_bytes(bytes.data(), t);
    return bytes;
}
using tensor::floats_of;

/// The hops of each event, by its id.
inline std::vector<std::vector<trace::Hop>> hops_of_events(const trace::RankRecord& record) {
    std::vector<std::vector<trace::Hop>> hops(record.events.size());
    for (const trace::Hop& hop : record.hops) hops.at(static_cast<std::size_t>(hop.event)).push_back(hop);
    return hops;
}

/// Runs `body` on every rank of a new world and returns what each gave back, by rank. finish() is called at
/// the end. `records`, when given, receives every rank's record.
template <class Body>
auto run_ranks(const std::string& backend, int32_t n, Mode mode, const Body& body,
               std::vector<trace::RankRecord>* records = nullptr) {
    using Result = std::invoke_result_t<Body, Rank&>;
    static_assert(!std::is_same_v<Result, bool>, "the ranks' bits would share a word, which they all write");
    const auto world = open_world(backend, n);
    std::vector<Result> results(static_cast<std::size_t>(n));
    if (records != nullptr) records->resize(static_cast<std::size_t>(n));
    const trace::Level level = records != nullptr ? trace::Level::values : trace::Level::off;
    world->run([&](comm::Transport& transport) {
        const auto device = comm::make_device(transport);
        trace::Recorder recorder(transport.rank(), level, 0);
        tensor::Allocator memory(*device, &recorder);
        StreamExecutor executor(transport, mode);
        Rank rank{transport, executor, memory, recorder};
        const auto place = static_cast<std::size_t>(transport.rank().value);
        results[place] = body(rank);
        executor.finish();
        if (records != nullptr) (*records)[place] = recorder.take();
    });
    return results;
}

}  // namespace meshscope::contract
