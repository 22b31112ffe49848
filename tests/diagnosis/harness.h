#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "core/base/diagnosis.h"
#include "core/comm/checksum_transport.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport_group.h"
#include "core/tensor/device.h"
#include "core/tensor/tensor.h"

namespace meshscope::diagnosis {

using comm::CallOptions;
using comm::StreamExecutor;
using comm::TransportGroup;
using comm::Work;
using tensor::Tensor;

/// What a rank's program gets.
struct Place {
    comm::Transport& transport;
    StreamExecutor& executor;
    tensor::Allocator& memory;
    bool checked = true;
    trace::Recorder* recorder = nullptr;

    int32_t rank() const { return transport.rank().value; }
    int32_t ranks() const { return transport.world_size(); }

    /// `index` is the order of creation, which is the group's channel.
    std::unique_ptr<TransportGroup> group(int32_t index, const std::vector<int32_t>& ranks,
                                          Algorithm algorithm = Algorithm::ring) const {
        std::vector<GlobalRank> members;
        for (const int32_t r : ranks) members.push_back(GlobalRank{r});
        return std::make_unique<TransportGroup>(
            executor, index, "g" + std::to_string(index), members, comm::Channel{index}, recorder,
            comm::GroupOptions{.algorithm = algorithm, .checked = checked});
    }
    std::unique_ptr<TransportGroup> world(int32_t index = 0, Algorithm algorithm = Algorithm::ring) const {
        std::vector<int32_t> all;
        for (int32_t r = 0; r < ranks(); ++r) all.push_back(r);
        return group(index, all, algorithm);
    }
    Tensor zeros(int64_t n, DType dtype = DType::float32) const {
        return memory.zeros({n}, dtype, MemoryCategory::temporaries, "test");
    }
};

using Program = std::function<void(Place&)>;

/// How a world ended: each rank's diagnosis (none: it ended well, or with another error, in words), and how
/// long the slowest rank took from its start to its error.
struct Outcome {
    std::vector<std::optional<Diagnosis>> told;
    std::vector<std::string> words;  ///< "" when it ended well
    double slowest_ms = 0;
};

/// Runs a program on every rank of a world that lives in this process; the other ranks' places stay as they
/// are.
inline Outcome run_in(comm::World& world, bool checked, const Program& program,
                      StreamExecutor::Mode mode = StreamExecutor::Mode::inline_in_wait) {
    Outcome outcome;
    const auto ranks = static_cast<std::size_t>(world.size());
    outcome.told.resize(ranks);
    outcome.words.resize(ranks);
    std::vector<double> ms(ranks);
    const auto ms_since = [](std::chrono::steady_clock::time_point started) {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
    };
    try {
        world.run([&](comm::Transport& plain) {
            const auto place = static_cast<std::size_t>(plain.rank().value);
            const auto started = std::chrono::steady_clock::now();
            try {
                const auto device = tensor::make_cpu_device();
                tensor::Allocator memory(*device);
                comm::ChecksumTransport checksums(plain);
                comm::Transport& transport = checked ? checksums : plain;
                StreamExecutor executor(transport, mode);
                Place here{transport, executor, memory, checked};
                program(here);
                executor.finish();
            } catch (const DiagnosedError& error) {
                outcome.told[place] = error.diagnosis();
                outcome.words[place] = error.what();
                ms[place] = ms_since(started);
                throw;
            } catch (const std::exception& error) {
                outcome.words[place] = error.what();
                ms[place] = ms_since(started);
                throw;
            }
        });
    } catch (const std::exception&) {
        // Each rank has told its own.
    }
    for (const double each : ms) outcome.slowest_ms = std::max(outcome.slowest_ms, each);
    return outcome;
}

/// The same in a new world of a backend, all of whose ranks are in this process.
inline Outcome run_program(const std::string& backend, const run::WorldRequest& request, bool checked,
                           const Program& program,
                           StreamExecutor::Mode mode = StreamExecutor::Mode::inline_in_wait) {
    return run_in(*backends::make_registry()->open(backend, request), checked, program, mode);
}

}  // namespace meshscope::diagnosis
