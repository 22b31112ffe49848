// Calls of MPI's own collectives that wait, against those that are issued and waited for: what MPI is asked
// for and what is recorded, over an MPI that does nothing.
#include <memory>
#include <source_location>
#include <span>
#include <vector>

#include "backends/mpi/mpi_transport.h"
#include "core/base/error.h"
#include "core/comm/forwarding_transport.h"
#include "core/comm/native_group.h"
#include "core/comm/stream_executor.h"
#include "core/tensor/device.h"
#include "core/trace/trace.h"
#include "tests/mpi/idle_mpi.h"
#include "tests/test.h"

using namespace meshscope;
using backends::mpi::MpiTransport;
using comm::StreamExecutor;
using tensor::Tensor;

namespace {

/// What MPI was asked for. Plain functions reach nothing else than a variable.
std::vector<MeshscopeMpiCall>* g_calls = nullptr;

int note(MeshscopeMpiHandle, const MeshscopeMpiCall* call, MeshscopeMpiHandle*) {
    g_calls->push_back(*call);
    return 0;
}

struct Seen {
    std::vector<MeshscopeMpiCall> calls;
    std::vector<trace::RankRecord> records;
};

/// A rank whose calls wait, or are waited for.
struct Rank {
    bool async_op;
    Seen& seen;
    comm::NativeGroup& group;
    trace::Recorder& recorder;
    tensor::Allocator& memory;

