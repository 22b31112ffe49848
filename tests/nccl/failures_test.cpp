#include <array>
#include <functional>

#include "core/base/error.h"
#include "tests/contract/harness.h"
#include "tests/contract/outcome.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;
using nccl_test::Fake;
using std::chrono::milliseconds;

// Nothing here may hang: ctest's time limit is the judge of that.

namespace {

/// NCCL's codes and the ids of ours.
constexpr std::array<std::pair<int, const char*>, 7> kCodes{{{1, "nccl.unhandled_cuda_error"},
                                                             {2, "nccl.system_error"},
                                                             {3, "nccl.internal_error"},
                                                             {4, "nccl.invalid_argument"},
                                                             {5, "nccl.invalid_usage"},
                                                             {6, "nccl.remote_error"},
                                                             {9, "nccl.unknown_result"}}};

struct Ended {
    std::string first;              ///< what the world threw
    Message message;                ///< of it, if it was an Error
    int32_t rank = -1;              ///< where it came from, if a CommError
    std::vector<std::string> each;  ///< what each rank's body threw
};

Ended run_to_end(int32_t n, const std::function<void(Rank&)>& body,
                 milliseconds operation = milliseconds(60'000), const std::string& beneath = "threads") {
    backends::nccl::NcclOptions options;
    options.timeouts.operation = operation;
    const auto world = open_nccl_world(beneath, n, options);
    Ended ended;
    ended.each.resize(static_cast<std::size_t>(n), "did not run");
    ended.first = outcome([&] {
        try {
            world->run([&](comm::Transport& transport) {
                const auto place = static_cast<std::size_t>(transport.rank().value);
                const auto device = tensor::make_cpu_device();
                trace::Recorder recorder(transport.rank(), trace::Level::off, 0);
                tensor::Allocator memory(*device, &recorder);
                StreamExecutor executor(transport, Mode::inline_in_wait);
                Rank rank{transport, executor, memory, recorder};
                std::exception_ptr thrown;
                ended.each[place] = outcome([&] {
                    try {
                        body(rank);
                        executor.finish();
                    } catch (...) {
                        thrown = std::current_exception();
                        throw;
                    }
                });
                if (thrown) std::rethrow_exception(thrown);
            });
        } catch (const CommError& error) {
            ended.message = error.message();
            ended.rank = error.rank().value;
            throw;
        }
    });
    return ended;
}

std::string text(const Message& message, const char* arg) {
    const MessageValue* value = message.find(arg);
    return value == nullptr ? "–" : std::get<std::string>(*value);
}

/// Five sums; rank 1's third is where things break.
void five_sums(Rank& rank) {
    const auto world = rank.world();
    for (int i = 0; i < 5; ++i) {
        const Tensor t = rank.floats(std::vector<float>(100, 1));
        world->all_reduce(t, ReduceOp::sum).wait();
    }
}

}  // namespace

TEST_CASE("each result code of a call becomes an error of ours, with rank, op and NCCL's words") {
    Fake& fake = Fake::the();
    for (const std::string beneath : {"threads", "tcp"})
        for (const auto& [code, id] : kCodes) {
            fake.reset();
            fake.fail("ncclAllReduce", 1, 3, code);
            const Ended ended = run_to_end(3, five_sums, milliseconds(60'000), beneath);
            INFO(beneath << " " << id);
            CHECK(ended.first == id);
            CHECK(ended.rank == 1);
            CHECK(text(ended.message, "op") == "all_reduce");
            CHECK(text(ended.message, "group") == "dim");
            CHECK(text(ended.message, "detail") == "ncclAllReduce was told to fail");
            CHECK(ended.each == std::vector<std::string>{"comm.aborted*", id, "comm.aborted*"});
            CHECK(fake.comms() == 0);
        }
}

TEST_CASE("an asynchronous error ends the rank that has it, and the others, who hang in the same call") {
    Fake& fake = Fake::the();
    for (const auto& [code, id] : kCodes) {
        fake.reset();
        fake.break_group(1, 3, code);
        const Ended ended = run_to_end(4, five_sums);
        INFO(id);
        CHECK(ended.first == id);
        CHECK(ended.rank == 1);
        CHECK(ended.each[1] == id);
        for (const std::size_t r : {0U, 2U, 3U}) CHECK(ended.each[r] == "comm.aborted*");
        CHECK(fake.calls("ncclCommAbort") >= 4);
        CHECK(fake.comms() == 0);
    }
}

TEST_CASE("each function that can fail does so in turn, and nothing hangs or is left behind") {
    Fake& fake = Fake::the();
    const auto body = [](Rank& rank) {
        const std::vector<std::vector<GlobalRank>> groups{{{0}, {1}}, {{2}}};
        rank.transport.abilities().library->announce_groups(groups);
        const auto world = rank.world();
        const Tensor t = rank.floats(std::vector<float>(64, 1));
        const Tensor all = rank.floats(std::vector<float>(192, 1));
        CallOptions premul;
        premul.factor = 2;
        world->all_reduce(t, ReduceOp::premul_sum, premul).wait();
        world->broadcast(t, GroupRank{0}).wait();
        world->reduce(t, GroupRank{0}, ReduceOp::sum).wait();
        world->all_gather(all, t).wait();
        world->reduce_scatter(t, all, ReduceOp::sum).wait();
        world->all_to_all(rank.floats(std::vector<float>(192, 1)), all).wait();
        world->send(t, GroupRank{(rank.rank() + 1) % 3}).wait();
        world->recv(t, GroupRank{(rank.rank() + 2) % 3}).wait();
    };
    fake.reset();
    CHECK(run_to_end(3, body).first == "fine");
    for (const char* function :
         {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommSplit", "ncclCommGetAsyncError",
          "ncclRedOpCreatePreMulSum", "ncclRedOpDestroy", "ncclAllReduce", "ncclBroadcast", "ncclReduce",
          "ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv", "ncclCommFinalize",
          "ncclCommDestroy"}) {
        fake.reset();
        fake.fail(function, -1, 1, 2);
        const Ended ended = run_to_end(3, body);
        INFO(function);
        CHECK(ended.first == "nccl.system_error");
        CHECK(text(ended.message, "code") == "ncclSystemError");
        CHECK(fake.comms() == 0);
    }
}

TEST_CASE("memory that NCCL does not take for its own is sent from all the same") {
    Fake& fake = Fake::the();
    fake.reset();
    fake.fail("ncclCommRegister", -1, 1, 3);
    const Ended ended = run_to_end(2, [](Rank& rank) {
        const auto world = rank.world();
        const Tensor t = rank.floats({rank.rank() == 0 ? 7.0F : 0.0F});
        if (rank.rank() == 0)
            world->send(t, GroupRank{1}).wait();
        else
            world->recv(t, GroupRank{0}).wait();
        if (floats_of(t)[0] != 7) throw std::runtime_error("another number came");
    });
    CHECK(ended.first == "fine");
    CHECK(fake.calls("ncclCommRegister") == 1);
    CHECK(fake.calls("ncclCommDeregister") == 0);
    CHECK(fake.comms() == 0);
}

TEST_CASE("a call that hangs ends after its time-out, by an abort, with rank and op") {
    Fake& fake = Fake::the();
    fake.reset();
    fake.break_group(0, 2, 7);  // ncclInProgress: no error, it only never ends
    const Ended ended = run_to_end(2, five_sums, milliseconds(100));
    CHECK(ended.first == "nccl.timeout");
    CHECK(text(ended.message, "op") == "all_reduce");
    CHECK(std::get<int64_t>(*ended.message.find("waited_ms")) == 100);
    CHECK(fake.comms() == 0);
}

TEST_CASE("a rank that throws ends the others' calls under way, and the world can be used again") {
    Fake& fake = Fake::the();
    for (const std::string beneath : {"threads", "tcp"}) {
        fake.reset();
        const Ended ended = run_to_end(
            4,
            [](Rank& rank) {
                const auto world = rank.world();
                for (int i = 0; i < 4; ++i) {
                    const Tensor t = rank.floats({1});
                    if (i == 2 && rank.rank() == 3) throw std::runtime_error("out of luck");
                    world->all_reduce(t, ReduceOp::sum).wait();
                }
            },
            milliseconds(60'000), beneath);
        CHECK(ended.first == "out of luck");
        for (const std::size_t r : {0U, 1U, 2U}) CHECK(ended.each[r] == "comm.aborted*");
        CHECK(fake.comms() == 0);
        CHECK(run_to_end(4, five_sums, milliseconds(60'000), beneath).first == "fine");
    }
}

TEST_CASE("a send that nobody takes ends after its time-out") {
    Fake& fake = Fake::the();
    fake.reset();
    const Ended ended = run_to_end(
        2,
        [](Rank& rank) {
            const auto world = rank.world();
            if (rank.rank() == 0) {
                // The receiver comes for the first alone.
                for (int i = 0; i < 2; ++i) world->send(rank.floats({1, 2}), GroupRank{1});
            } else {
                const Tensor t = rank.floats({0, 0});
                world->recv(t, GroupRank{0}).wait();
            }
        },
        milliseconds(200));
    CHECK(ended.first == "nccl.timeout");
    CHECK(text(ended.message, "op") == "send");
    CHECK(ended.rank == 0);
    CHECK(fake.comms() == 0);
}
