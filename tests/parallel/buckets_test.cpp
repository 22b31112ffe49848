#include "core/parallel/ddp/buckets.h"
#include "tests/test.h"

using namespace meshscope::parallel;

TEST_CASE("ten Linear(1024,1024) fill PyTorch's default buckets") {
    // Arrival: a layer's bias, then its weight, from the last layer to the first.
    std::vector<int64_t> bytes;
    for (int layer = 0; layer < 10; ++layer) {
        bytes.push_back(1024 * 4);
        bytes.push_back(1024 * 1024 * 4);
    }
    std::vector<int64_t> bucket_bytes;
    for (const auto& bucket : assign_buckets(bytes, BucketCaps::of(std::nullopt))) {
        bucket_bytes.push_back(0);
        for (const int32_t i : bucket) bucket_bytes.back() += bytes[static_cast<std::size_t>(i)];
    }
    CHECK(bucket_bytes == std::vector<int64_t>{4'198'400, 29'388'800, 8'396'800});
}

TEST_CASE("a given cap replaces both caps, in whole bytes") {
    const BucketCaps caps = BucketCaps::of(0.001);
    CHECK(caps.first == 1048);
    CHECK(caps.rest == 1048);
    // One layer of the mlp case: bias 8, weight 128, bias 16, weight 128 floats.
    const std::vector<int64_t> bytes{32, 512, 64, 512, 32, 512, 64, 512};
    CHECK(assign_buckets(bytes, caps) == std::vector<std::vector<int32_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}});
}

TEST_CASE("what never reaches the cap is one last bucket, and nothing makes none") {
    CHECK(assign_buckets(std::vector<int64_t>{4, 4}, {}) == std::vector<std::vector<int32_t>>{{0, 1}});
    CHECK(assign_buckets(std::vector<int64_t>{}, {}).empty());
}
