#include "backends/registry.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/cuda_world.h"
#include "backends/fibers/fibers_world.h"
#include "backends/mpi/mpi_module.h"
#include "backends/mpi/mpi_world.h"
#include "backends/nccl_open.h"
#include "backends/tcp/launch_token.h"
#include "backends/tcp/tcp_world.h"
#include "backends/threads/threads_world.h"
#include "core/base/error.h"
#include "core/base/joined.h"

namespace meshscope::backends {
namespace {

using launch::Environment;
using launch::Launcher;
using WorldPointer = std::unique_ptr<comm::World>;

struct Entry {
    std::string name;
    std::function<WorldPointer(const run::WorldRequest&)> open;
};

/// The library of the mpiexec that started this process, else the first that is there.
mpi::Library choose_library(const Environment& environment) {
    const std::vector<mpi::Library> all = mpi::libraries();
    const Launcher launcher = launch::find_placement(environment).launcher;
    for (const mpi::Library& library : all) {
        if (launcher == Launcher::openmpi && library.word == "openmpi") return library;
        if (launcher == Launcher::mpich && library.word == "mpich") return library;
    }
    const auto built =
        std::ranges::find_if(all, [](const mpi::Library& library) { return !library.path.empty(); });
    return built != all.end() ? *built : all.front();
}

/// Processes take a while to start, however short the waits in their calls shall be.
constexpr std::chrono::milliseconds kLeastMeeting{20'000};

/// How this process joins a world over TCP, by the variables that its launcher set.
tcp::TcpOptions tcp_options(const Environment& environment, const std::function<bool()>& stopped,
                            const run::WorldRequest& request) {
    const launch::Placement placement = launch::find_placement(environment);
    if (placement.launcher == Launcher::none && request.size > 1)
        throw InvalidArgument(
            {"backend.needs_launcher", {{"name", std::string("tcp")}, {"ranks", int64_t{request.size}}}});
    if (placement.world_size != request.size)
        throw InvalidArgument({"backend.wrong_launch",
                               {{"launcher", launch::launcher_name(placement)},
                                {"started", int64_t{placement.world_size}},
                                {"wanted", int64_t{request.size}}}});
    tcp::TcpOptions options;
    options.rank = placement.rank;
    options.world_size = placement.world_size;
    options.local_world_size = placement.local_world_size;
    options.run_id = placement.run_id;
    options.attempt = placement.round;
    options.token = tcp::token_of_environment().value_or(tcp::Token());
    if (const std::string bind = environment("MESHSCOPE_BIND"); !bind.empty()) options.bind = bind;
    if (stopped) options.stopped = stopped;
    options.near_memory = environment("MESHSCOPE_TCP_NEAR_MEMORY") != "0";
    if (request.timeout.count() > 0) {
        options.timeouts.operation = request.timeout;
        options.timeouts.connect = std::max(request.timeout, kLeastMeeting);
    }
    options.log = request.tell;
    options.init_method = request.init_method;
    if (options.init_method.empty() || options.init_method == "env://") {
        options.host_store = placement.store.empty();
        // One rank has nobody to meet.
        const std::string address = request.size > 1 ? launch::store_address(placement) : placement.store;
        if (address.empty() && request.size > 1)
            throw InvalidArgument({"backend.no_master", {{"launcher", launch::launcher_name(placement)}}});
        options.init_method = "tcp://" + (address.empty() ? "127.0.0.1:0" : address);
    }
    return options;
}

WorldPointer open_mpi(const mpi::Library& library, const run::WorldRequest& request,
                      const Environment& environment) {
    const bool chosen = request.timeout.count() > 0;
    bool one_thread = false;
    if (request.one_thread_a_rank) {
        const int32_t here = launch::find_placement(environment).local_world_size;
        one_thread = here > 0 && request.one_thread_a_rank(here);
    }
    return std::make_unique<mpi::MpiWorld>(
        library, request.size, chosen ? request.timeout : mpi::MpiWorld::kLongestWait, request.tell,
        one_thread ? mpi::MpiWorld::Threads::one : mpi::MpiWorld::Threads::take_turns);
}

/// What this build has. A new backend is one more line.
std::vector<Entry> built(const Environment& environment, const std::function<bool()>& stopped) {
    std::vector<Entry> entries{{"threads", [](const run::WorldRequest& request) {
                                    return std::make_unique<threads::ThreadsWorld>(request.size,
                                                                                   request.scheduler);
                                }}};
    entries.push_back({"fibers", [](const run::WorldRequest& request) {
                           return std::make_unique<fibers::FibersWorld>(request.size, request.scheduler);
                       }});
    entries.push_back({"tcp", [environment, stopped](const run::WorldRequest& request) -> WorldPointer {
                           return std::make_unique<tcp::TcpWorld>(tcp_options(environment, stopped, request));
                       }});
    entries.push_back({"cuda", [environment](const run::WorldRequest& request) -> WorldPointer {
                           return std::make_unique<cuda::CudaWorld>(
                               request.size, environment(cuda::kModuleVariable),
                               cuda::tf32_of(environment(cuda::kTf32Variable)));
                       }});
    entries.push_back({"nccl", [environment, stopped](const run::WorldRequest& request) -> WorldPointer {
                           auto meeting =
                               std::make_unique<tcp::TcpWorld>(tcp_options(environment, stopped, request));
                           return open_nccl(environment, std::move(meeting), request.timeout);
                       }});
    bool any = false;
    for (const mpi::Library& library : mpi::libraries()) {
        if (library.path.empty()) continue;
        if (!any)
            entries.push_back({"mpi", [environment](const run::WorldRequest& request) -> WorldPointer {
                                   return open_mpi(choose_library(environment), request, environment);
                               }});
        any = true;
        entries.push_back(
            {"mpi-" + library.word, [library, environment](const run::WorldRequest& request) -> WorldPointer {
                 return open_mpi(library, request, environment);
             }});
    }
    return entries;
}

/// Names that mean something, whether or not they are in this build.
constexpr std::array<std::string_view, 3> kKnown{"mpi", "mpi-openmpi", "mpi-mpich"};

class Registry final : public run::Backends {
  public:
    explicit Registry(const Environment& environment, const std::function<bool()>& stopped = {})
        : entries_(built(environment, stopped)) {}

    std::unique_ptr<comm::World> open(const std::string& name,
                                      const run::WorldRequest& request) const override {
        for (const Entry& entry : entries_)
            if (entry.name == name) return entry.open(request);
        refuse(name);
    }
    [[noreturn]] void refuse(const std::string& name) const {
        const bool known = std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
        throw InvalidArgument(
            {known ? "backend.not_built" : "backend.unknown", {{"name", name}, {"known", joined(names())}}});
    }
    std::vector<std::string> names() const override {
        std::vector<std::string> words;
        for (const Entry& entry : entries_) words.push_back(entry.name);
        return words;
    }

  private:
    std::vector<Entry> entries_;
};

}  // namespace

std::unique_ptr<run::Backends> make_registry(Environment environment, std::function<bool()> stopped) {
    if (!environment) environment = [](const char*) { return std::string(); };
    return std::make_unique<Registry>(environment, stopped);
}

std::string window_backend() {
    return {};
}

bool has_processes(const std::string& name) {
    return name == "tcp" || name.starts_with("nccl") || name.starts_with("mpi");
}

void require_built(const std::string& name, const launch::Environment& environment) {
    const auto nothing = [](const char*) { return std::string(); };
    const Registry registry(nothing);
    const std::vector<std::string> names = registry.names();
    if (std::ranges::find(names, name) == names.end()) registry.refuse(name);
    if (name == "nccl") require_nccl(environment ? environment : nothing);
}

namespace {

/// Of a backend that is one of MPI.
std::optional<mpi::Library> mpi_of(const std::string& name) {
    if (!name.starts_with("mpi")) return std::nullopt;
    for (const mpi::Library& library : mpi::libraries())
        if (library.word == mpi_library_of(name)) return library;
    return std::nullopt;
}

}  // namespace

int64_t mapped_bytes(const std::string& name) {
    const auto library = mpi_of(name);
    return library ? library->mapped_bytes : 0;
}

int64_t threads_of_mpi(const std::string& name, int32_t ranks) {
    const auto library = mpi_of(name);
    return library ? library->threads_of_mpiexec + int64_t{ranks} * library->threads_of_rank : 0;
}

std::string mpi_library_of(const std::string& name) {
    if (name.starts_with("mpi-")) return name.substr(4);
    return choose_library([](const char*) { return std::string(); }).word;
}

std::vector<BackendState> backend_states() {
    std::vector<BackendState> states{
        {"threads", true, "", "", {}}, {"fibers", true, "", "", {}}, {"tcp", true, "", "", {}}};
    for (const mpi::Library& library : mpi::libraries()) {
        BackendState state{"mpi-" + library.word, !library.path.empty(), "", library.package, {}};
        if (state.built) {
            std::array<char, 256> text{};
            try {
                mpi::load(library).library(text.data(), static_cast<int32_t>(text.size()));
                state.library = text.data();
            } catch (const Error& error) {
                state.fault = error.message();
            }
        }
        states.push_back(std::move(state));
    }
    return states;
}

}  // namespace meshscope::backends
