// What the algorithm native costs above the bare MPI call, measured in one process, call by call in turn:
// under mpiexec, arguments: openmpi or mpich, and the ranks. Rank 0 prints a JSON line a size: medians in µs
// of MPI_Allreduce itself (blocking; where ranks outnumber cores also as MPI_Iallreduce is waited for), and
// of all_reduce of a NativeGroup with its checks, executor and record.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "backends/mpi/mpi_module.h"
#include "backends/registry.h"
#include "core/comm/native_group.h"
#include "tests/contract/harness.h"

using namespace meshscope;
using namespace meshscope::contract;
using Clock = std::chrono::steady_clock;

namespace {

double median(std::vector<double> times) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
}

template <class Work>
double micros(const Work& work) {
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

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
        MeshscopeMpiHandle bare_world{0}, bare_group{0};
        mpi.open(&bare_world);
        std::vector<int32_t> all;
        for (int32_t r = 0; r < size; ++r) all.push_back(r);
        mpi.group(bare_world, all.data(), size, 0, &bare_group);
        world->run([&](comm::Transport& transport) {
            const auto device = tensor::make_cpu_device();
            trace::Recorder recorder(transport.rank(), trace::Level::collectives, 0);
            tensor::Allocator memory(*device, &recorder);
            StreamExecutor executor(transport, Mode::inline_in_wait);
            std::vector<GlobalRank> members;
            for (const int32_t r : all) members.push_back({r});
            comm::NativeGroup group(executor, 0, "world", members, comm::Channel{0}, &recorder);
            const Rank rank{transport, executor, memory, recorder};
            for (const int64_t bytes : {1024, 65536, 1 << 20, 16 << 20}) {
                const int64_t n = bytes / 4;
                const Tensor t = rank.zeros(n);
                MeshscopeMpiCall call{};
                call.op = MESHSCOPE_ALL_REDUCE;
                call.kind = MESHSCOPE_MPI_FLOAT;
                call.in_place = 1;
                call.out = t.raw();
                call.elements = n;
                call.blocking = 1;
                MeshscopeMpiHandle begun{0};
                const int times = bytes > (1 << 20)                                                  ? 40
                                  : size > static_cast<int32_t>(std::thread::hardware_concurrency()) ? 60
                                                                                                     : 400;
                std::vector<double> bare, ours;
                for (int i = 0; i < times + 10; ++i) {
                    const double a = micros([&] { mpi.collective(bare_group, &call, &begun); });
                    const double b = micros([&] { group.all_reduce(t, ReduceOp::sum, {.async_op = false}); });
                    if (i < 10) continue;
                    bare.push_back(a);
                    ours.push_back(b);
                }
                if (rank.rank() == 0)
                    std::printf(
                        "{\"op\":\"all_reduce\",\"bytes\":%lld,\"ranks\":%d,\"library\":\"%s\",\"mpi_us\":%."
                        "2f,"
                        "\"native_us\":%.2f,\"ratio\":%.3f}\n",
                        static_cast<long long>(bytes), size, word.c_str(), median(bare), median(ours),
                        median(ours) / median(bare));
            }
            executor.finish();
        });
    }
    return 0;
}
