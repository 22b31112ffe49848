// What each rank says that it keeps (trace::ParameterRun), against PyTorch's rules and against what its
// collectives carried.
#include <map>
#include <string>
#include <vector>

#include "tests/parallel/train_helper.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

using trace::ParameterRun;

/// "net1.weight 0+50@0", "net2.weight pad 50+10@20", "pad 2@53"; a bar before those that another rank
/// updates.
std::vector<std::string> kept(const trace::Trace& trace, std::size_t rank) {
    std::vector<std::string> out;
    for (const ParameterRun& run : trace.ranks[rank].parameters) {
        std::string text(trace.text(run.parameter));
        if (run.padding != 0) text += text.empty() ? "pad" : " pad";
        if (run.updated == 0) text = "|" + text;
        if (run.parameter != 0) text += " " + std::to_string(run.first) + "+";
        if (run.parameter == 0) text += " ";
        out.push_back(text + std::to_string(run.elements) + "@" + std::to_string(run.first_in_shard));
    }
    return out;
}

/// How often each number of each parameter is kept, and how often it is updated.
struct Cover {
    std::vector<int> kept, updated;
};
std::map<std::string, Cover> cover(const trace::Trace& trace) {
    std::map<std::string, Cover> all;
    for (const auto& rank : trace.ranks)
        for (const ParameterRun& run : rank.parameters) {
            if (run.padding != 0) continue;
            Cover& c = all[std::string(trace.text(run.parameter))];
            c.kept.resize(static_cast<std::size_t>(run.rows * run.columns));
            c.updated.resize(c.kept.size());
            for (int64_t i = run.first; i < run.first + run.elements; ++i) {
                const int64_t row = run.first_row + i / run.n_columns,
                              column = run.first_column + i % run.n_columns;
                const auto at = static_cast<std::size_t>(row * run.columns + column);
                ++c.kept[at];
                c.updated[at] += run.updated;
            }
        }
    return all;
}

/// Every number is kept `copies` times and updated `updates` times.
void check_cover(const trace::Trace& trace, int copies, int updates, std::size_t parameters) {
    const auto all = cover(trace);
    CHECK(all.size() == parameters);
    for (const auto& [parameter, c] : all) {
        INFO(parameter);
        CHECK(c.kept == std::vector<int>(c.kept.size(), copies));
        CHECK(c.updated == std::vector<int>(c.kept.size(), updates));
    }
}

/// What a rank gives to a unit's all_gather is what it keeps of the unit, padding included; a whole
/// reduce_scatter is as long as all of it.
void check_gathers(const trace::Trace& trace) {
    int gathers = 0;
    for (const auto& rank : trace.ranks)
        for (const auto& event : rank.events) {
            if (event.kind != trace::EventKind::collective || event.phase == Phase::setup) continue;
            if (event.op != CollectiveOp::all_gather && event.op != CollectiveOp::reduce_scatter) continue;
            int64_t elements = 0, padding = 0;
            for (const ParameterRun& run : rank.parameters) {
                if (run.unit != event.unit) continue;
                elements += run.elements;
                padding += run.padding * run.elements;
            }
            const bool gather = event.op == CollectiveOp::all_gather;
            CHECK((gather ? event.in_elements : event.out_elements) == elements);
            if (gather) CHECK(event.padding == padding);
            ++gathers;
        }
    CHECK(gathers > 0);
}

trace::Trace trace_of(const std::string& text) {
    return *test::run_text(text).trace;
}

}  // namespace

TEST_CASE("FSDP2 keeps rows by torch.chunk's rule, padding behind them") {
    const auto trace =
        trace_of(test::toy_scenario("[mesh]\nshape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = "
                                    "\"fsdp2\"\nunits = [[\"net1\"], [\"net2\"]]\n",
                                    test::kMomentumSgd));
    // net1.weight (10, 10): 3, 3, 3, 1 rows; net1.bias (10): 3, 3, 3, 1; net2.weight (5, 10): 2, 2, 1, 0.
    CHECK(kept(trace, 0) == std::vector<std::string>{"net1.weight 0+30@0", "net1.bias 0+3@30",
                                                     "net2.weight 0+20@0", "net2.bias 0+2@20"});
    CHECK(kept(trace, 2) == std::vector<std::string>{"net1.weight 60+30@0", "net1.bias 6+3@30",
                                                     "net2.weight 40+10@0", "net2.weight pad 50+10@10",
                                                     "net2.bias 4+1@20", "net2.bias pad 5+1@21"});
    CHECK(kept(trace, 3) == std::vector<std::string>{"net1.weight 90+10@0", "net1.weight pad 100+20@10",
                                                     "net1.bias 9+1@30", "net1.bias pad 10+2@31",
                                                     "net2.weight 50+0@0", "net2.weight pad 50+20@0",
                                                     "net2.bias 5+0@20", "net2.bias pad 5+2@20"});
    check_cover(trace, 1, 1, 4);
    check_gathers(trace);
}

