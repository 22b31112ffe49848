// A vocabulary, a sequence or an inner width that the tp ranks cannot share evenly: cut as torch.chunk cuts,
// padded where it travels. Losses, norms and weights are those of one rank, whatever else the mesh does.
#include <tuple>

#include "core/memory/ledger.h"
#include "core/run/dry.h"
#include "tests/folder.h"
#include "tests/parallel/train_helper.h"
#include "tests/run/same_record.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

const std::string kAlone = "[mesh]\nshape = [1]\nnames = [\"replicate\"]\n[parallel]\ndata = \"none\"\n";

struct Sizes {
    int vocab, seq, hidden;
};
/// On 2, 4 and 8 ranks: some smaller parts, and ranks that hold no row of the vocabulary and no token.
const std::vector<Sizes> kSizes{{51, 8, 32}, {51, 7, 22}, {9, 5, 9}};

/// Adam's eps is above the rounding of the gradients: with one of 1e-8 an update by a gradient that is next
/// to nothing would be as large as any, and its sign the processor's.
std::string tokens(const std::string& model, Sizes sizes, const std::string& mesh_and_parallel,
                   const std::string& train = "") {
    return "format = 1\n[model]\nkind = \"" +
           std::string(model == "llama" ? "llama\"\nkv_heads = 8\n" : "gpt\"\n") +
           (model == "tied" ? "tied = true\n" : "") + "vocab = " + std::to_string(sizes.vocab) +
           "\nseq = " + std::to_string(sizes.seq) + "\nhidden = " + std::to_string(sizes.hidden) +
           "\ndim = 16\nheads = 8\nlayers = 2\nseed = 5\n[data]\nseed = 3\n[train]\nsteps = 3\nglobal_batch "
           "= "
           "8\nclip_norm = 0.5\n" +
           train + "[optimizer]\nkind = \"adamw\"\nlr = 0.003\neps = 1e-6\n" + mesh_and_parallel;
}

std::string on_mesh(const std::string& shape, const std::string& names, const std::string& data) {
    return "[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n[parallel]\ndata = \"" + data + "\"\n";
}

const std::vector<std::string> kCuts{"", "sequence_parallel = true\n", "loss_parallel = true\n",
                                     "sequence_parallel = true\nloss_parallel = true\n"};

}  // namespace

TEST_CASE(
    "what tp cannot share evenly trains like one rank: on 2, 4 and 8 ranks, sequence and loss parallel or "
    "not") {
    for (const std::string model : {"gpt", "tied", "llama"})
        for (const Sizes& sizes : kSizes) {
            const auto alone = run_text(tokens(model, sizes, kAlone));
            for (const std::string& cut : kCuts)
                for (const std::string ranks : {"2", "4", "8"}) {
                    INFO(model << " vocab " << sizes.vocab << " seq " << sizes.seq << " tp " << ranks << " "
                               << cut);
                    check_equal(run_text(tokens(model, sizes, on_mesh(ranks, "\"tp\"", "none") + cut)),
                                alone);
                }
        }
}

TEST_CASE("and under every data strategy, accumulating") {
    const std::string train = "accumulate = 2\n";
    const Sizes sizes{51, 7, 22};
    for (const std::string model : {"tied", "llama"}) {
        const auto alone = run_text(tokens(model, sizes, kAlone, train));
        for (const std::string& cut : kCuts)
            for (const std::string& where : {on_mesh("2, 2", "\"replicate\", \"tp\"", "ddp"),
                                             on_mesh("2, 2", "\"shard\", \"tp\"", "fsdp2"),
                                             on_mesh("2, 2, 2", "\"replicate\", \"shard\", \"tp\"", "fsdp2"),
                                             on_mesh("2, 4", "\"shard\", \"tp\"", "fsdp1"),
                                             on_mesh("2, 2", "\"shard\", \"tp\"", "zero1"),
                                             on_mesh("2, 2", "\"tp\", \"shard\"", "zero2"),
                                             on_mesh("2, 4", "\"shard\", \"tp\"", "zero3")}) {
                INFO(model << " " << where << cut);
                check_equal(run_text(tokens(model, sizes, where + cut, train)), alone);
            }
    }
}

TEST_CASE("and beside pipeline and context parallelism, and with values of bfloat16") {
    const Sizes sizes{51, 7, 22};
    const auto staged = [](const std::string& schedule) {
        return "schedule = \"" + schedule + "\"\nmicrobatches = 4\n";
    };
    const auto gpt = run_text(tokens("gpt", sizes, kAlone));
    for (const std::string& cut : kCuts)
        for (const std::string schedule : {"1F1B", "ZBVZeroBubble"})
            for (const auto& [shape, names, data] : {std::tuple{"2, 2", "\"pp\", \"tp\"", "none"},
                                                     {"1, 4", "\"pp\", \"tp\"", "none"},
                                                     {"2, 2, 2", "\"pp\", \"shard\", \"tp\"", "fsdp2"}}) {
                if ((std::string(shape) == "1, 4") != (schedule != "1F1B"))
                    continue;  // both stages on one rank
                const std::string where = on_mesh(shape, names, data) + staged(schedule) + cut;
                INFO(where);
                check_equal(run_text(tokens("gpt", sizes, where)), gpt);
            }
    // cp cuts 12 tokens into 2 × 2 pieces; each rank's 6 are cut by 4 tp ranks: 2, 2, 2 and none.
    const Sizes longer{51, 12, 22};
    const auto llama = run_text(tokens("llama", longer, kAlone));
    for (const std::string& cut : kCuts)
        for (const std::string method : {"allgather", "alltoall"}) {
            INFO(cut << method);
            check_equal(run_text(tokens(
                            "llama", longer,
                            on_mesh("2, 4", "\"cp\", \"tp\"", "none") + cut + "cp = \"" + method + "\"\n")),
                        llama);
        }
    const std::string half = "mixed_precision.param = \"bfloat16\"\n";
    const auto exact = run_text(tokens("gpt", sizes, kAlone)).trace->info.losses;
    for (const std::string& cut : kCuts) {
        const auto rounded =
            run_text(tokens("gpt", sizes, on_mesh("2, 4", "\"shard\", \"tp\"", "fsdp2") + cut + half))
                .trace->info.losses;
        REQUIRE(rounded.size() == exact.size());
        for (std::size_t step = 0; step < exact.size(); ++step)
            CHECK(rounded[step] == Approx(exact[step]).epsilon(0.01));
    }
}

