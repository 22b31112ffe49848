// Context parallelism cuts the sequence, not the training: whatever the method and the mesh, losses, gradient
// norms and weights equal those of one rank, and what travels is what the formulas say.
#include <set>

#include "core/parallel/context/token_cut.h"
#include "tests/parallel/train_helper.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

constexpr int64_t kBatch = 8, kSeq = 16, kDim = 16, kHeads = 8, kKvHeads = 4;

/// gpt, or llama with grouped queries.
std::string tokens(const std::string& model, const std::string& mesh_and_parallel,
                   const std::string& train = "clip_norm = 0.5\n") {
    return "format = 1\n[model]\nkind = \"" + model + "\"\n" + (model == "llama" ? "kv_heads = 4\n" : "") +
           "vocab = 24\nseq = 16\ndim = 16\nheads = 8\nhidden = 20\nlayers = 2\nseed = 5\n[data]\nseed = "
           "3\n[train]\nsteps = 3\nglobal_batch = 8\n" +
           train + "[optimizer]\nkind = \"adamw\"\nlr = 0.003\n" + mesh_and_parallel;
}

std::string on_mesh(const std::string& shape, const std::string& names, const std::string& data = "none") {
    return "[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n[parallel]\ndata = \"" + data + "\"\n";
}

const std::vector<std::string> kMethods{
    "cp = \"allgather\"\n", "cp = \"allgather\"\ncp_load_balance = false\n", "cp = \"alltoall\"\n",
    "cp = \"alltoall\"\ncp_load_balance = false\n", "cp = \"ulysses\"\n"};
const std::vector<std::string> kThree{kMethods[0], kMethods[2], kMethods[4]};

/// The bytes that `rank` sent in step 1 for collectives of one rule in the first block, and how many they
/// were.
struct Sent {
    int64_t calls = 0, bytes = 0;
    friend bool operator==(const Sent&, const Sent&) = default;
};
Sent sent(const trace::Trace& trace, std::size_t rank, const std::string& rule) {
    Sent sum;
    for (const trace::Event& e : trace.ranks[rank].events)
        if (e.kind == trace::EventKind::collective && e.step == 1 && trace.text(e.rule) == rule &&
            trace.text(e.unit) == "blocks.0.attn") {
            ++sum.calls;
            sum.bytes += e.sent_bytes;
        }
    return sum;
}

}  // namespace

TEST_CASE("16 tokens on 4 ranks: head and tail, as PyTorch's balancer deals them") {
    const parallel::TokenCut cut(16, 4, true);
    // pytorch_rules 1.7
    CHECK(cut.positions(0) == std::vector<int64_t>{0, 1, 14, 15});
    CHECK(cut.positions(1) == std::vector<int64_t>{2, 3, 12, 13});
    CHECK(cut.positions(2) == std::vector<int64_t>{4, 5, 10, 11});
    CHECK(cut.positions(3) == std::vector<int64_t>{6, 7, 8, 9});
    CHECK(parallel::TokenCut(16, 4, false).positions(2) == std::vector<int64_t>{8, 9, 10, 11});
    CHECK(thrown_id<InvalidArgument>([] { parallel::TokenCut(12, 4, true); }) == "cp.uneven");
    CHECK(thrown_id<InvalidArgument>([] { parallel::TokenCut(10, 4, false); }) == "cp.uneven");
}

TEST_CASE("head and tail give every rank an equal share of the causal pairs, neighbours do not") {
    const auto pairs_of = [](const parallel::TokenCut& cut, int64_t rank) {
        int64_t pairs = 0;
        for (int64_t key_rank = 0; key_rank < cut.ranks(); ++key_rank)
            pairs += cut.seen_pairs(rank, key_rank);
        return pairs;
    };
    for (const int64_t ranks : {2, 4, 8}) {
        const int64_t n = 32, each = n / ranks, all = n * (n + 1) / 2;
        for (int64_t rank = 0; rank < ranks; ++rank) {
            CHECK(pairs_of(parallel::TokenCut(n, ranks, true), rank) == all / ranks);
            // Neighbours: what stands before them, and their own triangle.
            CHECK(pairs_of(parallel::TokenCut(n, ranks, false), rank) ==
                  rank * each * each + each * (each + 1) / 2);
        }
    }
}