TEST_CASE("HSDP keeps as many copies as it has replicas, and each is updated where it lies") {
    const auto trace = trace_of(test::mlp_scenario(
        "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n",
        test::kMomentumSgd));
    check_cover(trace, 2, 2, 12);
    check_gathers(trace);
}

TEST_CASE("FSDP1 keeps equal parts of the flat parameter, its padding between and behind") {
    const auto trace = trace_of(test::toy_scenario(
        "[mesh]\nshape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp1\"\n", test::kMomentumSgd));
    // 100 + 10 + (2) + 50 + (2) + 5 + (3) = 172, 43 a rank: FlatParamHandle's own example.
    CHECK(kept(trace, 0) == std::vector<std::string>{"net1.weight 0+43@0"});
    CHECK(kept(trace, 1) == std::vector<std::string>{"net1.weight 43+43@0"});
    CHECK(kept(trace, 2) == std::vector<std::string>{"net1.weight 86+14@0", "net1.bias 0+10@14", "pad 2@24",
                                                     "net2.weight 0+17@26"});
    CHECK(kept(trace, 3) ==
          std::vector<std::string>{"net2.weight 17+33@0", "pad 2@33", "net2.bias 0+5@35", "pad 3@40"});
    check_cover(trace, 1, 1, 4);
    check_gathers(trace);
}

TEST_CASE("DDP keeps everything everywhere, ZeRO too, but updates each number once") {
    const std::string two = "[mesh]\nshape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = ";
    check_cover(trace_of(test::mlp_scenario(
                    "[mesh]\nshape = [2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n",
                    test::kMomentumSgd)),
                2, 2, 12);
    for (const char* stage : {"zero1", "zero2"}) {
        const auto trace = trace_of(test::mlp_scenario(two + "\"" + stage + "\"\n", test::kMomentumSgd));
        check_cover(trace, 2, 1, 12);
        CHECK(trace.text(trace.ranks[0].parameters[0].unit) == "bucket 0");
    }
    check_cover(trace_of(test::mlp_scenario(two + "\"zero3\"\n", test::kMomentumSgd)), 1, 1, 12);
}

TEST_CASE("tensor parallelism leaves a rank its columns or rows, and FSDP2 cuts those again") {
    const auto trace = trace_of(test::mlp_scenario(
        "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n",
        test::kMomentumSgd));
    for (const ParameterRun& run : trace.ranks[1].parameters) {
        if (run.padding != 0) continue;
        const std::string_view name = trace.text(run.parameter);
        INFO(name);
        if (name.ends_with("up.weight")) {  // (10, 6), column-wise: Shard(0)
            CHECK(run.rows == 10);
            CHECK(run.first_row == 5);
            CHECK(run.n_rows == 5);
            CHECK(run.n_columns == 6);
            CHECK(run.elements == 3 * 6);
        } else if (name.ends_with("down.weight")) {  // (6, 10), row-wise: Shard(1)
            CHECK(run.columns == 10);
            CHECK(run.first_column == 5);
            CHECK(run.n_columns == 5);
            CHECK(run.n_rows == 6);
            CHECK(run.elements == 3 * 5);
        } else if (name.ends_with("down.bias")) {  // replicated over tp
            CHECK(run.n_rows == 6);
            CHECK(run.elements == 3);
        }
    }
    // Whole and once, but for the biases behind the row-wise cut, of which both tp ranks have a copy.
    for (const auto& [parameter, c] : cover(trace)) {
        INFO(parameter);
        CHECK(c.kept == std::vector<int>(c.kept.size(), parameter.ends_with("down.bias") ? 2 : 1));
    }
    check_gathers(trace);
}

TEST_CASE("a pipeline's stages keep what they run") {
    const auto trace =
        trace_of(test::mlp_scenario("[mesh]\nshape = [3]\nnames = [\"pp\"]\n[parallel]\ndata = \"none\"\n"
                                    "schedule = \"gpipe\"\nmicrobatches = 4\n",
                                    test::kMomentumSgd));
    check_cover(trace, 1, 1, 12);
    for (std::size_t rank = 0; rank < 3; ++rank)
        for (const ParameterRun& run : trace.ranks[rank].parameters)
            CHECK(trace.text(run.parameter).starts_with("layers." + std::to_string(rank) + "."));
}
