// Whole runs on the backend "cuda", over the stand-in for a GPU: what they come to, and what they write down.
#include <cmath>
#include <string>
#include <vector>

#include "core/base/temporary_folder.h"
#include "core/memory/ledger.h"
#include "core/run/recover.h"
#include "tests/cuda/slow.h"
#include "tests/cuda/stand_in_registry.h"
#include "tests/gpu/gpu_pair.h"
#include "tests/run/golden_run.h"
#include "tests/run/same_record.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

run::RunOptions on(const char* backend, trace::Level level = trace::Level::collectives) {
    run::RunOptions options;
    options.backend = backend;
    options.level = level;
    return options;
}

/// A hop apart from its times.
std::string text_of(const trace::Trace& trace, std::size_t rank, const trace::Hop& hop) {
    std::string text;
    for (const int64_t n : {int64_t{hop.event}, int64_t{hop.round}, int64_t{hop.src}, int64_t{hop.dst},
                            int64_t{hop.chunk}, int64_t{hop.reduces}, hop.offset, hop.elements, hop.bytes})
        text += std::to_string(n) + " ";
    if (hop.values < 0) return text + "unknown";
    const std::vector<float>& values = trace.ranks[rank].values;
    for (int64_t i = 0; i < hop.elements; ++i)
        text += std::to_string(values[static_cast<std::size_t>(hop.values + i)]) + " ";
    return text;
}

std::vector<std::string> hops_of(const trace::Trace& trace) {
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank)
        for (const trace::Hop& hop : trace.ranks[rank].hops) texts.push_back(text_of(trace, rank, hop));
    return texts;
}

}  // namespace

TEST_CASE("golden runs come out on cuda as PyTorch's: DDP, FSDP2, HSDP, TP and three dims", "[device]") {
    const auto backends = gpu::stand_in_registry();
    for (const std::string name :
         {"toy_single", "mlp_ddp2_buckets", "toy_fsdp3_uneven", "mlp_fsdp4", "mlp_hsdp2x2_clip",
          "mlp_fsdp2_bf16", "mlp_fsdp1_full2", "gpt_ddp2", "llama_fsdp2"}) {
        INFO(name);
        const nlohmann::json gold = golden::read_case(name);
        const golden::Outcome ours = golden::outcome_of(golden::train(name, gold, *backends, on("cuda")));
        CHECK(golden::differences(ours, golden::expected(gold, name)) == std::vector<std::string>{});
    }
    for (const std::string name : {"gpt_tp2", "mlp_hsdp2x2_tp2"}) {
        INFO(name);
        const nlohmann::json gold = golden::read_case(name);
        const golden::Outcome ours = golden::outcome_of(golden::train(name, gold, *backends, on("cuda")));
        CHECK(golden::differences(ours, golden::expected(gold, name), false) == std::vector<std::string>{});
    }
}

TEST_CASE("a run's record on cuda is its record on threads, times apart", "[device]") {
    const auto backends = gpu::stand_in_registry();
    for (const std::string name : {"toy_ddp4", "toy_hsdp2x2", "toy_tp2", "mlp_hsdp2x2_tp2"})
        for (const std::string algorithm : {"ring", "direct", "tree", "two_level"}) {
            INFO(name << " " << algorithm);
            const nlohmann::json gold = golden::read_case(name);
            const std::string extra = "algorithm = \"" + algorithm + "\"\n";
            const auto cuda = golden::train(name, gold, *backends, on("cuda", trace::Level::hops), extra);
            const auto threads =
                golden::train(name, gold, *backends, on("threads", trace::Level::hops), extra);
            CHECK(test::first_difference(*threads.trace, *cuda.trace) == "");
            CHECK(hops_of(*threads.trace) == hops_of(*cuda.trace));
        }
}