TEST_CASE("context parallelism trains like one rank: gpt and llama with grouped queries, every method") {
    for (const std::string model : {"gpt", "llama"}) {
        const auto alone = run_text(tokens(model, one_rank()));
        for (const std::string& method : kMethods)
            for (const char* ranks : {"2", "4"}) {
                INFO(model << " " << ranks << " " << method);
                check_equal(run_text(tokens(model, on_mesh(ranks, "\"cp\"") + method)), alone);
            }
    }
}

TEST_CASE("under DDP, FSDP2, HSDP, FSDP1 and ZeRO, accumulating, it trains like one rank") {
    const std::string train = "accumulate = 2\nclip_norm = 0.5\n";
    const std::vector<std::string> meshes{
        on_mesh("2, 2", "\"replicate\", \"cp\"", "ddp") + "bucket_cap_mb = 0.002\n",
        on_mesh("2, 2", "\"shard\", \"cp\"", "fsdp2"),
        on_mesh("2, 2", "\"cp\", \"shard\"", "fsdp2"),  // cp need not be the innermost dim
        on_mesh("2, 2, 2", "\"replicate\", \"shard\", \"cp\"", "fsdp2"),
        on_mesh("1, 4", "\"shard\", \"cp\"", "fsdp2"),  // sharded over cp alone
        on_mesh("2, 2", "\"shard\", \"cp\"", "fsdp1"),
        on_mesh("2, 2", "\"shard\", \"cp\"", "zero1"),
        on_mesh("2, 2", "\"shard\", \"cp\"", "zero3")};
    const auto alone = run_text(tokens("llama", one_rank(), train));
    for (std::size_t i = 0; i < meshes.size(); ++i) {
        const std::string& method = kThree[i % kThree.size()];
        INFO(meshes[i] << method);
        check_equal(run_text(tokens("llama", meshes[i] + method, train)), alone);
    }
}

TEST_CASE("beside tensor parallelism it trains like one rank: heads are cut by tp, tokens by cp") {
    const auto gpt = run_text(tokens("gpt", one_rank())), llama = run_text(tokens("llama", one_rank()));
    for (const std::string& method : kThree) {
        INFO(method);
        check_equal(run_text(tokens("gpt", on_mesh("2, 2", "\"cp\", \"tp\"") + method)), gpt);
        check_equal(run_text(tokens("llama", on_mesh("2, 2", "\"cp\", \"tp\"") + method +
                                                 "sequence_parallel = true\nloss_parallel = true\n")),
                    llama);
        check_equal(
            run_text(tokens("llama", on_mesh("2, 2, 2", "\"shard\", \"cp\", \"tp\"", "fsdp2") + method)),
            llama);
    }
}

TEST_CASE("in a pipeline it trains like one rank: the stages pass on this rank's tokens only") {
    const auto deeper = [](const std::string& mesh_and_parallel) {
        std::string text = tokens("llama", mesh_and_parallel);
        return text.replace(text.find("layers = 2"), 10, "layers = 4");
    };
    const auto alone = run_text(deeper(one_rank()));
    const std::string two = on_mesh("2, 2", "\"pp\", \"cp\"");
    const std::string three = on_mesh("2, 2, 2", "\"pp\", \"shard\", \"cp\"", "fsdp2");
    for (const std::string& where :
         {two + "schedule = \"GPipe\"\nmicrobatches = 4\n" + kMethods[2],
          two + "schedule = \"1F1B\"\nmicrobatches = 4\n" + kMethods[0],
          two + "schedule = \"Interleaved1F1B\"\nmicrobatches = 4\n" + kMethods[2],
          two + "schedule = \"ZBVZeroBubble\"\nmicrobatches = 4\n" + kMethods[4],
          three + "schedule = \"InterleavedZeroBubble\"\nmicrobatches = 2\n" + kMethods[2]}) {
        INFO(where);
        check_equal(run_text(deeper(where)), alone);
    }
}

