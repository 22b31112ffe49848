// Pipelines of gpt and llama, alone, beside tensor parallelism, and in bfloat16: whatever the schedule and
// the mesh, training is the training of one rank.
#include <set>

#include "core/parallel/pipeline/schedule.h"
#include "tests/parallel/train_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

/// Four layers: a stage each on four ranks, or two ranks with two.
std::string tokens(const std::string& kind, const std::string& mesh_and_parallel,
                   const std::string& train = "clip_norm = 0.5\n") {
    return "format = 1\n[model]\nkind = \"" + kind + "\"\n" + (kind == "llama" ? "kv_heads = 2\n" : "") +
           "vocab = 12\nseq = 4\ndim = 8\nheads = 2\nhidden = 12\nlayers = 4\nseed = 5\n[data]\nseed = "
           "3\n[train]\nsteps = 3\nglobal_batch = 16\n" +
           train + "[optimizer]\nkind = \"adamw\"\nlr = 0.003\n" + mesh_and_parallel;
}

std::string on_mesh(const std::string& shape, const std::string& names, const std::string& data) {
    return "[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n[parallel]\ndata = \"" + data + "\"\n";
}

std::string scheduled(const std::string& kind, int microbatches) {
    return "schedule = \"" + kind + "\"\nmicrobatches = " + std::to_string(microbatches) + "\n";
}

std::vector<std::string> schedules() {
    const auto& names = parallel::pipeline::kScheduleNames;
    return {names.begin(), names.end()};
}

const std::vector<std::string> kCuts{"tp_plan = \"linear\"\n", "loss_parallel = true\n",
                                     "sequence_parallel = true\nloss_parallel = true\n",
                                     "sequence_parallel = true\n"};

}  // namespace

TEST_CASE("gpt and llama in every schedule train like one rank: tokens enter first, the loss leaves last") {
    test::Sample sample(4);
    for (const std::string kind : {"gpt", "llama"}) {
        const auto alone = run_text(tokens(kind, one_rank()));
        for (const std::string& schedule : schedules())
            for (const std::string& mesh :
                 {on_mesh("2", "\"pp\"", "none"), on_mesh("2, 2", "\"pp\", \"replicate\"", "ddp"),
                  on_mesh("2, 2", "\"pp\", \"shard\"", "fsdp2")}) {
                if (!sample.takes()) continue;
                INFO(kind << " " << schedule << " " << mesh);
                check_equal(run_text(tokens(kind, mesh + scheduled(schedule, 4))), alone);
            }
        for (const std::string schedule : {"GPipe", "1F1B"}) {
            INFO(kind << " " << schedule << " on four ranks");
            check_equal(run_text(tokens(kind, on_mesh("4", "\"pp\"", "none") + scheduled(schedule, 8))),
                        alone);
        }
    }
}

TEST_CASE("a pipeline of tensor-parallel stages trains like one rank, in every schedule") {
    test::Sample sample(7);
    for (const std::string kind : {"gpt", "llama"}) {
        const auto alone = run_text(tokens(kind, one_rank()));
        std::size_t turn = 0;
        for (const std::string& schedule : schedules())
            for (const std::string& mesh :
                 {on_mesh("2, 2", "\"pp\", \"tp\"", "none"), on_mesh("2, 2", "\"tp\", \"pp\"", "none"),
                  on_mesh("2, 2, 2", "\"pp\", \"shard\", \"tp\"", "fsdp2"),
                  on_mesh("2, 2, 2", "\"pp\", \"replicate\", \"tp\"", "ddp")}) {
                // Over the schedules every mesh meets every cut.
                const std::string& cut = kCuts[(turn + turn / kCuts.size()) % kCuts.size()];
                if (turn++ % 3 == 0 && kind == "llama") continue;  // enough of them with gpt
                if (!sample.takes()) continue;
                INFO(kind << " " << schedule << " " << mesh << cut);
                check_equal(run_text(tokens(kind, mesh + cut + scheduled(schedule, 4))), alone);
            }
    }
}

TEST_CASE("tensor-parallel stages with every cut, and of an mlp, train like one rank") {
    const auto alone = run_text(tokens("gpt", one_rank()));
    for (const std::string& cut : kCuts)
        for (const std::string schedule : {"1F1B", "ZBVZeroBubble"}) {
            INFO(schedule << " " << cut);
            check_equal(run_text(tokens(
                            "gpt", on_mesh("2, 2", "\"pp\", \"tp\"", "none") + cut + scheduled(schedule, 4))),
                        alone);
        }
    for (const std::string clip : {"", "clip_norm = 0.5"}) {
        const auto single = run_text(toy_scenario(one_rank(), "kind = \"adamw\"", clip));
        check_equal(run_text(toy_scenario(on_mesh("2, 2", "\"pp\", \"tp\"", "none") + scheduled("GPipe", 4),
                                          "kind = \"adamw\"", clip)),
                    single);
    }
}