TEST_CASE("a record says that it was the stand-in and no GPU, also a failed run's and what its ranks left") {
    const TemporaryFolder folder("meshscope-test");
    const auto backends = gpu::stand_in_registry();
    const nlohmann::json gold = golden::read_case("toy_ddp2");
    run::RunOptions options = on("cuda");
    options.parts = folder.file("run.mscope");
    const run::RunResult result = golden::train("toy_ddp2", gold, *backends, options);
    CHECK(result.trace->info.backend == "cuda-stand-in");
    CHECK(run::recover(options.parts).trace.info.backend == "cuda-stand-in");

    std::string failed;
    options.parts.clear();
    options.on_failure = [&](const std::shared_ptr<const trace::Trace>& trace) {
        failed = trace->info.backend;
    };
    gpu_test::control().fail("launch", 10, 719);
    CHECK_THROWS_AS(golden::train("toy_ddp2", gold, *backends, options), Error);
    gpu_test::control().fail("", 0, 0);
    CHECK(failed == "cuda-stand-in");

    const run::RunResult threads = golden::train("toy_ddp2", gold, *backends, on("threads"));
    CHECK(threads.trace->info.backend == "threads");
}

TEST_CASE("what the device's allocator gave out at most is what was recorded, within what it rounds",
          "[device]") {
    const auto backends = gpu::stand_in_registry();
    // Of 64 tokens and four heads the kernels' own scratch memory is at most a row's double for the loss, a
    // float for each row and head, or Adam's table of a few dozen parameters.
    constexpr int64_t kMostScratch = 4096;
    for (const std::string strategy : {"none", "ddp", "fsdp2"}) {
        INFO(strategy);
        const std::string text = R"(format = 1
[model]
kind = "gpt"
dim = 32
hidden = 128
layers = 2
heads = 4
seq = 16
vocab = 64
[train]
steps = 2
global_batch = 4
[optimizer]
kind = "adamw"
lr = 0.001
[mesh]
shape = [1]
[parallel]
data = ")" + strategy + "\"\n";
        const run::RunResult result =
            run::run_scenario(scenario::parse_scenario(text, "memory.toml"), *backends, on("cuda"));
        REQUIRE(result.device_memory.has_value());
        const comm::DeviceMemory& device = *result.device_memory;
        const memory::Peak peak = memory::peak(*result.trace, 0);
        const auto blocks = static_cast<int64_t>(peak.live.size()) + 3;  // its own two, and the scratch
        CAPTURE(peak.bytes, peak.live.size(), device.most_in_use, device.own, device.piece);
        CHECK(device.piece > 0);
        CHECK(device.own > int64_t{32} << 20);
        const int64_t above = device.most_in_use - device.own - peak.bytes;
        CHECK(above >= 0);
        CHECK(above <= blocks * device.piece + kMostScratch);
        CHECK(device.most_reserved >= device.most_in_use);
        if (gpu_test::on_stand_in()) CHECK(device.piece == 256);
    }
}

TEST_CASE("TF32 is taken where it is asked for, and only there") {
    const nlohmann::json gold = golden::read_case("gpt_ddp2");
    const auto losses = [&](const std::string& value) {
        return golden::train("gpt_ddp2", gold, *gpu::stand_in_registry(backends::cuda::kTf32Variable, value),
                             on("cuda", trace::Level::off))
            .trace->info.losses;
    };
    const std::vector<double> exact = losses(""), off = losses("0"), cut = losses("1");
    CHECK(exact == off);
    REQUIRE(exact.size() == cut.size());
    for (std::size_t step = 0; step < exact.size(); ++step) {
        CHECK(exact[step] != cut[step]);
        CHECK(std::abs(exact[step] - cut[step]) <= 2e-3 * exact[step]);
    }
}

