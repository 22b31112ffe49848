// Runs a scenario, which saves its checkpoints, writes its trace and its weights where they are asked for,
// and ends as `meshscope run` does, but starts in a fraction of its time: it is started hundreds of times.
// usage: test_saver SCENARIO [TRACE WEIGHTS]
#include <cstdio>
#include <utility>
#include <vector>

#include "backends/registry.h"
#include "core/base/error.h"
#include "core/data/safetensors.h"
#include "core/run/run.h"
#include "core/scenario/scenario.h"
#include "core/tensor/blas.h"
#include "core/trace/store.h"

int main(int argc, char** argv) {
    using namespace meshscope;
    constexpr int kInputOutput = 74;
    if (argc != 2 && argc != 4) return 2;
    try {
        tensor::use_matrix_product_library("plain");  // the others make their code first
        const run::RunResult result =
            run::run_scenario(scenario::read_scenario(argv[1]), *backends::make_registry(), {});
        if (argc == 2) return 0;
        trace::write_trace(*result.trace, argv[2]);
        std::vector<data::NamedTensor> tensors;
        for (const run::NamedArray& array : result.parameters)
            tensors.push_back(data::named_floats(array.name, array.shape, array.numbers));
        data::write_safetensors(argv[3], std::move(tensors));
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", describe(error.message()).c_str());
        return kInputOutput;
    }
    return 0;
}