TEST_CASE("with sequence parallelism each of t ranks sends its tokens of the stream: 1/t of b s h") {
    for (const bool cut : {false, true}) {
        const auto result =
            run_text(tokens("gpt", on_mesh("2, 2", "\"pp\", \"tp\"", "none") + scheduled("1F1B", 4) +
                                       (cut ? "sequence_parallel = true\n" : "")));
        const int64_t stream = 16 / 4 * 4 * 8;
        int64_t sends = 0;
        for (const trace::RankTrace& rank : result.trace->ranks)
            for (const trace::Event& event : rank.events)
                if (event.kind == trace::EventKind::collective && event.op == CollectiveOp::send &&
                    event.step == 1) {
                    ++sends;
                    CHECK(event.in_elements == stream / (cut ? 2 : 1));
                }
        CHECK(sends == 2 * 4 * 2);  // tp ranks, micro-batches, directions
    }
}

TEST_CASE("ZeRO-1 over a pipeline's stages, cut by buckets or by PyTorch's optimizer, trains like one rank") {
    test::Sample sample(5);
    for (const std::string train : {"clip_norm = 0.5\n", ""}) {
        const auto alone = run_text(tokens("gpt", one_rank(), train));
        for (const std::string& schedule : schedules())
            for (const std::string variant : {"paper", "pytorch"}) {
                const std::string zero = "zero_variant = \"" + variant + "\"\nbucket_cap_mb = 0.002\n";
                if (!sample.takes()) continue;
                INFO(schedule << " " << variant);
                check_equal(
                    run_text(tokens(
                        "gpt", on_mesh("2, 2", "\"pp\", \"shard\"", "zero1") + zero + scheduled(schedule, 4),
                        train)),
                    alone);
            }
    }
}

TEST_CASE("in bfloat16 a pipeline over FSDP2 is FSDP2 that accumulates, and the stream travels in bfloat16") {
    test::Sample sample(4);
    const std::string half = "[parallel.mixed_precision]\nparam = \"bfloat16\"\n";
    for (const std::string kind : {"gpt", "llama"}) {
        const auto accumulated =
            run_text(tokens(kind, on_mesh("2", "\"shard\"", "fsdp2") + half, "accumulate = 4\n"));
        for (const std::string& schedule : schedules()) {
            if (!sample.takes()) continue;
            INFO(kind << " " << schedule);
            const auto piped = run_text(tokens(
                kind, on_mesh("2, 2", "\"pp\", \"shard\"", "fsdp2") + scheduled(schedule, 4) + half, ""));
            check_equal(piped, accumulated);
            std::set<DType> sent;
            for (const trace::Event& event : piped.trace->ranks[0].events)
                if (event.kind == trace::EventKind::collective && event.op == CollectiveOp::send)
                    sent.insert(event.dtype);
            CHECK(sent == std::set<DType>{DType::bfloat16});
        }
    }
}

TEST_CASE("an mlp's input is cast on the first stage only, its loss stays near float32's") {
    const std::string half = "[parallel.mixed_precision]\nparam = \"bfloat16\"\nreduce = \"bfloat16\"\n";
    const auto exact = run_text(mlp_scenario(one_rank(), "kind = \"sgd\"\nlr = 0.05"));
    const auto piped =
        run_text(mlp_scenario(on_mesh("3, 2", "\"pp\", \"shard\"", "fsdp2") + scheduled("1F1B", 3) + half,
                              "kind = \"sgd\"\nlr = 0.05"));
    const auto &a = piped.trace->info.losses, &b = exact.trace->info.losses;
    REQUIRE(a.size() == b.size());
    for (std::size_t s = 0; s < a.size(); ++s) CHECK(a[s] == Approx(b[s]).epsilon(0.02));
    CHECK(a != b);
    for (std::size_t rank = 0; rank < piped.trace->ranks.size(); ++rank) {
        bool casts_input = false;
        for (const trace::Event& event : piped.trace->ranks[rank].events)
            casts_input = casts_input || (piped.trace->text(event.name) == "cast" &&
                                          piped.trace->text(event.unit) == "model");
        CHECK(casts_input == (rank < 2));
    }
}

TEST_CASE("in bfloat16, too, cut layers, sequences and losses train near float32's numbers, staged or not") {
    test::Sample sample(4);
    // bfloat16 keeps 8 bits: a rounding of 2⁻⁹ a number. The loss, of mean values, stays within 2 %.
    const std::string half = "[parallel.mixed_precision]\nparam = \"bfloat16\"\n";
    for (const std::string kind : {"gpt", "llama"}) {
        const auto exact = run_text(tokens(kind, one_rank()));
        for (const std::string& cut : kCuts)
            for (const std::string& mesh :
                 {on_mesh("2, 2", "\"shard\", \"tp\"", "fsdp2"),
                  on_mesh("2, 2", "\"shard\", \"tp\"", "fsdp1"),
                  on_mesh("2, 2, 2", "\"pp\", \"shard\", \"tp\"", "fsdp2") + scheduled("ZBVZeroBubble", 4)}) {
                if (!sample.takes()) continue;
                INFO(kind << " " << mesh << cut);
                const auto rounded = run_text(tokens(kind, mesh + cut + half));
                const auto &a = rounded.trace->info.losses, &b = exact.trace->info.losses;
                REQUIRE(a.size() == b.size());
                for (std::size_t s = 0; s < a.size(); ++s) CHECK(a[s] == Approx(b[s]).epsilon(0.02));
                CHECK(a != b);
            }
    }
}
