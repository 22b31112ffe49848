#include "backends/registry.h"

#include "core/base/error.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

std::string refusal(const std::string& backend, int32_t world_size) {
    try {
        backends::make_registry()->open(backend, {world_size});
        return "opened";
    } catch (const InvalidArgument& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("the registry opens what this build has and tells apart the unbuilt from the unknown") {
    const auto registry = backends::make_registry();
    const std::string known = "threads, fibers, tcp, cuda, nccl, mpi, mpi-openmpi, mpi-mpich";
    CHECK(registry->names() == std::vector<std::string>{"threads", "fibers", "tcp", "cuda", "nccl", "mpi",
                                                        "mpi-openmpi", "mpi-mpich"});
    CHECK(registry->open("threads", {3})->size() == 3);
    CHECK(registry->open("fibers", {3})->size() == 3);
    CHECK(refusal("thread", 2) == "backend.unknown(name=thread, known=" + known + ")");
    CHECK(refusal("tcp", 2) == "backend.needs_launcher(name=tcp, ranks=2)");
    CHECK(refusal("threads", 0) == "backend.world_size(world_size=0)");
    CHECK(refusal("fibers", 0) == "backend.world_size(world_size=0)");
}