TEST_CASE("in bfloat16 it stays as near to float32 as FSDP2 alone does") {
    const std::string precision = "mixed_precision = { param = \"bfloat16\" }\n";
    const auto exact = run_text(tokens("llama", one_rank()));
    const auto alone = run_text(tokens("llama", on_mesh("2", "\"shard\"", "fsdp2") + precision));
    for (const std::string& method : kThree) {
        INFO(method);
        const auto cut =
            run_text(tokens("llama", on_mesh("1, 2", "\"shard\", \"cp\"", "fsdp2") + method + precision));
        for (std::size_t s = 0; s < 3; ++s) {
            const double wanted = exact.trace->info.losses[s];
            CHECK(alone.trace->info.losses[s] == Approx(wanted).epsilon(4e-3));
            CHECK(cut.trace->info.losses[s] == Approx(wanted).epsilon(4e-3));
            CHECK(cut.trace->info.losses[s] != wanted);  // it did round
        }
    }
}

TEST_CASE("ring attention sends K and V of S/N tokens N-1 times a layer, by either method") {
    // pytorch_rules 1.7; backward: K and V again, and N times their gradient.
    for (const std::string model : {"gpt", "llama"})
        for (const int64_t ranks : {2, 4}) {
            const int64_t kv_heads = model == "llama" ? kKvHeads : kHeads;
            const int64_t kv = 2 * kBatch * kSeq / ranks * (kDim / kHeads * kv_heads) * 4;  // bytes
            const std::string where = on_mesh(std::to_string(ranks), "\"cp\"");
            const auto gathered = run_text(tokens(model, where)).trace;  // the default
            const auto permuted = run_text(tokens(model, where + kMethods[2])).trace;
            for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
                CHECK(sent(*gathered, rank, "cp.all_gather.kv") == Sent{1, (ranks - 1) * kv});
                CHECK(sent(*gathered, rank, "cp.all_gather.kv_again") == Sent{1, (ranks - 1) * kv});
                CHECK(sent(*gathered, rank, "cp.permute.dkv") == Sent{ranks, ranks * kv});
                CHECK(sent(*permuted, rank, "cp.permute.kv") == Sent{ranks - 1, (ranks - 1) * kv});
                CHECK(sent(*permuted, rank, "cp.permute.kv_again") == Sent{ranks - 1, (ranks - 1) * kv});
                CHECK(sent(*permuted, rank, "cp.permute.dkv") == Sent{ranks, ranks * kv});
            }
        }
}

TEST_CASE("a permute is one hop a rank, from the rank before it") {
    const auto trace = run_text(tokens("gpt", on_mesh("4", "\"cp\"") + kMethods[2])).trace;
    for (int32_t rank = 0; rank < 4; ++rank) {
        const trace::RankTrace& record = trace->ranks[static_cast<std::size_t>(rank)];
        int64_t permutes = 0, hops = 0, from_before = 0;
        for (const trace::Event& e : record.events) permutes += trace->text(e.rule).starts_with("cp.permute");
        for (const trace::Hop& hop : record.hops) {
            const trace::Event& e = trace->event(rank, hop.event);
            if (!trace->text(e.rule).starts_with("cp.permute")) continue;
            ++hops;
            from_before += hop.src == (rank + 3) % 4 && hop.elements == e.out_elements;
        }
        CHECK(permutes == 3 * 2 * (3 + 3 + 4));  // steps, layers; forward, backward, gradients
        CHECK(hops == permutes);
        CHECK(from_before == permutes);
    }
}

TEST_CASE("Ulysses sends (N-1)/N of q, k, v and the output, S/N tokens of h elements, each way") {
    for (const int64_t ranks : {2, 4}) {
        const auto trace =
            run_text(tokens("llama", on_mesh(std::to_string(ranks), "\"cp\"") + kMethods[4])).trace;
        const int64_t q = kBatch * kSeq / ranks * kDim * 4, kv = q * kKvHeads / kHeads;
        for (const auto& [name, bytes] : std::vector<std::pair<std::string, int64_t>>{
                 {"q", q}, {"k", kv}, {"v", kv}, {"o", q}, {"dq", q}, {"dk", kv}, {"dv", kv}, {"do", q}}) {
            INFO(ranks << " " << name);
            CHECK(sent(*trace, 0, "cp.all_to_all." + name) == Sent{1, bytes * (ranks - 1) / ranks});
        }
    }
}

