// Runs a scenario, which saves its checkpoints, and ends as `meshscope run` does, but starts in a fraction of
// its time: it is started hundreds of times.
#include <cstdio>

#include "backends/registry.h"
#include "core/base/error.h"
#include "core/run/run.h"
#include "core/scenario/scenario.h"
#include "core/tensor/blas.h"

int main(int argc, char** argv) {
    using namespace meshscope;
    constexpr int kInputOutput = 74;
    if (argc != 2) return 2;
    try {
        tensor::use_matrix_product_library("plain");  // the others make their code first
        run::run_scenario(scenario::read_scenario(argv[1]), *backends::make_registry(), {});
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", describe(error.message()).c_str());
        return kInputOutput;
    }
    return 0;
}
