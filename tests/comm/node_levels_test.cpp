#include "core/base/node_levels.h"

#include "core/comm/schedule/pipeline_chunks.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::comm;
using Nodes = std::vector<std::vector<int32_t>>;

TEST_CASE("nodes that were told are taken as told: nodes nobody told are blocks of about the root of p") {
    const std::vector<int32_t> told{7, 3, 7, 3, 3};
    const NodeLevels levels(5, told);
    CHECK(levels.nodes == Nodes{{0, 2}, {1, 3, 4}});
    CHECK(levels.node == std::vector<int32_t>{0, 1, 0, 1, 1});
    CHECK(levels.place == std::vector<int32_t>{0, 0, 1, 1, 2});
    CHECK(levels.largest == 3);
    CHECK(levels.smallest == 2);
    CHECK(NodeLevels(2, {}).nodes == Nodes{{0, 1}});
    CHECK(NodeLevels(4, {}).nodes == Nodes{{0, 1}, {2, 3}});
    CHECK(NodeLevels(6, {}).nodes == Nodes{{0, 1, 2, 3}, {4, 5}});
    CHECK(NodeLevels(8, {}).nodes == Nodes{{0, 1, 2, 3}, {4, 5, 6, 7}});
    CHECK(NodeLevels(11, {}).nodes == Nodes{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10}});
    const std::vector<int32_t> one(4, 9);  // one node says nothing of two levels
    CHECK(NodeLevels(4, one).nodes == Nodes{{0, 1}, {2, 3}});
}

TEST_CASE(
    "a pipeline has chunks of 64 KiB, at least 4 and at most 64, and none empty while there are elements") {
    CHECK(pipeline_chunks(0, 4) == 1);
    CHECK(pipeline_chunks(3, 4) == 3);
    CHECK(pipeline_chunks(100, 4) == 4);
    CHECK(pipeline_chunks(16384 * 9, 4) == 9);
    CHECK(pipeline_chunks(16384 * 9 + 1, 4) == 10);
    CHECK(pipeline_chunks(int64_t{1} << 30, 4) == 64);
}
