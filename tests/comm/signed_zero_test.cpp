// Numbers that are equal and not the same: of them all ranks must be left with the same bits.
#include <array>
#include <bit>

#include "core/comm/choice.h"
#include "tests/contract/harness.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

TEST_CASE("of 0 and -0 every rank is left with the same one, whatever the algorithm") {
    for (const Algorithm algorithm : comm::algorithms_of(CollectiveOp::all_reduce))
        for (int32_t p = 2; p <= 6; ++p) {
            const auto results = run_ranks("threads", p, Mode::inline_in_wait, [&](Rank& rank) {
                const auto world = rank.world(algorithm);
                std::vector<std::array<uint32_t, 7>> bits;
                for (const ReduceOp op : {ReduceOp::max, ReduceOp::min})
                    for (int32_t negative = 0; negative < p; ++negative) {
                        const float mine = rank.rank() == negative ? -0.0F : 0.0F;
                        const Tensor t = rank.floats(std::vector<float>(7, mine));
                        world->all_reduce(t, op).wait();
                        std::array<uint32_t, 7> seen{};
                        for (std::size_t i = 0; i < seen.size(); ++i)
                            seen[i] = std::bit_cast<uint32_t>(t.data<float>()[i]);
                        bits.push_back(seen);
                    }
                return bits;
            });
            INFO(name(algorithm) << " on " << p << " ranks");
            for (std::size_t r = 1; r < results.size(); ++r) CHECK(results[r] == results[0]);
        }
}