TEST_CASE("the times of a record on cuda are the device's, in the order of the work", "[device]") {
    const auto backends = gpu::stand_in_registry();
    const nlohmann::json gold = golden::read_case("mlp_fsdp4");
    const auto result = golden::train("mlp_fsdp4", gold, *backends, on("cuda", trace::Level::hops));
    for (const trace::RankTrace& rank : result.trace->ranks) {
        std::vector<int64_t> last_end(6, 0);
        for (const trace::Event& event : rank.events) {
            INFO(event.id);
            CHECK(event.t_begin_ns > 0);
            CHECK(event.t_begin_ns <= event.t_end_ns);
            // Nothing is done before it was asked for.
            CHECK(event.t_issue_ns <= event.t_end_ns);
            // What one queue does, it does in turn.
            if (event.kind != trace::EventKind::collective) continue;
            int64_t& last = last_end[static_cast<std::size_t>(event.stream)];
            CHECK(last <= event.t_begin_ns);
            last = event.t_end_ns;
        }
        for (const trace::Hop& hop : rank.hops) {
            const trace::Event& event = rank.events[static_cast<std::size_t>(hop.event)];
            CHECK(event.t_begin_ns <= hop.t_begin_ns);
            CHECK(hop.t_begin_ns <= hop.t_end_ns);
            CHECK(hop.t_end_ns <= event.t_end_ns);
        }
        for (const trace::Dependency& d : rank.dependencies)
            CHECK(rank.events[static_cast<std::size_t>(d.on)].t_end_ns <=
                  rank.events[static_cast<std::size_t>(d.event)].t_end_ns);
    }
}

TEST_CASE("what is recorded of numbers on cuda is what travelled", "[device]") {
    const auto backends = gpu::stand_in_registry();
    const char* const text = R"(format = 1
[mesh]
shape = [3]
[[call]]
op = "all_reduce"
elements = 6
)";
    const auto run_on = [&](const char* backend) {
        return run::run_scenario(scenario::parse_scenario(text, "calls.toml"), *backends,
                                 on(backend, trace::Level::values));
    };
    const auto cuda = run_on("cuda"), threads = run_on("threads");
    CHECK(hops_of(*cuda.trace) == hops_of(*threads.trace));
    for (std::size_t rank = 0; rank < 3; ++rank) {
        CHECK(!cuda.trace->ranks[rank].snapshots.empty());
        CHECK(cuda.trace->ranks[rank].values == threads.trace->ranks[rank].values);
    }
}

TEST_CASE("what kernels read and wrote on cuda is recorded as on threads", "[device]") {
    const auto backends = gpu::stand_in_registry();
    const char* const text = R"(format = 1
[model]
kind = "mlp"
dim = 8
hidden = 8
layers = 1
seed = 3
[data]
kind = "regression"
samples = 4
[train]
steps = 1
global_batch = 4
[optimizer]
kind = "sgd"
lr = 0.1
[mesh]
shape = [2]
names = ["tp"]
)";
    const auto run_on = [&](const char* backend) {
        return run::run_scenario(scenario::parse_scenario(text, "mlp.toml"), *backends,
                                 on(backend, trace::Level::values));
    };
    const auto cuda = run_on("cuda"), threads = run_on("threads");
    for (std::size_t rank = 0; rank < 2; ++rank) {
        const trace::RankTrace &a = cuda.trace->ranks[rank], &b = threads.trace->ranks[rank];
        REQUIRE(a.snapshots.size() == b.snapshots.size());
        REQUIRE(a.values.size() == b.values.size());
        std::size_t operands = 0;
        for (std::size_t i = 0; i < a.snapshots.size(); ++i) {
            const trace::Snapshot &x = a.snapshots[i], &y = b.snapshots[i];
            CHECK(x.event == y.event);
            CHECK(cuda.trace->text(x.operand) == threads.trace->text(y.operand));
            CHECK(x.rows == y.rows);
            CHECK(x.columns == y.columns);
            operands += x.operand != 0 ? 1 : 0;
        }
        CHECK(operands > 20);
        // Sums are made in the device's own order.
        for (std::size_t i = 0; i < a.values.size(); ++i)
            CHECK(a.values[i] == Approx(b.values[i]).margin(1e-4));
    }
}

