// Published training runs beside what is estimated of them, and the file that they stand in.
#include "core/estimate/published.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/estimate/validation.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::estimate;

namespace {

std::vector<PublishedRun> published() {
    return published_runs();
}

const Compared& row(const Validation& validation, std::string_view id) {
    return *std::ranges::find_if(validation.rows, [&](const Compared& each) { return each.run->id == id; });
}

double seconds(const Validation& validation, std::string_view id) {
    return row(validation, id).time.total_s();
}

}  // namespace

TEST_CASE(
    "with the data sheets' speeds, published steps are met within 12 % on average, nine of ten within a "
    "quarter") {
    const std::vector<PublishedRun> runs = published();
    const Validation made = validate(runs, false);
    CHECK(made.fits.empty());
    const auto counts = [](const Compared& each) {
        return each.run->family != "gold" && !each.run->launch_bound;
    };
    const Score all = score(made.rows, &Compared::time_error, counts);
    CHECK(all.rows > 350);
    CHECK(all.mean_absolute < 0.12);
    int64_t far = 0;
    for (const Compared& each : made.rows)
        if (each.time_error && counts(each) && std::abs(*each.time_error) > 0.25) ++far;
    CHECK(far < all.rows / 10);
    const Score tier_a = score(made.rows, &Compared::time_error, [](const Compared& each) {
        return each.run->tier == "A" && each.run->family != "gold" && !each.run->launch_bound;
    });
    CHECK(tier_a.rows > 250);
    CHECK(tier_a.mean_absolute < 0.10);
}

TEST_CASE("allocated memory of whole models is met within 1 %, with nothing fitted") {
    const std::vector<PublishedRun> runs = published();
    const Validation made = validate(runs, false);
    int64_t found = 0;
    for (const Compared& each : made.rows)
        if (each.memory_error &&
            (each.run->family == "smx" || (each.run->family == "gold" && each.run->job.shape.dim > 1024))) {
            ++found;
            INFO(each.run->id << " " << *each.memory_error);
            CHECK(std::abs(*each.memory_error) < 0.01);
        }
    CHECK(found == 17);
}

TEST_CASE("ratios between runs of one source, which no speed can be fitted to, are met") {
    const std::vector<PublishedRun> runs = published();
    const Validation made = validate(runs, false);
    // Korthikanti et al.: full recomputation against that of attention with sequence parallelism.
    CHECK(seconds(made, "kor-175b-full") / seconds(made, "kor-175b-seqsel") == Approx(1.319).epsilon(0.05));
    // SimuMax: 405B, four layers, in two layouts.
    CHECK(row(made, "smx-405b-l4-tp1-pp2-dp4-mbc8").memory_bytes >
          row(made, "smx-70b-l12-tp4-pp1-dp2-mbc8").memory_bytes);
    // torchtitan: 13B without recomputation and with every second layer's.
    CHECK(seconds(made, "tt-a100-l2-13b-sac2") / seconds(made, "tt-a100-l2-13b-none") ==
          Approx(1.130).epsilon(0.05));
}

TEST_CASE("a fitted speed comes from rows of its own GPU and software, which are marked") {
    const std::vector<PublishedRun> runs = published();
    const Validation made = validate(runs, true);
    CHECK(made.fits.size() > 5);
    for (const Fit& fit : made.fits) {
        CHECK(fit.rows.size() >= 1);
        CHECK(fit.rows.size() <= 3);
        CHECK(fit.speed > 0.4);
        CHECK(fit.speed < 1.6);
        for (const std::string& id : fit.rows) {
            CHECK(row(made, id).fitted);
            CHECK(row(made, id).run->gpu == fit.gpu);
            CHECK(row(made, id).run->job.stack == fit.stack);
        }
    }
    // A group's only row is met exactly: it says nothing, and so it is marked.
    CHECK(std::abs(*row(made, "gold-a100-7b-tp1-pp4-memory-speed").time_error) < 0.01);
}

TEST_CASE("how far a kind of estimate was off is said of its own GPU, or of all where that has few runs") {
    std::string gpu = "h100_96gb";
    const Score own = accuracy(Stack::torchtitan, gpu);
    CHECK(gpu == "h100_96gb");
    CHECK(own.rows > 10);
    CHECK(own.mean_absolute < 0.12);
    gpu = "rtx4090";
    const Score all = accuracy(Stack::torchtitan, gpu);
    CHECK(gpu.empty());
    CHECK(all.rows > own.rows);
}

TEST_CASE("what cannot be estimated is skipped, and says why") {
    const std::vector<PublishedRun> runs = published();
    const auto why = [&](std::string_view id) {
        const auto run = std::ranges::find(runs, id, &PublishedRun::id);
        REQUIRE(run != runs.end());
        return run->skipped ? run->skipped->id : "";
    };
    CHECK(why("smx-deepseekv2-tp1-ep8-pp1-dp8-l4-mbc32") == "estimate.skip.model");
    CHECK(why("dsv3-2048-h800") == "estimate.skip.family");
    CHECK(std::ranges::any_of(
        runs, [](const PublishedRun& run) { return run.skipped && run.skipped->id == "estimate.skip.fp8"; }));
    CHECK(why("kor-175b-full").empty());
}

TEST_CASE("a file that is no list of runs is refused with the row and the key") {
    const test::Folder folder;
    const auto refusal = [&](const std::string& text) {
        const std::string path = folder.write("runs.json", text);
        try {
            read_published(path);
        } catch (const InputError& error) {
            return error.diagnostics().front().message.id;
        }
        return std::string();
    };
    CHECK(refusal("[") == "estimate.file.not_json");
    CHECK(refusal("{}") == "estimate.file.not_a_list");
    CHECK(refusal("[1]") == "estimate.file.not_an_object");
    CHECK(refusal("[{}]") == "config.missing");
    CHECK(refusal(R"([{"id": 3}])") == "scenario.wrong_type");
    CHECK(refusal(R"([{"id": "tt-a", "gpu": "A100", "model": {"layers": -1}}])") == "scenario.out_of_range");
    CHECK(refusal(R"([{"id": "tt-a", "model": {"layers": 1e300}}])") == "scenario.wrong_type");
    CHECK(refusal(R"([{"id": "tt-a", "model": {"tied": "no"}}])") == "scenario.wrong_type");
    CHECK(refusal(R"([{"id": "tt-a", "model": 3}])") == "scenario.wrong_type");
    for (const char* value : {"0", "-1", "1e308"})
        CHECK(refusal(R"([{"id": "tt-a", "measured": {"step_ms": )" + std::string(value) + "}}]") ==
              "scenario.out_of_range");
    CHECK(refusal(std::string(100'000, '[')) == "estimate.file.not_json");
    CHECK(refusal("[]").empty());
    // Values of no sense are no crash, but a reason to skip.
    CHECK(
        refusal(
            R"([{"id": "tt-a", "gpu": "A100", "model": {"kind": "gpt", "heads": 0}, "layout": {"tp": 0, "cp": 0}}])")
            .empty());
}