TEST_CASE(
    "a layer's attention computes as many pairs on four ranks as on one, each rank a fourth with balance") {
    const auto flops = [](const trace::Trace& trace, std::size_t rank) {
        int64_t sum = 0;
        for (const trace::Event& e : trace.ranks[rank].events)
            if (e.kind == trace::EventKind::compute && e.step == 1 && trace.text(e.name) == "attention")
                sum += e.flops;
        return sum;
    };
    const int64_t alone = flops(*run_text(tokens("gpt", one_rank())).trace, 0);
    const auto balanced = run_text(tokens("gpt", on_mesh("4", "\"cp\"") + kMethods[0])).trace;
    const auto unbalanced = run_text(tokens("gpt", on_mesh("4", "\"cp\"") + kMethods[1])).trace;
    int64_t sum = 0;
    for (std::size_t rank = 0; rank < 4; ++rank) {
        CHECK(flops(*balanced, rank) == alone / 4);
        sum += flops(*unbalanced, rank);
    }
    CHECK(sum == alone);
    // 4 tokens a rank: 10 pairs of 136 on the first, 10 + 3 · 16 on the last.
    CHECK(flops(*unbalanced, 0) * 136 == alone * 10);
    CHECK(flops(*unbalanced, 3) * 136 == alone * 58);
}

TEST_CASE("the data strategy works on the dim that shard and cp are flattened to, replicas beside it") {
    const auto trace =
        run_text(tokens("gpt", on_mesh("2, 2, 2", "\"replicate\", \"shard\", \"cp\"", "fsdp2"))).trace;
    std::set<std::string> sharded, replicated, rotated;
    for (const trace::RankTrace& rank : trace->ranks)
        for (const trace::Event& e : rank.events) {
            if (e.kind != trace::EventKind::collective) continue;
            const trace::Group& group = trace->groups[static_cast<std::size_t>(e.group)];
            std::string text = group.mesh_dim;
            for (const int32_t member : group.ranks) text += " " + std::to_string(member);
            const std::string_view rule = trace->text(e.rule);
            if (rule == "fsdp2.unshard.forward" || rule == "fsdp2.reduce_scatter.gradients")
                sharded.insert(text);
            if (rule == "hsdp.all_reduce.replicas") replicated.insert(text);
            if (rule == "cp.all_gather.kv") rotated.insert(text);
        }
    CHECK(sharded == std::set<std::string>{"shard_cp 0 1 2 3", "shard_cp 4 5 6 7"});
    CHECK(replicated ==
          std::set<std::string>{"replicate 0 4", "replicate 1 5", "replicate 2 6", "replicate 3 7"});
    CHECK(rotated == std::set<std::string>{"cp 0 1", "cp 2 3", "cp 4 5", "cp 6 7"});
}

TEST_CASE(
    "the gather is under way while the rank computes with its own keys, a permute while it computes a "
    "block") {
    for (const std::string& method : {kMethods[0], kMethods[2]}) {
        const auto trace = run_text(tokens("gpt", on_mesh("4", "\"cp\"") + method)).trace;
        // Of the first layer's forward on rank 0: every collective is issued before a block that does not
        // wait for it.
        std::vector<std::string> order;
        for (const trace::Event& e : trace->ranks[0].events)
            if (e.step == 1 && e.phase == Phase::forward && trace->text(e.unit) == "blocks.0.attn")
                order.push_back(e.kind == trace::EventKind::collective ? std::string(name(e.op))
                                                                       : std::string(trace->text(e.name)));
        const std::vector<std::string> first =
            method == kMethods[0]
                ? std::vector<std::string>{"cp.pack",         "all_gather",      "attention",
                                           "attention",       "attention.merge", "attention",
                                           "attention.merge", "attention",       "attention.merge"}
                : std::vector<std::string>{"cp.pack",    "all_to_all",     "attention",
                                           "all_to_all", "attention",      "attention.merge",
                                           "all_to_all", "attention",      "attention.merge",
                                           "attention",  "attention.merge"};
        CHECK(order == first);
    }
}

TEST_CASE("the same scenario gives the same record and the same bits again") {
    for (const std::string& method : kThree) {
        INFO(method);
        const std::string text = tokens("llama", on_mesh("2, 2", "\"shard\", \"cp\"", "fsdp2") + method);
        const auto first = run_text(text), again = run_text(text);
        CHECK(trace::identical(*first.trace, *again.trace, trace::Ignore::times));
        for (std::size_t i = 0; i < first.parameters.size(); ++i)
            CHECK(first.parameters[i].numbers == again.parameters[i].numbers);
    }
}