    Tensor zeros(int64_t n, DType dtype = DType::float32) const {
        return memory.zeros({n}, dtype, MemoryCategory::temporaries, "test");
    }
    comm::CallOptions options(Stream stream = Stream::compute, const char* unit = "unit") const {
        return {.stream = stream,
                .cause = {"user.call", unit},
                .async_op = async_op,
                .source = std::source_location()};
    }
    void take() const { seen.records.push_back(recorder.take()); }
};

Seen calls_of(bool async_op, void (*body)(const Rank&)) {
    MeshscopeMpi mpi = test::idle_mpi();
    mpi.collective = note;
    Seen seen;
    g_calls = &seen.calls;
    MpiTransport transport(mpi, {1}, {0, 2, 2, 32767, 0}, false, std::chrono::seconds(60));
    const auto device = tensor::make_cpu_device();
    trace::Recorder recorder(GlobalRank{0}, trace::Level::values, 0);
    tensor::Allocator memory(*device, &recorder);
    StreamExecutor executor(transport, StreamExecutor::Mode::inline_in_wait);
    comm::NativeGroup group(executor, 0, "world", {GlobalRank{0}, GlobalRank{1}}, comm::Channel{0},
                            &recorder);
    const Rank rank{async_op, seen, group, recorder, memory};
    body(rank);
    executor.finish();
    rank.take();
    return seen;
}

void every_op(const Rank& rank) {
    comm::NativeGroup& group = rank.group;
    for (const Stream stream : {Stream::compute, Stream::all_gather})
        for (const DType dtype : {DType::float32, DType::int64}) {
            const Tensor full = rank.zeros(8, dtype), part = rank.zeros(4, dtype);
            const comm::CallOptions options = rank.options(stream);
            group.all_reduce(full, ReduceOp::sum, options).wait();
            group.all_gather(full, part, {}, options).wait();
            group.reduce_scatter(part, full, ReduceOp::max, {}, options).wait();
            group.broadcast(full, GroupRank{1}, options).wait();
            group.reduce(full, GroupRank{1}, ReduceOp::sum, options).wait();
            group.all_gather(full, part, {4, 4}, options).wait();
            group.barrier(options).wait();
            rank.recorder.end_compute(rank.recorder.begin_compute("work", "unit"));
        }
    group.all_reduce(rank.zeros(3), ReduceOp::avg, rank.options()).wait();
}

/// The same calls again and again, and what may change between two of them.
void again(const Rank& rank) {
    comm::NativeGroup& group = rank.group;
    trace::Recorder& recorder = rank.recorder;
    const Tensor full = rank.zeros(8), part = rank.zeros(4);
    for (int step = 0; step < 3; ++step) {
        recorder.set_step(step);
        for (const char* const unit : {"unit", "other", "a unit of a longer name"}) {
            const comm::CallOptions options = rank.options(Stream::compute, unit);
            for (int i = 0; i < 3; ++i) group.all_reduce(full, ReduceOp::sum, options).wait();
            recorder.set_step(10 + step);
            group.all_reduce(full, ReduceOp::sum, options).wait();
            recorder.set_phase(step % 2 == 0 ? Phase::forward : Phase::backward);
            recorder.set_microbatch(step);
            group.all_reduce(full, ReduceOp::sum, options).wait();
            recorder.set_recompute(true);
            for (int i = 0; i < 2; ++i) group.all_reduce(full, ReduceOp::sum, options).wait();
            recorder.set_recompute(false);
            group.all_reduce(full, ReduceOp::sum, options).wait();
            group.all_reduce(full, ReduceOp::max, options).wait();
            for (const int64_t first : {0, 0, 1, 1}) {
                const Tensor some = full.slice(first, 7);
                group.all_reduce(some, ReduceOp::max, options).wait();
                CHECK(g_calls->back().out == some.raw());
            }
        }
        // One that is refused, and one of another stream, whose event the next depends on.
        const comm::CallOptions options = rank.options(Stream::all_gather);
        for (int i = 0; i < 2; ++i) {
            CHECK_THROWS_AS(group.all_gather(full, full, {}, options), InvalidArgument);
            for (int j = 0; j < 2; ++j) group.all_gather(full, part, {}, options).wait();
            recorder.depend(Stream::all_gather, recorder.begin_compute("work", "unit", Stream::compute));
            recorder.end_compute(recorder.last_event());
            group.all_gather(full, part, {}, options).wait();
        }
        // A record that begins anew has texts of its own.
        for (int i = 0; i < 2; ++i) group.broadcast(part, GroupRank{1}, rank.options()).wait();
        rank.take();
        for (int i = 0; i < 2; ++i) group.broadcast(part, GroupRank{1}, rank.options()).wait();
        // Two that nobody waits for in between.
        comm::CallOptions queued = rank.options();
        queued.async_op = true;
        comm::Work one = group.broadcast(part, GroupRank{1}, queued),
                   two = group.broadcast(part, GroupRank{1}, queued);
        two.wait();
        one.wait();
        for (int i = 0; i < 2; ++i) group.broadcast(part, GroupRank{1}, rank.options()).wait();
    }
}

void check_alike(const Seen& apart, const Seen& waiting) {
    REQUIRE(waiting.calls.size() == apart.calls.size());
    for (std::size_t i = 0; i < apart.calls.size(); ++i) {
        const MeshscopeMpiCall &a = apart.calls[i], &b = waiting.calls[i];
        CHECK(a.op == b.op);
        CHECK(a.kind == b.kind);
        CHECK(a.reduction == b.reduction);
        CHECK(a.elements == b.elements);
        CHECK(a.in_place == b.in_place);
        CHECK(a.root == b.root);
        CHECK((a.out_counts == nullptr) == (b.out_counts == nullptr));
    }
    const auto merged = [](const trace::RankRecord& record) {
        trace::RunInfo info;
        info.world_size = 2;
        return trace::merge(info, {{"world", {0, 1}}}, {record, {}});
    };
    REQUIRE(apart.records.size() == waiting.records.size());
    for (std::size_t i = 0; i < apart.records.size(); ++i) {
        for (const trace::RankRecord* const record : {&apart.records[i], &waiting.records[i]})
            for (const trace::Event& event : record->events) {
                CHECK(event.algorithm ==
                      (event.kind == trace::EventKind::compute ? Algorithm::none : Algorithm::native));
                CHECK(event.t_issue_ns > 0);
                CHECK(event.t_issue_ns <= event.t_begin_ns);
                CHECK(event.t_begin_ns <= event.t_end_ns);
            }
        CHECK(trace::identical(merged(apart.records[i]), merged(waiting.records[i]), trace::Ignore::times));
    }
}

}  // namespace

