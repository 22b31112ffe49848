// Calls of MPI's own collectives that wait, against those that are issued and waited for: what MPI is asked
// for and what is recorded, over an MPI that does nothing.
#include <source_location>
#include <vector>

#include "backends/mpi/mpi_transport.h"
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
    trace::RankRecord record;
};

Seen calls_of(bool async_op) {
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
    const auto zeros = [&](int64_t n, DType dtype = DType::float32) {
        return memory.zeros({n}, dtype, MemoryCategory::temporaries, "test");
    };
    const auto options = [&](Stream stream) {
        return comm::CallOptions{.stream = stream,
                                 .cause = {"user.call", "unit"},
                                 .async_op = async_op,
                                 .source = std::source_location()};
    };
    for (const Stream stream : {Stream::compute, Stream::all_gather})
        for (const DType dtype : {DType::float32, DType::int64}) {
            const Tensor full = zeros(8, dtype), part = zeros(4, dtype);
            group.all_reduce(full, ReduceOp::sum, options(stream)).wait();
            group.all_gather(full, part, {}, options(stream)).wait();
            group.reduce_scatter(part, full, ReduceOp::max, {}, options(stream)).wait();
            group.broadcast(full, GroupRank{1}, options(stream)).wait();
            group.reduce(full, GroupRank{1}, ReduceOp::sum, options(stream)).wait();
            group.all_gather(full, part, {4, 4}, options(stream)).wait();
            group.barrier(options(stream)).wait();
            recorder.end_compute(recorder.begin_compute("work", "unit", 0, 0));
        }
    group.all_reduce(zeros(3), ReduceOp::avg, options(Stream::compute)).wait();
    executor.finish();
    seen.record = recorder.take();
    return seen;
}

}  // namespace

TEST_CASE("a native call that waits asks MPI for the same, and is recorded as one that is waited for") {
    const Seen apart = calls_of(true), at_once = calls_of(false);
    // The first asks the members whether they wait inside MPI.
    REQUIRE(apart.calls.size() == 4 * 7 + 2);
    REQUIRE(at_once.calls.size() == apart.calls.size());
    for (std::size_t i = 0; i < apart.calls.size(); ++i) {
        const MeshscopeMpiCall &a = apart.calls[i], &b = at_once.calls[i];
        CHECK(a.op == b.op);
        CHECK(a.kind == b.kind);
        CHECK(a.reduction == b.reduction);
        CHECK(a.elements == b.elements);
        CHECK(a.in_place == b.in_place);
        CHECK(a.root == b.root);
        CHECK(a.blocking == (i == 0 ? 0 : 1));
        CHECK(b.blocking == a.blocking);
        CHECK((a.out_counts == nullptr) == (b.out_counts == nullptr));
    }
    for (const trace::RankRecord& record : {apart.record, at_once.record}) {
        REQUIRE(record.events.size() == 4 * 8 + 1);
        CHECK(record.dependencies.size() == 2 * 7);
        for (const trace::Event& event : record.events) {
            CHECK(event.algorithm ==
                  (event.kind == trace::EventKind::compute ? Algorithm::none : Algorithm::native));
            CHECK(event.t_issue_ns > 0);
            CHECK(event.t_issue_ns <= event.t_begin_ns);
            CHECK(event.t_begin_ns <= event.t_end_ns);
        }
    }
    const auto merged = [](const Seen& seen) {
        trace::RunInfo info;
        info.world_size = 2;
        return trace::merge(info, {{"world", {0, 1}}}, {seen.record, {}});
    };
    CHECK(trace::identical(merged(apart), merged(at_once), trace::Ignore::times));
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
