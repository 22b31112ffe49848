// A collective algorithm: the TOML form or MSCCL XML, put together and proved.
#include "core/base/error.h"
#include "core/comm/schedule/own/own_algorithm.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(algorithm) {
    try {
        const auto algorithm = meshscope::comm::OwnAlgorithm::parse(std::string(input), "algorithm");
        const int32_t ranks = algorithm->ranks().value_or(3);
        if (ranks <= 8) algorithm->proved(ranks);
    } catch (const meshscope::InputError&) {
    } catch (const meshscope::InvalidArgument&) {
    }
}