namespace {

/// What a training of `name` on cuda ends with, when the n-th call of a function of the module fails.
std::string failure_of(const std::string& name, const nlohmann::json& gold, const char* call, int64_t n) {
    gpu_test::control().fail(call, n, 719);
    std::string text = "fine";
    try {
        // Unrecorded: a stamp of the clock that the device refuses becomes the host's time.
        golden::train(name, gold, *gpu::stand_in_registry(), on("cuda", trace::Level::off));
    } catch (const Error& error) {
        text = error.message().id;
    }
    gpu_test::control().fail(call, 0, 0);
    return text;
}

}  // namespace

TEST_CASE("a device whose work takes long gives the same numbers: whatever must wait, waits") {
    const auto backends = gpu::stand_in_registry();
    const gpu_test::Slow slow(100'000);
    for (const std::string name :
         {"mlp_ddp2_buckets", "mlp_fsdp2_keep", "mlp_hsdp2x2_clip", "mlp_zero1_2", "mlp_pp2_1f1b"}) {
        INFO(name);
        const nlohmann::json gold = golden::read_case(name);
        golden::Outcome ours = golden::outcome_of(golden::train(name, gold, *backends, on("cuda")));
        golden::Outcome theirs = golden::expected(gold, name);
        ours.collectives = theirs.collectives = {};  // not of what is slow
        CHECK(golden::differences(ours, theirs) == std::vector<std::string>{});
    }
}

TEST_CASE("collectives run beside what the rank computes, on a device as well") {
    const auto backends = gpu::stand_in_registry();
    const gpu_test::Slow slow(200'000);
    const auto result =
        golden::train("mlp_fsdp4", golden::read_case("mlp_fsdp4"), *backends, on("cuda", trace::Level::hops));
    const std::vector<trace::Event>& events = result.trace->ranks[0].events;
    int32_t beside = 0;
    for (const trace::Event& gather : events)
        for (const trace::Event& compute : events)
            if (gather.kind == trace::EventKind::collective && gather.stream == Stream::all_gather &&
                compute.kind == trace::EventKind::compute && compute.stream == Stream::compute &&
                gather.t_begin_ns < compute.t_end_ns && compute.t_begin_ns < gather.t_end_ns)
                ++beside;
    CHECK(beside > 0);
}

TEST_CASE("a call that the device refuses ends the run on every rank, and everything is given back") {
    const nlohmann::json gold = golden::read_case("toy_hsdp2x2");
    const gpu_test::Held before = gpu_test::held();
    for (const char* call : {"launch", "copy", "allocate", "event_make", "event_record", "stream_wait",
                             "stream_make", "product"})
        for (const int64_t n : {1, 7, 40}) {
            INFO(call << " " << n);
            const std::string text = failure_of("toy_hsdp2x2", gold, call, n);
            // There may be fewer calls than n; but never one of them that fails unseen.
            CHECK((text == "gpu.failed" || (text == "fine" && n > 1)));
            CHECK(gpu_test::held() == before);
        }
}

TEST_CASE("a machine without what CUDA needs is told apart when the backend is opened") {
    const auto backends = gpu::stand_in_registry();
    const auto refusal = [&](int32_t code, int32_t driver, int32_t devices) -> std::string {
        gpu_test::control().machine(code, driver, devices);
        std::string id = "opened";
        try {
            backends->open("cuda", {2});
        } catch (const Error& error) {
            id = error.message().id;
        }
        gpu_test::control().machine(0, 13000, 1);
        return id;
    };
    CHECK(refusal(0, 13000, 1) == "opened");
    CHECK(refusal(35, 0, 0) == "gpu.no_driver");
    CHECK(refusal(35, 12040, 0) == "gpu.driver_too_old");
    CHECK(refusal(100, 13000, 0) == "gpu.no_device");
    CHECK(refusal(999, 13000, 0) == "gpu.cannot_start");
}
