// What the algorithm native costs above the bare MPI call, measured in one process, block by block in turn:
// under mpiexec, arguments: openmpi or mpich, and the ranks. Rank 0 prints a JSON line an op and size:
// medians in µs a call of MPI's own collective (the non-blocking one, polled), and of the same call of a
// NativeGroup, made over and over as benchmarks do, once with recording off and once at level `collectives`.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "app/cli/bench_timing.h"
#include "backends/mpi/mpi_module.h"
#include "backends/registry.h"
#include "core/comm/native_group.h"
#include "tests/bench/peers/peer.h"
#include "tests/contract/harness.h"

using namespace meshscope;
using namespace meshscope::contract;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kBlocks = 41;

MeshscopeMpiCall bare_call(int32_t op, const Tensor& full, const Tensor& part) {
    const bool gathers = op == MESHSCOPE_ALL_GATHER, scatters = op == MESHSCOPE_REDUCE_SCATTER;
    MeshscopeMpiCall call{};
    call.op = op;
    call.kind = MESHSCOPE_MPI_FLOAT;
    call.in_place = op == MESHSCOPE_ALL_REDUCE;
    call.in = gathers ? part.raw() : full.raw();
    call.out = scatters ? part.raw() : full.raw();
    call.elements = gathers || scatters ? part.n_elements() : full.n_elements();
    return call;
}

/// One rank's side of the measurement.
class Bench {
  public:
    Bench(const MeshscopeMpi& mpi, MeshscopeMpiHandle bare, std::string library, int32_t size,
          comm::Transport& transport)
        : mpi_(mpi),
          bare_(bare),
          library_(std::move(library)),
          size_(size),
          transport_(transport),
          device_(tensor::make_cpu_device()),
          memory_(*device_),
          executor_(transport, Mode::inline_in_wait) {
        for (int32_t r = 0; r < size; ++r) members_.push_back({r});
        barrier_.op = MESHSCOPE_BARRIER;
    }

    /// `ours`: the op on a group, with a full buffer and one rank's part.
    template <class Ours>
    void measure(const char* name, int32_t op, const Ours& ours) {
        for (const int64_t bytes : {1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20, 16 << 20}) {
            const Tensor full = zeros(bytes / 4 / size_ * size_), part = zeros(bytes / 4 / size_);
            trace::Recorder off(transport_.rank(), trace::Level::off, 0);
            trace::Recorder on(transport_.rank(), trace::Level::collectives, 0);
            comm::NativeGroup unrecorded(executor_, 0, "world", members_, comm::Channel{0}, &off);
            comm::NativeGroup recorded(executor_, 0, "world", members_, comm::Channel{1}, &on);
            const MeshscopeMpiCall call = bare_call(op, full, part);
            std::array<std::vector<double>, 3> us;
            for (int block = -2; block < kBlocks; ++block) {  // two to warm up
                const std::array took{time_block(bytes, [&] { run_bare(call); }),
                                      time_block(bytes, [&] { ours(unrecorded, full, part); }),
                                      time_block(bytes, [&] { ours(recorded, full, part); })};
                for (std::size_t way = 0; way < took.size(); ++way)
                    if (block >= 0) us[way].push_back(took[way]);
            }
            if (transport_.rank().value == 0)
                print(name, bytes, cli::median(us[0]), cli::median(us[1]), cli::median(us[2]));
        }
    }

  private:
    Tensor zeros(int64_t n) {
        return memory_.zeros({n}, DType::float32, MemoryCategory::temporaries, "bench");
    }
    void run_bare(const MeshscopeMpiCall& call) {
        MeshscopeMpiHandle request{0};
        mpi_.collective(bare_, &call, &request);
        for (int32_t done = 0; done == 0;) mpi_.test(&request, &done);
    }
    /// us a call.
    template <class Call>
    double time_block(int64_t bytes, const Call& call) {
        const int calls = peer::calls_of(bytes);
        call();  // so that it finds in the caches what its own kind left there
        run_bare(barrier_);
        const auto begin = Clock::now();
        for (int i = 0; i < calls; ++i) call();
        return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / calls;
    }
    void print(const char* op, int64_t bytes, double mpi_us, double off_us, double native_us) {
        std::printf(
            "{\"op\":\"%s\",\"bytes\":%lld,\"ranks\":%d,\"library\":\"%s\",\"mpi_us\":%.3f,"
            "\"off_us\":%.3f,\"native_us\":%.3f,\"ratio\":%.3f}\n",
            op, static_cast<long long>(bytes), size_, library_.c_str(), mpi_us, off_us, native_us,
            native_us / mpi_us);
        std::fflush(stdout);
    }

    const MeshscopeMpi& mpi_;
    MeshscopeMpiHandle bare_;
    std::string library_;
    int32_t size_;
    comm::Transport& transport_;
    std::unique_ptr<tensor::Device> device_;
    tensor::Allocator memory_;
    StreamExecutor executor_;
    std::vector<GlobalRank> members_;
    MeshscopeMpiCall barrier_{};
};

}  // namespace

int main(int argc, char** argv) {
    const std::string word = argc > 1 ? argv[1] : "openmpi";
    const int32_t size = argc > 2 ? std::atoi(argv[2]) : 2;
    for (const backends::mpi::Library& library : backends::mpi::libraries()) {
        if (library.word != word) continue;
        const MeshscopeMpi& mpi = backends::mpi::load(library);
        run::WorldRequest request{size};
        request.one_thread_a_rank = [](int32_t) { return true; };
        const auto environment = [](const char* name) {
            const char* const value = std::getenv(name);
            return std::string(value != nullptr ? value : "");
        };
        const auto world = backends::make_registry(environment)->open("mpi-" + word, request);
        std::vector<int32_t> all;
        for (int32_t r = 0; r < size; ++r) all.push_back(r);
        MeshscopeMpiHandle bare_world{0}, bare{0};
        mpi.open(&bare_world);
        mpi.group(bare_world, all.data(), size, 0, &bare);
        world->run([&](comm::Transport& transport) {
            peer::pin(transport.rank().value);
            Bench bench(mpi, bare, word, size, transport);
            bench.measure("all_reduce", MESHSCOPE_ALL_REDUCE,
                          [](comm::ProcessGroup& group, const Tensor& full, const Tensor&) {
                              group.all_reduce(full, ReduceOp::sum, {.async_op = false});
                          });
            bench.measure("all_gather", MESHSCOPE_ALL_GATHER,
                          [](comm::ProcessGroup& group, const Tensor& full, const Tensor& part) {
                              group.all_gather(full, part, {}, {.async_op = false});
                          });
            bench.measure("reduce_scatter", MESHSCOPE_REDUCE_SCATTER,
                          [](comm::ProcessGroup& group, const Tensor& full, const Tensor& part) {
                              group.reduce_scatter(part, full, ReduceOp::sum, {}, {.async_op = false});
                          });
            bench.measure("broadcast", MESHSCOPE_BROADCAST,
                          [](comm::ProcessGroup& group, const Tensor& full, const Tensor&) {
                              group.broadcast(full, GroupRank{0}, {.async_op = false});
                          });
        });
    }
    return 0;
}
