// A safetensors file; what is read must be there: every array has the bytes its shape asks for.
#include "core/data/safetensors.h"

#include <cstdlib>

#include "core/base/error.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(safetensors) {
    try {
        const auto file = meshscope::data::parse_safetensors(input, "weights.safetensors");
        for (const meshscope::data::NamedTensor& tensor : file.tensors) {
            const int64_t wanted = tensor.n_elements() * meshscope::bytes_per_element(tensor.dtype);
            if (static_cast<int64_t>(tensor.bytes.size()) != wanted) std::abort();
        }
    } catch (const meshscope::InputError&) {
    }
}
