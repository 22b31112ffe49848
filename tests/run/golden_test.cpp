// Training runs that PyTorch 2.15 made with real processes; ours must give the same losses, the same
// parameters and, on every rank, the same collectives in the same order.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "backends/registry.h"
#include "core/base/one_process.h"
#include "core/run/run.h"
#include "tests/run/golden_run.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

golden::Outcome train(const std::string& name, const nlohmann::json& gold, const std::string& extra = "",
                      const std::string_view backend = "threads") {
    run::RunOptions options;
    options.backend = backend;
    return golden::outcome_of(golden::train(name, gold, *backends::make_registry(), options, extra));
}

/// What a pipeline's run can be held against PyTorch's by. Step 0 exchanges shapes in PyTorch. A receive's
/// elements stand in `in` there; and it issues sends and receives in pairs, so their order is its own.
golden::Outcome comparable(golden::Outcome outcome) {
    std::erase_if(outcome.collectives, [](const golden::Collective& c) { return c.step < 1; });
    for (golden::Collective& c : outcome.collectives) {
        c.in = std::max(c.in, c.out);
        c.out = 0;
    }
    std::ranges::stable_sort(outcome.collectives, {}, [](const golden::Collective& c) { return c.op; });
    return outcome;
}

}  // namespace

TEST_CASE("every golden run comes out as PyTorch's: losses, parameters, collectives in order") {
    for (const std::string& name : golden::names()) {
        INFO(name);
        const nlohmann::json gold = golden::read_case(name);
        for (const std::string_view backend : kOneProcessBackends)
            CHECK(golden::differences(train(name, gold, "", backend), golden::expected(gold, name)) ==
                  std::vector<std::string>{});
    }
}

TEST_CASE("ZeRO-1 gives the numbers of PyTorch's: as ZeroRedundancyOptimizer its collectives too") {
    const std::string name = "mlp_zero1_2";
    const nlohmann::json gold = golden::read_case(name);
    golden::Outcome ours = train(name, gold), theirs = golden::expected(gold, name);
    ours.collectives.clear();
    auto numbers = theirs;
    numbers.collectives.clear();
    CHECK(golden::differences(ours, numbers) == std::vector<std::string>{});

    ours = train(name, gold, "zero_variant = \"pytorch\"\n");
    std::erase_if(ours.collectives, [](const auto& c) { return c.step < 0; });  // not in PyTorch's record
    CHECK(golden::differences(ours, theirs) == std::vector<std::string>{});
}

TEST_CASE("every golden run with tensor parallelism comes out as PyTorch's") {
    for (const std::string& name : golden::unordered_names()) {
        INFO(name);
        const nlohmann::json gold = golden::read_case(name);
        for (const std::string_view backend : kOneProcessBackends)
            CHECK(golden::differences(train(name, gold, "", backend), golden::expected(gold, name), false) ==
                  std::vector<std::string>{});
    }
}

TEST_CASE("gpt with sequence parallelism trains as PyTorch's and sends no more elements than it") {
    const nlohmann::json gold = golden::read_case("gpt_tpsp2");
    golden::Outcome ours = train("gpt_tpsp2", gold), theirs = golden::expected(gold, "gpt_tpsp2");
    std::map<std::pair<int32_t, int32_t>, int64_t> sent, allowed;  // by rank and step
    for (const auto& c : ours.collectives) sent[{c.rank, c.step}] += c.in;
    for (const auto& c : theirs.collectives) allowed[{c.rank, c.step}] += c.in;
    CHECK(sent.size() == 2U * 3U);
    for (const auto& [place, elements] : sent) {
        CHECK(elements > 0);
        CHECK(elements <= allowed[place]);
    }
    ours.collectives.clear();
    theirs.collectives.clear();
    CHECK(golden::differences(ours, theirs) == std::vector<std::string>{});
}

TEST_CASE("the direct algorithm gives PyTorch's numbers and collectives too") {
    for (const std::string name : {"toy_ddp4", "mlp_hsdp2x2_clip"}) {
        INFO(name);
        const nlohmann::json gold = golden::read_case(name);
        CHECK(golden::differences(train(name, gold, "algorithm = \"direct\"\n"),
                                  golden::expected(gold, name)) == std::vector<std::string>{});
    }
}

TEST_CASE("pipelines come out as PyTorch's: losses, parameters, and what travels in every step") {
    for (const std::string name : {"mlp_pp2_1f1b", "mlp_pp2_gpipe", "mlp_pp4_1f1b", "mlp_pp4_gpipe"}) {
        INFO(name);
        const nlohmann::json gold = golden::read_case(name);
        const golden::Outcome pytorch = comparable(golden::expected(gold, name));
        const nlohmann::json& strategy = gold["case"]["strategy"];
        const std::size_t edges = strategy["mesh"][0].get<std::size_t>() - 1;
        const auto microbatches = strategy["microbatches"].get<std::size_t>();
        // Two steps; forward and backward over each edge, each a send and a recv.
        CHECK(pytorch.collectives.size() == 2 * edges * microbatches * 2 * 2);
        CHECK(golden::differences(comparable(train(name, gold)), pytorch) == std::vector<std::string>{});
    }
}

TEST_CASE("pipelines over FSDP2 come out as PyTorch's: units are gathered once for all backwards") {
    for (const std::string name :
         {"mlp_pp2_fsdp2_gpipe", "mlp_pp2_fsdp2_1f1b", "mlp_pp2_fsdp2_interleaved"}) {
        INFO(name);
        const nlohmann::json gold = golden::read_case(name);
        const golden::Outcome pytorch = comparable(golden::expected(gold, name));
        CHECK(golden::differences(comparable(train(name, gold)), pytorch) == std::vector<std::string>{});
    }
}

TEST_CASE("the comparison sees a wrong loss, parameter, order and reduction") {
    const nlohmann::json gold = golden::read_case("mlp_hsdp2x2_clip");
    const golden::Outcome right = golden::expected(gold, "mlp_hsdp2x2_clip");
    CHECK(golden::differences(right, right).empty());
    const auto count_after = [&](const auto& change) {
        golden::Outcome wrong = right;
        change(wrong);
        return golden::differences(wrong, right).size();
    };
    CHECK(count_after([](auto& o) { o.losses[1] *= 1.0001; }) == 1);
    CHECK(count_after([](auto& o) { o.losses.pop_back(); }) == 1);
    CHECK(count_after([](auto& o) { o.grad_norms[0] *= 1.01; }) == 1);
    CHECK(count_after([](auto& o) { o.parameters.begin()->second.second[0] += 1e-3F; }) == 1);
    CHECK(count_after([](auto& o) { o.parameters.begin()->second.second[0] = std::nanf(""); }) == 1);
    CHECK(count_after([](auto& o) { o.parameters.erase(o.parameters.begin()); }) == 2);
    CHECK(count_after([](auto& o) {
              const auto scatter = std::find_if(o.collectives.begin(), o.collectives.end(),
                                                [](const auto& c) { return c.op == "reduce_scatter"; });
              std::swap(*scatter, *std::next(scatter));  // the all_reduce that follows it
          }) == 1);
    CHECK(count_after([](auto& o) { o.collectives.back().reduce_op = "max"; }) == 1);
    CHECK(count_after([](auto& o) { o.collectives.pop_back(); }) == 1);
    CHECK(count_after([](auto& o) { o.collectives[0].dtype = "int32"; }) == 1);
}
