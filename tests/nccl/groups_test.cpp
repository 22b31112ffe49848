#include <numeric>

#include "core/base/error.h"
#include "tests/contract/harness.h"
#include "tests/contract/outcome.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;
using nccl_test::Fake;

namespace {

std::vector<GlobalRank> ranks_of(const std::vector<int32_t>& numbers) {
    std::vector<GlobalRank> ranks;
    for (const int32_t n : numbers) ranks.push_back({n});
    return ranks;
}

/// Opens a world whose ranks' devices are called so, and runs nothing.
std::string outcome_on(const std::vector<std::string>& devices, backends::nccl::NcclOptions options = {}) {
    const auto world =
        open_nccl_world("threads", static_cast<int32_t>(devices.size()), options,
                        [&](GlobalRank rank) { return devices[static_cast<std::size_t>(rank.value)]; });
    try {
        world->run([](comm::Transport&) {});
    } catch (const Error& error) {
        return error.what();
    }
    return "fine";
}

}  // namespace

TEST_CASE("the groups of a mesh dim are made by one ncclCommSplit, as PyTorch's split_group") {
    Fake& fake = Fake::the();
    fake.reset();
    const std::vector<std::vector<GlobalRank>> groups{ranks_of({0, 1, 2, 3, 4, 5, 6, 7}),
                                                      ranks_of({0, 4}),
                                                      ranks_of({1, 5}),
                                                      ranks_of({2, 6}),
                                                      ranks_of({3, 7}),
                                                      ranks_of({0, 1, 2, 3}),
                                                      ranks_of({4, 5, 6, 7}),
                                                      ranks_of({0, 1, 2, 3}),
                                                      ranks_of({5, 6})};
    const auto sums = run_ranks("nccl over threads", 8, Mode::inline_in_wait, [&](Rank& rank) {
        rank.transport.abilities().library->announce_groups(groups);
        const int32_t r = rank.rank();
        std::vector<float> out;
        const auto sum_in = [&](int32_t index, const std::vector<int32_t>& members) {
            const Tensor t = rank.floats({static_cast<float>(1 << r)});
            rank.group(index, members)->all_reduce(t, ReduceOp::sum).wait();
            out.push_back(floats_of(t)[0]);
        };
        sum_in(0, {0, 1, 2, 3, 4, 5, 6, 7});
        sum_in(1 + r % 4, {r % 4, r % 4 + 4});
        sum_in(5 + r / 4, r < 4 ? std::vector<int32_t>{0, 1, 2, 3} : std::vector<int32_t>{4, 5, 6, 7});
        if (r == 5 || r == 6) sum_in(8, {5, 6});
        return out;
    });
    for (int32_t r = 0; r < 8; ++r) {
        std::vector<float> expected{255, static_cast<float>((1 << r % 4) + (1 << (r % 4 + 4))),
                                    r < 4 ? 15.0F : 240.0F};
        if (r == 5 || r == 6) expected.push_back(96);
        CHECK(sums[static_cast<std::size_t>(r)] == expected);
    }
    // Two mesh dims and one group apart, by all eight ranks; the world was made once, nothing else by an id.
    CHECK(fake.calls("ncclCommSplit") == 3 * 8);
    CHECK(fake.calls("ncclCommInitRankConfig") == 8);
    CHECK(fake.calls("ncclGetUniqueId") == 1);
    CHECK(fake.comms() == 0);
}

TEST_CASE("a group that nobody announced is made by its members alone") {
    Fake& fake = Fake::the();
    fake.reset();
    const auto sums = run_ranks("nccl over tcp", 4, Mode::inline_in_wait, [&](Rank& rank) {
        if (rank.rank() == 2) return 0.0F;
        const Tensor t = rank.floats({static_cast<float>(1 << rank.rank())});
        rank.group(3, {0, 1, 3})->all_reduce(t, ReduceOp::sum).wait();
        return floats_of(t)[0];
    });
    CHECK(sums == std::vector<float>{11, 11, 0, 11});
    CHECK(fake.calls("ncclCommInitRankConfig") == 4 + 3);
    CHECK(fake.comms() == 0);
}

