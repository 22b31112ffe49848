// Whole runs on the backend "cuda", over the stand-in for a GPU: what they come to, and what they write down.
#include <string>
#include <vector>

#include "tests/gpu/stand_in_registry.h"
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

TEST_CASE("golden runs come out on cuda as PyTorch's: DDP, FSDP2, HSDP, TP and three dims") {
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

TEST_CASE("a run's record on cuda is its record on threads, times apart") {
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
            CHECK(cuda.trace->info.backend == "cuda");
        }
}

TEST_CASE("the times of a record on cuda are the device's, in the order of the work") {
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

TEST_CASE("what is recorded of numbers on cuda is what travelled") {
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
