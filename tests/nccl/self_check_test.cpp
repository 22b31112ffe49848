#include "backends/nccl/self_check.h"

#include "tests/nccl/backends.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::backends::nccl;

namespace {

constexpr std::array<int64_t, 3> kSizes{1, 1000, 20'011};

NcclWorld world_of(int32_t n, const NcclWorld::DeviceOf& device_of) {
    return NcclWorld(backends::make_registry()->open("threads", {n}), nccl_test::Fake::the().library,
                     device_of);
}

std::unique_ptr<RankDevice> host(GlobalRank) {
    return make_host_rank_device();
}

/// A device whose memory has a bit that is stuck: what is read back from it is wrong in one place.
class Damaged final : public RankDevice {
  public:
    int32_t ordinal() const override { return -1; }
    std::string identity() const override { return ""; }
    std::unique_ptr<tensor::Device> make_device() override { return inner_->make_device(); }
    void settle() override {}
    std::byte* allocate(int64_t bytes) override { return inner_->allocate(bytes); }
    void free(std::byte* memory) noexcept override { inner_->free(memory); }
    void copy(std::byte* to, const std::byte* from, int64_t bytes) override { inner_->copy(to, from, bytes); }
    void write(std::byte* to, const std::byte* from, int64_t bytes) override {
        inner_->copy(to, from, bytes);
    }
    void read(std::byte* to, const std::byte* from, int64_t bytes) override {
        inner_->copy(to, from, bytes);
        if (bytes >= 4000) to[403] ^= std::byte{1};
    }

  private:
    std::unique_ptr<RankDevice> inner_ = make_host_rank_device();
};

}  // namespace

TEST_CASE("the self-check finds every collective right on 1 to 4 ranks, at all sizes") {
    for (const int32_t n : {1, 2, 3, 4}) {
        NcclWorld world = world_of(n, host);
        const auto all = check_collectives(world, host, kSizes);
        CHECK(all.size() == (n == 1 ? 3 * 13 + 1 : 3 * 15 + 1));
        for (const CheckedCollective& one : all) {
            INFO(n << " ranks, " << name(one.op) << " " << name(one.reduce_op) << " " << one.elements);
            CHECK(one.wrong == 0);
        }
    }
}

TEST_CASE("the self-check sees a single wrong number on one rank") {
    const auto device_of = [](GlobalRank rank) -> std::unique_ptr<RankDevice> {
        if (rank.value == 1) return std::make_unique<Damaged>();
        return make_host_rank_device();
    };
    NcclWorld world = world_of(2, device_of);
    int64_t wrong = 0, small_wrong = 0;
    for (const CheckedCollective& one : check_collectives(world, device_of, kSizes))
        (one.elements >= 1000 ? wrong : small_wrong) += one.wrong;
    // Rank 1 reads back from every collective at the two large sizes but send; the root is rank 1. Each runs
    // twice.
    CHECK(wrong == 2 * 2 * 14);
    CHECK(small_wrong == 0);
}