TEST_CASE("over TCP the same collectives come out, and send and recv in any order") {
    const auto results = run_ranks("nccl over tcp", 3, Mode::helper_thread, [](Rank& rank) {
        const auto world = rank.world();
        const int32_t next = (rank.rank() + 1) % 3, previous = (rank.rank() + 2) % 3;
        const Tensor mine = rank.floats(std::vector<float>(5000, static_cast<float>(rank.rank())));
        for (int i = 0; i < 3; ++i) world->send(mine, GroupRank{next});
        world->barrier().wait();
        const Tensor got = rank.floats(std::vector<float>(5000, -1));
        for (int i = 0; i < 3; ++i) world->recv(got, GroupRank{previous}).wait();
        return floats_of(got);
    });
    for (const int rank : {0, 1, 2}) {
        const bool from_the_previous =
            results[static_cast<std::size_t>(rank)] ==
            std::vector<float>(5000, static_cast<float>((rank + 2) % 3));  // a CHECK of it would print it
        CHECK(from_the_previous);
    }
}

TEST_CASE("memory that is sent from is registered once, used again, and let go") {
    Fake& fake = Fake::the();
    fake.reset();
    run_ranks("nccl over threads", 2, Mode::inline_in_wait, [](Rank& rank) {
        const auto world = rank.world();
        for (int i = 0; i < 20; ++i) {
            const Tensor t = rank.floats(std::vector<float>(1000, 1));
            if (rank.rank() == 0)
                world->send(t, GroupRank{1}).wait();
            else
                world->recv(t, GroupRank{0}).wait();
            world->barrier().wait();
        }
        return 0;
    });
    CHECK(fake.calls("ncclSend") == 20);
    CHECK(fake.calls("ncclCommRegister") >= 1);
    CHECK(fake.calls("ncclCommRegister") <= 2);
    CHECK(fake.calls("ncclCommDeregister") == fake.calls("ncclCommRegister"));
    CHECK(fake.buffers() == 0);
    CHECK(fake.comms() == 0);
}

TEST_CASE("each collective is one span in the record, by the algorithm native, without hops") {
    std::vector<trace::RankRecord> records;
    run_ranks(
        "nccl over threads", 2, Mode::inline_in_wait,
        [](Rank& rank) {
            const auto world = rank.world();
            const Tensor t = rank.floats({1, 2, 3});
            world->all_reduce(t, ReduceOp::sum).wait();
            if (rank.rank() == 0)
                world->send(t, GroupRank{1}).wait();
            else
                world->recv(t, GroupRank{0}).wait();
            return 0;
        },
        &records);
    for (const trace::RankRecord& record : records) {
        REQUIRE(record.events.size() == 2);
        CHECK(record.hops.empty());
        for (const trace::Event& event : record.events) {
            CHECK(event.algorithm == Algorithm::native);
            CHECK(event.t_end_ns >= event.t_begin_ns);
            CHECK(event.t_begin_ns >= event.t_issue_ns);
        }
    }
    CHECK(records[0].events[1].op == CollectiveOp::send);
    CHECK(records[0].events[1].sent_bytes == 12);
}

TEST_CASE("two ranks on one GPU are refused with the way out, unless the loaded NCCL may put them there") {
    Fake& fake = Fake::the();
    fake.reset();
    CHECK(outcome_on({"a/0", "a/1", "b/0", "b/1"}) == "fine");
    CHECK(outcome_on({"a/0", "a/1", "a/0", "b/1"}) == "nccl.duplicate_gpu(rank=0, other=2, version=2.28.9)");
    // Asked for, but this NCCL cannot.
    CHECK(outcome_on({"a/0", "a/0"}, {.timeouts = {}, .share_devices = true}) ==
          "nccl.duplicate_gpu(rank=0, other=1, version=2.28.9)");
    fake.set_version(23007);
    Fake::the().library = backends::nccl::load(fake.choice);
    CHECK(outcome_on({"a/0", "a/0"}) == "nccl.duplicate_gpu(rank=0, other=1, version=2.30.7)");
    CHECK(outcome_on({"a/0", "a/0"}, {.timeouts = {}, .share_devices = true}) == "fine");
    fake.reset();
    Fake::the().library = backends::nccl::load(fake.choice);
    CHECK(fake.comms() == 0);
}