TEST_CASE("a native call that waits asks MPI for the same, and is recorded as one that is waited for") {
    const Seen apart = calls_of(true, every_op), waiting = calls_of(false, every_op);
    REQUIRE(apart.calls.size() == 4 * 7 + 1);
    REQUIRE(waiting.records[0].events.size() == 4 * 8 + 1);
    CHECK(waiting.records[0].dependencies.size() == 2 * 7);
    check_alike(apart, waiting);
}

TEST_CASE("native calls that are made again and again are run and recorded one by one") {
    const Seen apart = calls_of(true, again), waiting = calls_of(false, again);
    REQUIRE(waiting.records.size() == 4);
    REQUIRE(waiting.calls.size() == 3 * (3 * 13 + 2 * 3 + 4 + 4));
    check_alike(apart, waiting);
}

namespace {

/// A library that fails when it is told to.
struct Failing : comm::NativeCollectives {
    const bool& fails;

    explicit Failing(const bool& whether) : fails(whether) {}
    bool reduces(ReduceOp, DType) const override { return true; }
    void run(const comm::IssuedCall&) override {
        if (fails) throw CommError({"test.failed", {}}, GlobalRank{0});
    }
};

struct FailingTransport : comm::ForwardingTransport, comm::NativeLibrary {
    using comm::ForwardingTransport::ForwardingTransport;
    bool fails = false;

    comm::Abilities abilities() override { return {.library = this}; }
    std::unique_ptr<comm::NativeCollectives> native(std::span<const GlobalRank>, comm::Channel) override {
        return std::make_unique<Failing>(fails);
    }
};

}  // namespace

TEST_CASE("a native call that fails is the last that runs, and those after it are recorded as not begun") {
    const MeshscopeMpi mpi = test::idle_mpi();
    for (const bool async_op : {false, true}) {
        MpiTransport inner(mpi, {1}, {0, 2, 2, 32767, 0}, false, std::chrono::seconds(60));
        FailingTransport transport(inner);
        const auto device = tensor::make_cpu_device();
        tensor::Allocator memory(*device);
        trace::Recorder recorder(GlobalRank{0}, trace::Level::collectives, 0);
        StreamExecutor executor(transport, StreamExecutor::Mode::inline_in_wait);
        comm::NativeGroup group(executor, 0, "world", {GlobalRank{0}, GlobalRank{1}}, comm::Channel{0},
                                &recorder);
        const Tensor tensor = memory.zeros({4}, DType::float32, MemoryCategory::temporaries, "test");
        const auto call = [&] { group.all_reduce(tensor, ReduceOp::sum, {.async_op = async_op}).wait(); };
        for (int i = 0; i < 9; ++i) call();
        transport.fails = true;
        for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(call(), CommError);
        const trace::RankRecord record = recorder.take();
        REQUIRE(record.events.size() == 12);
        for (std::size_t i = 0; i < record.events.size(); ++i) {
            INFO("event " << i);
            CHECK(record.events[i].sequence == static_cast<int32_t>(i));
            CHECK((record.events[i].t_begin_ns != 0) == (i < 10));
            CHECK((record.events[i].t_end_ns != 0) == (i < 9));
            CHECK(record.events[i].algorithm == (i < 10 ? Algorithm::native : Algorithm::none));
        }
    }
}

TEST_CASE("a rank whose MPI was started for one thread runs its collectives itself") {
    const MeshscopeMpi mpi = test::idle_mpi();
    for (const int32_t one_thread : {0, 1}) {
        MpiTransport transport(mpi, {1}, {0, 2, 2, 32767, one_thread}, false, std::chrono::seconds(60));
        const StreamExecutor executor(transport, StreamExecutor::Mode::helper_thread);
        CHECK(executor.mode() ==
              (one_thread != 0 ? StreamExecutor::Mode::inline_in_wait : StreamExecutor::Mode::helper_thread));
    }
}
