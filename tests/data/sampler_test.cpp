#include "core/data/sampler.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using data::DistributedSampler;
using nlohmann::json;
using Indices = std::vector<int64_t>;
using Batches = std::vector<Indices>;

TEST_CASE("every sampler of golden/misc.json gives PyTorch's indices and batches") {
    std::ifstream in(test::golden_folder() + "/misc.json");
    const json golden = json::parse(in);
    int cases = 0;
    for (const json& row : golden.at("distributed_sampler")) {
        INFO("samples " << row.at("n") << " world " << row.at("world") << " drop_last "
                        << row.at("drop_last"));
        const DistributedSampler sampler({.samples = row.at("n").get<int64_t>(),
                                          .world_size = row.at("world").get<int64_t>(),
                                          .drop_last = row.at("drop_last").get<bool>()});
        const auto batch_size = row.at("batch_size").get<int64_t>();
        REQUIRE(std::cmp_equal(row.at("ranks").size(), sampler.options().world_size));
        for (std::size_t rank = 0; rank < row.at("ranks").size(); ++rank) {
            const json& expected = row.at("ranks").at(rank);
            const Indices indices = sampler.indices(static_cast<int64_t>(rank));
            CHECK(indices == expected.at("indices").get<Indices>());
            CHECK(data::batches_of(indices, batch_size, false) == expected.at("batches").get<Batches>());
            CHECK(data::batches_of(indices, batch_size, true) ==
                  expected.at("batches_drop_last").get<Batches>());
        }
        ++cases;
    }
    CHECK(cases == 24);
}

TEST_CASE("three samples on eight ranks begin again twice") {
    const DistributedSampler sampler({.samples = 3, .world_size = 8});
    Indices first;
    for (int64_t rank = 0; rank < 8; ++rank) {
        REQUIRE(sampler.samples_per_rank() == 1);
        first.push_back(sampler.index(rank, 0));
        CHECK(sampler.is_padding(rank, 0) == (rank >= 3));
    }
    CHECK(first == Indices{0, 1, 2, 0, 1, 2, 0, 1});
}

TEST_CASE("a shuffled epoch is PyTorch's randperm of seed + epoch") {
    DistributedSampler sampler({.samples = 11, .world_size = 2, .shuffle = true, .seed = 3});
    sampler.set_epoch(2);
    CHECK(sampler.indices(0) == Indices{9, 0, 10, 3, 7, 4});
    // seed + epoch is all that counts, and forgetting set_epoch repeats the order.
    DistributedSampler other({.samples = 11, .world_size = 2, .shuffle = true, .seed = 5});
    CHECK(other.indices(0) == sampler.indices(0));
    CHECK(other.indices(1) == sampler.indices(1));
    other.set_epoch(1);
    CHECK(other.indices(0) != sampler.indices(0));
}

TEST_CASE("mt19937 is the generator of Matsumoto and Nishimura, and a permutation holds each number once") {
    // Of two elements: one draw, its last bit decides. 5489 is the reference program's default seed, whose
    // first output is 3499211612, an even number.
    CHECK(data::randperm(2, 5489) == Indices{0, 1});
    // The second output is 581869302: 3499211612 mod 3 = 2, then 581869302 mod 2 = 0.
    CHECK(data::randperm(3, 5489) == Indices{2, 1, 0});
    CHECK(data::randperm(0, 1).empty());
    CHECK(data::randperm(1, 1) == Indices{0});
    // The generator has 32 bits of seed.
    CHECK(data::randperm(50, 7) == data::randperm(50, (uint64_t{1} << 32) + 7));
    Indices sorted = data::randperm(1000, 12);
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) CHECK(sorted[i] == static_cast<int64_t>(i));
}

TEST_CASE("every sample is seen once in an epoch, padding aside") {
    for (const int64_t samples : {1, 7, 64, 97})
        for (const int64_t world : {1, 2, 5, 8, 100}) {
            INFO(samples << " on " << world);
            const DistributedSampler sampler(
                {.samples = samples, .world_size = world, .shuffle = true, .seed = 9});
            Indices seen;
            for (int64_t rank = 0; rank < world; ++rank)
                for (int64_t i = 0; i < sampler.samples_per_rank(); ++i)
                    if (!sampler.is_padding(rank, i)) seen.push_back(sampler.index(rank, i));
            std::ranges::sort(seen);
            REQUIRE(std::cmp_equal(seen.size(), samples));
            for (std::size_t i = 0; i < seen.size(); ++i) CHECK(std::cmp_equal(seen[i], i));
        }
}

TEST_CASE("impossible samplers are refused") {
    CHECK_THROWS_AS(DistributedSampler({.samples = -1}), InvalidArgument);
    CHECK_THROWS_AS(DistributedSampler({.samples = 1, .world_size = 0}), InvalidArgument);
    CHECK_THROWS_AS(DistributedSampler({.samples = int64_t{1} << 40, .shuffle = true}), InvalidArgument);
    CHECK_THROWS_AS(data::batches_of({1, 2}, 0, false), InvalidArgument);
    CHECK(DistributedSampler({.samples = int64_t{1} << 40, .world_size = 4}).index(3, 2) == 11);
    CHECK(DistributedSampler({.samples = 0, .world_size = 3}).indices(0).empty());
}