TEST_CASE("an uneven gather of logits carries its padding: ranks times the largest part") {
    // 51 on 4 ranks: 13, 13, 13 and 12, all sent as 13; the batch has 8 samples of 7 tokens.
    const Sizes sizes{51, 7, 32};
    const auto result =
        run_text(tokens("gpt", sizes, on_mesh("4", "\"tp\"", "none") + "sequence_parallel = true\n"));
    int gathers = 0;
    for (int32_t rank = 0; rank < 4; ++rank)
        for (const trace::Event& e : result.trace->ranks[static_cast<std::size_t>(rank)].events)
            if (e.kind == trace::EventKind::collective && e.step == 1 &&
                result.trace->text(e.rule) == "tp.logits.gather") {
                ++gathers;
                CHECK(e.sent_bytes == 3 * 8 * 7 * 13 * 4);
            }
    CHECK(gathers == 4);
}

TEST_CASE("a dry run predicts the uneven parts: every event, every byte, the memory's peak") {
    for (const std::string& cut : kCuts)
        for (const std::string& where :
             {on_mesh("8", "\"tp\"", "none"), on_mesh("2, 4", "\"shard\", \"tp\"", "zero3"),
              on_mesh("2, 2", "\"shard\", \"tp\"", "fsdp2")}) {
            const std::string text = tokens("tied", {51, 7, 22}, where + cut);
            INFO(where << cut);
            const auto real = run_text(text).trace;
            const auto dry = run::run_dry(scenario::parse_scenario(text, "s.toml")).trace;
            CHECK(first_difference(*dry, *real) == "");
            for (std::size_t r = 0; r < real->ranks.size(); ++r)
                CHECK(memory::peak(*dry, static_cast<int32_t>(r)).bytes ==
                      memory::peak(*real, static_cast<int32_t>(r)).bytes);
        }
}

TEST_CASE("a checkpoint of uneven parts holds whole arrays: it goes on on any mesh, bit for bit on its own") {
    const Sizes sizes{51, 7, 22};
    const std::string both = "sequence_parallel = true\nloss_parallel = true\n";
    const std::string eight = on_mesh("8", "\"tp\"", "none") + both,
                      four = on_mesh("2, 4", "\"shard\", \"tp\"", "zero2") + both;
    const auto with_steps = [](std::string text, const std::string& steps) {
        return text.replace(text.find("steps = 3"), 9, "steps = " + steps);
    };
    for (const auto& [first, second] :
         {std::pair{eight, eight},
          {four, four},
          {eight, four},
          {four, kAlone},
          {kAlone, on_mesh("2, 2", "\"shard\", \"tp\"", "fsdp2") + "sequence_parallel = true\n"}}) {
        INFO(first << second);
        const Folder folder;
        const std::string saves = "[checkpoint]\nfolder = \"" + folder.file("c") + "\"\n";
        run_text(with_steps(tokens("tied", sizes, first + saves), "2"));
        const auto resumed = run_text(with_steps(
            tokens("tied", sizes, second + saves + "resume = \"" + folder.file("c") + "\"\n"), "4"));
        const auto through = run_text(with_steps(tokens("tied", sizes, second), "4"));
        check_equal(resumed, through);
        // No row of padding is saved.
        for (const auto& array : resumed.parameters)
            if (array.name == "tok.weight") CHECK(array.shape == std::vector<int64_t>{51, 16});
    }
}

TEST_CASE("an evaluation of uneven parts is one process's") {
    const std::string eval = "[eval]\nevery = 2\nsamples = 10\nbatch = 2\n";
    const Sizes sizes{51, 7, 22};
    const auto alone = run_text(tokens("gpt", sizes, kAlone + eval)).evaluations;
    REQUIRE_FALSE(alone.empty());
    for (const std::string& cut : kCuts) {
        const auto cut_up =
            run_text(tokens("gpt", sizes, on_mesh("2, 4", "\"replicate\", \"tp\"", "ddp") + cut + eval))
                .evaluations;
        REQUIRE(cut_up.size() == alone.size());
        for (std::size_t i = 0; i < alone.size(); ++i)
            CHECK(cut_up[i].loss == Approx(alone[i].loss).epsilon(1e-5));
    }
}
