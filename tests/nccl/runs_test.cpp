// Whole runs over NCCL's stand-in: what they come to, on host memory and on the stand-in for a GPU.
#include <string>
#include <vector>

#include "backends/cuda/cuda_world.h"
#include "backends/cuda/load_gpu.h"
#include "backends/nccl/gpu_rank_device.h"
#include "core/base/error.h"
#include "core/base/find_module.h"
#include "tests/nccl/backends.h"
#include "tests/run/golden_run.h"
#include "tests/test.h"

using namespace meshscope;
using nccl_test::Fake;

namespace {

/// One process's threads in the place of one process a rank, which the stand-in cannot bring together.
class NcclOnThreads final : public run::Backends {
  public:
    explicit NcclOnThreads(backends::nccl::NcclWorld::DeviceOf device_of)
        : device_of_(std::move(device_of)) {}
    std::unique_ptr<comm::World> open(const std::string&, const run::WorldRequest& request) const override {
        // All on one device: as NCCL from 2.30 may be allowed.
        backends::nccl::Library library = Fake::the().library;
        library.version = 23007;
        return std::make_unique<backends::nccl::NcclWorld>(
            backends::make_registry()->open("threads", {request.size}), library, device_of_,
            backends::nccl::NcclOptions{.timeouts = {}, .share_devices = true});
    }
    std::vector<std::string> names() const override { return {"nccl"}; }

  private:
    backends::nccl::NcclWorld::DeviceOf device_of_;
};

run::RunOptions options() {
    run::RunOptions made;
    made.backend = "nccl";
    made.level = trace::Level::collectives;
    return made;
}

const MeshscopeGpu& stand_in() {
    return backends::cuda::load_gpu_module(find_module(backends::cuda::kStandInModule));
}

std::vector<std::string> differences(const std::string& name, const run::Backends& backends,
                                     bool in_order = true) {
    const nlohmann::json gold = golden::read_case(name);
    return golden::differences(golden::outcome_of(golden::train(name, gold, backends, options())),
                               golden::expected(gold, name), in_order);
}

/// What the registry finds in an environment.
std::unique_ptr<run::Backends> registry_with(const std::string& nccl_module, const std::string& library,
                                             const std::string& gpu_module) {
    return backends::make_registry([=](const char* name) -> std::string {
        const std::string_view asked(name);
        if (asked == backends::nccl::kModuleVariable) return nccl_module;
        if (asked == backends::nccl::kLibraryVariable) return library;
        if (asked == backends::cuda::kModuleVariable) return gpu_module;
        return "";
    });
}

}  // namespace

TEST_CASE("golden runs come out over NCCL as PyTorch's, collectives and numbers") {
    const NcclOnThreads backends([](GlobalRank) { return backends::nccl::make_host_rank_device(); });
    for (const std::string name :
         {"toy_single", "toy_ddp4", "mlp_ddp2_buckets", "toy_fsdp3_uneven", "mlp_fsdp4", "mlp_hsdp2x2_clip",
          "mlp_fsdp2_bf16", "mlp_fsdp1_full2", "gpt_fsdp3_accumulate", "llama_tied_fsdp4"}) {
        INFO(name);
        CHECK(differences(name, backends) == std::vector<std::string>{});
    }
    for (const std::string name : {"gpt_tp4", "llama_hsdp2x2_tp2"}) {
        INFO(name);
        CHECK(differences(name, backends, false) == std::vector<std::string>{});
    }
}

TEST_CASE("pipelines train over NCCL, whose sends are sent behind the rank's back") {
    const NcclOnThreads backends([](GlobalRank) { return backends::nccl::make_host_rank_device(); });
    for (const std::string name : {"mlp_pp4_1f1b", "mlp_pp2_fsdp2_interleaved"}) {
        INFO(name);
        const nlohmann::json gold = golden::read_case(name);
        golden::Outcome ours = golden::outcome_of(golden::train(name, gold, backends, options()));
        golden::Outcome theirs = golden::expected(gold, name);
        ours.collectives.clear(), theirs.collectives.clear();  // ordered otherwise; tests/run holds them
        CHECK(golden::differences(ours, theirs) == std::vector<std::string>{});
    }
}

TEST_CASE("over NCCL with tensors on the stand-in for a GPU the numbers are PyTorch's as well") {
    const NcclOnThreads backends([](GlobalRank) {
        return backends::nccl::make_gpu_rank_device({&stand_in(), 0});
    });
    for (const std::string name : {"toy_ddp2", "mlp_fsdp4", "mlp_hsdp2x2_clip"}) {
        INFO(name);
        CHECK(differences(name, backends) == std::vector<std::string>{});
    }
    const nlohmann::json gold = golden::read_case("mlp_pp2_1f1b");
    golden::Outcome ours = golden::outcome_of(golden::train("mlp_pp2_1f1b", gold, backends, options()));
    golden::Outcome theirs = golden::expected(gold, "mlp_pp2_1f1b");
    ours.collectives.clear(), theirs.collectives.clear();
    CHECK(golden::differences(ours, theirs) == std::vector<std::string>{});
}

TEST_CASE("the mesh's groups of a run are made by splits of the world") {
    Fake::the().reset();
    const NcclOnThreads backends([](GlobalRank) { return backends::nccl::make_host_rank_device(); });
    CHECK(differences("toy_hsdp2x2", backends) == std::vector<std::string>{});
    CHECK(Fake::the().calls("ncclCommInitRankConfig") == 4);  // the world
    CHECK(Fake::the().calls("ncclCommSplit") == 4 * 2);       // replicate, shard
    CHECK(Fake::the().comms() == 0);
}

TEST_CASE("the registry opens nccl for one rank with all it needs, and says what is missing otherwise") {
    const std::string gpu = find_module(backends::cuda::kStandInModule);
    const auto whole = registry_with(MESHSCOPE_NCCL_MODULE, MESHSCOPE_FAKE_NCCL, gpu);
    CHECK(differences("toy_single", *whole) == std::vector<std::string>{});
    const nlohmann::json gold = golden::read_case("toy_single");
    CHECK(golden::train("toy_single", gold, *whole, options()).trace->info.backend == "nccl-stand-in");

    const auto refusal = [](const std::unique_ptr<run::Backends>& backends) -> std::string {
        try {
            backends->open("nccl", {1});
        } catch (const Error& error) {
            return error.message().id;
        }
        return "opened";
    };
    CHECK(refusal(registry_with("/nowhere.so", MESHSCOPE_FAKE_NCCL, gpu)) == "nccl.cannot_load");
    CHECK(refusal(registry_with(MESHSCOPE_NCCL_MODULE, "/nowhere.so", gpu)) == "nccl.no_library");
    CHECK(refusal(registry_with(MESHSCOPE_NCCL_MODULE, MESHSCOPE_FAKE_NCCL, "/nowhere.so")) ==
          "gpu.cannot_load");
}
