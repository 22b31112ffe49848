// Profiles as files, what they cost, and who shares a node's link.
#include <cmath>
#include <fstream>

#include "core/base/error.h"
#include "core/time/clock.h"
#include "core/time/exposed.h"
#include "core/time/read_profile.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/time/hand_made.h"

using namespace meshscope;
using test::HandMade;
using time::Profile;

namespace {

constexpr const char* kSmall =
    "name = \"small\"\n[compute]\nfloat32_gflops = 1.0\nmemory_GB_per_s = 1.0\n"
    "[links.inside]\nlatency_us = 0.1\nGB_per_s = 0.5\n[links.between]\nlatency_us = 0.3\nGB_per_s = 0.25\n";

std::vector<Diagnostic> mistakes(const std::string& text) {
    try {
        time::parse_profile(text, "p.toml");
    } catch (const InputError& error) {
        return error.diagnostics();
    }
    return {};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

/// α = 100 ns, β = 2 ns, γ = 1 ns a byte.
Profile alpha_beta_gamma() {
    Profile profile = time::parse_profile(kSmall, "p.toml");
    profile.reduce_bytes_per_s = 1e9;
    return profile;
}

std::vector<int32_t> ranks(int32_t p) {
    std::vector<int32_t> all;
    for (int32_t r = 0; r < p; ++r) all.push_back(r);
    return all;
}

/// One collective of p members without hops, timed by formula.
int64_t by_formula(CollectiveOp op, Algorithm algorithm, int32_t p, int64_t in, int64_t out, int64_t sent) {
    HandMade made(p);
    made.trace.info.level = trace::Level::collectives;
    const int32_t group = made.group(ranks(p));
    for (int32_t r = 0; r < p; ++r) {
        trace::Event& e = made.event(r, made.collective(r, op, group, 0));
        e.algorithm = algorithm;
        e.in_elements = in;
        e.out_elements = out;
        e.sent_bytes = sent;
    }
    return time::modelled(made.trace, alpha_beta_gamma()).end_ns;
}

}  // namespace

TEST_CASE("every built-in profile reads without a mistake, and classroom.toml is the classroom of the code") {
    for (const std::string& name : time::profile_names()) {
        INFO(name);
        CHECK(time::named_profile(name).name == name);
    }
    const Profile file = time::named_profile("classroom"), code = time::classroom();
    CHECK(file.flops_per_s == code.flops_per_s);
    CHECK(file.memory_bytes_per_s == code.memory_bytes_per_s);
    CHECK(file.launch_ns == code.launch_ns);
    CHECK(file.latency_inside_ns == code.latency_inside_ns);
    CHECK(file.latency_between_ns == code.latency_between_ns);
    CHECK(file.bandwidth_inside_bytes_per_s == code.bandwidth_inside_bytes_per_s);
    CHECK(file.bandwidth_between_bytes_per_s == code.bandwidth_between_bytes_per_s);
    CHECK(file.node_bytes_per_s == 0);
    CHECK(file.overlap);
    CHECK_THROWS_AS(time::named_profile("cray"), InvalidArgument);
}

TEST_CASE("a key of a profile that was probably meant is tried in the file") {
    const auto hint_of = [](const std::string& from, const std::string& to) {
        const std::vector<Diagnostic> found = mistakes(replaced(kSmall, from, to));
        if (found.size() != 1) return std::to_string(found.size()) + " mistakes";
        std::string said = found[0].hint.id;
        for (const char* name : {"guess", "table", "cause.id"})
            if (const MessageValue* const value = found[0].hint.find(name)) said += " " + to_text(*value);
        return said;
    };
    CHECK(hint_of("float32_gflops", "float32_gflop") == "scenario.hint.did_you_mean float32_gflops");
    CHECK(hint_of("float32_gflops = 1.0", "float32_gflop = 0") ==
          "scenario.hint.did_you_mean_then float32_gflops time.profile.not_above_0");
    CHECK(hint_of("float32_gflops = 1.0", "float32_gflops = 1\nfloat32_gflop = 2") ==
          "scenario.hint.key_is_there float32_gflops");
    // A key of another table, and one that several tables have.
    CHECK(hint_of("[links.inside]", "[links]\nlaunch_us = 4\n[links.inside]") ==
          "scenario.hint.key_of_table compute");
    CHECK(hint_of("latency_us = 0.1", "latency_us = 0.1\nmemory_GB_per_s = 2") ==
          "scenario.hint.key_is_there compute.memory_GB_per_s");
    CHECK(hint_of("name =", "latency_us = 4\nname =") == "");
    CHECK(hint_of("float32_gflops", "latency_us = 4\nfloat32_gflops") == "");  // not launch_us
    CHECK(hint_of("[links.inside]", "[compute.kernels.\"a.b\"]\ngflop = 3\n[links.inside]") ==
          "scenario.hint.did_you_mean gflops");
    CHECK(hint_of("[links.inside]", "[compute.kernels.\"a.b\"]\ngflop = \"3\"\n[links.inside]") ==
          "scenario.hint.did_you_mean_then gflops time.profile.not_a_number");
}

TEST_CASE("a file's figures arrive in their units, and profile_text() reads back") {
    const Profile p = time::parse_profile(
        "name = \"all\"\n[compute]\nfloat32_gflops = 100\nbfloat16_gflops = 400\nefficiency = 0.5\n"
        "half_speed_gflop = 0.001\nmemory_GB_per_s = 20.0\nlaunch_us = 1.5\nreduce_GB_per_s = 8\noverlap = "
        "false\n"
        "[compute.kernels.relu]\nGB_per_s = 3.0\n[links.inside]\nlatency_us = 2\nGB_per_s = 6\n"
        "[links.between]\nlatency_us = 9\nGB_per_s = 1\nnode_GB_per_s = 4\n",
        "p.toml");
    for (const Profile& each : {p, time::parse_profile(time::profile_text(p, "two\nlines"), "q.toml")}) {
        CHECK(each.flops_per_s == Approx(50e9));
        CHECK(each.bfloat16_flops_per_s == Approx(200e9));
        CHECK(each.bfloat16_peak_flops_per_s == Approx(400e9));
        CHECK(each.half_speed_flops == Approx(1e6));
        CHECK(each.memory_bytes_per_s == Approx(20e9));
        CHECK(each.launch_ns == 1500);
        CHECK(each.reduce_bytes_per_s == Approx(8e9));
        CHECK_FALSE(each.overlap);
        CHECK(each.kernels.at("relu").bytes_per_s == Approx(3e9));
        CHECK(each.latency_inside_ns == 2000);
        CHECK(each.bandwidth_inside_bytes_per_s == Approx(6e9));
        CHECK(each.latency_between_ns == 9000);
        CHECK(each.bandwidth_between_bytes_per_s == Approx(1e9));
        CHECK(each.node_bytes_per_s == Approx(4e9));
    }
}

TEST_CASE(
    "a profile keeps the data sheet's peak beside what products reach of it, whatever they are made to "
    "reach") {
    Profile p = time::named_profile("h100");
    CHECK(p.bfloat16_peak_flops_per_s == Approx(989e12));
    p.bfloat16_flops_per_s *= 0.5;  // as a fit to measured steps would have it
    p.flops_per_s *= 0.5;
    const Profile read = time::parse_profile(time::profile_text(p), "q.toml");
    CHECK(read.bfloat16_peak_flops_per_s == Approx(989e12));
    CHECK(read.bfloat16_flops_per_s == Approx(0.31 * 989e12));
    CHECK(read.attention_share == Approx(p.attention_share));
    // A measured profile says what is reached, and nothing of a peak.
    CHECK(time::named_profile("laptop").bfloat16_peak_flops_per_s == 0);
}

TEST_CASE("bad files are refused at the line and column of each mistake") {
    CHECK(mistakes(kSmall).empty());
    auto found = mistakes(replaced(kSmall, "memory_GB_per_s = 1.0", "memory_GB_per_s = -1.0\nspeed = 3"));
    REQUIRE(found.size() == 2);
    const auto at = [&](const char* id) {
        for (const Diagnostic& d : found)
            if (d.message.id == id) return std::pair(d.position.line, d.position.column);
        return std::pair(0, 0);
    };
    CHECK(at("time.profile.not_above_0") == std::pair(4, 19));
    CHECK(at("time.profile.unknown_key") == std::pair(5, 1));
    found = mistakes(replaced(kSmall, "GB_per_s = 0.25", "GB_per_s = \"fast\""));
    CHECK(at("time.profile.not_a_number") == std::pair(10, 12));
    found = mistakes(replaced(kSmall, "[links.between]\nlatency_us = 0.3\nGB_per_s = 0.25\n", ""));
    CHECK(found.size() == 1);
    CHECK(at("time.profile.missing").first > 0);
    found = mistakes(replaced(kSmall, "float32_gflops = 1.0", "float32_gflops = "));
    CHECK(at("toml.syntax").first == 3);
    found = mistakes(replaced(kSmall, "latency_us = 0.1", "latency_us = -0.1"));
    CHECK(at("time.profile.below_0") == std::pair(6, 14));
    CHECK_THROWS_AS(time::read_profile("/no/such/profile.toml"), IoError);
    CHECK_THROWS_AS(time::read_profile("/"), IoError);
}

TEST_CASE("one mistake of a profile is told once, whatever hangs on it") {
    const auto told = [](const std::string& text) {
        std::string all;
        for (const Diagnostic& d : mistakes(text)) {
            all +=
                (all.empty() ? "" : "; ") + d.message.id.substr(13) + " " + to_text(*d.message.find("key"));
            if (const MessageValue* const guess = d.hint.find("guess")) all += " -> " + to_text(*guess);
        }
        return all;
    };
    const std::string without_links = std::string(kSmall).substr(0, std::string(kSmall).find("[links"));
    CHECK(told(without_links) == "missing links");
    CHECK(told("links = 3\n" + without_links) == "not_a_table links");
    CHECK(told(replaced(kSmall, "[links.between]\nlatency_us = 0.3\nGB_per_s = 0.25\n", "")) ==
          "missing links.between");
    CHECK(told(replaced(kSmall, "[links.inside]", "[links.insde]")) == "unknown_key links.insde -> inside");
    CHECK(told(replaced(kSmall, "GB_per_s = 0.25", "GB_per_sec = 0.25")) ==
          "unknown_key links.between.GB_per_sec -> GB_per_s");
    CHECK(told(replaced(kSmall, "float32_gflops", "float32_gflop")) ==
          "unknown_key compute.float32_gflop -> float32_gflops");
    CHECK(told(replaced(kSmall, "[links.inside]", "kernels = 3\n[links.inside]")) ==
          "not_a_table compute.kernels");
    CHECK(told(replaced(kSmall, "[links.inside]", "kernels.relu = 3\n[links.inside]")) ==
          "not_a_table compute.kernels.relu");
    CHECK(told("") == "missing name; missing compute; missing links");
}

TEST_CASE("a figure that is too large is told its own bound, an integer that no double holds is a number") {
    const auto found = [](const std::string& from, const std::string& to) {
        const std::vector<Diagnostic> all = mistakes(replaced(kSmall, from, to));
        return all.size() == 1 ? all[0].message : Message{"not one mistake", {}};
    };
    const auto most = [](const Message& message) { return std::get<double>(*message.find("most")); };
    const Message speed = found("float32_gflops = 1.0", "float32_gflops = 1e300");
    CHECK(speed.id == "time.profile.above_most");
    CHECK(most(speed) == 1e30);
    const Message latency = found("latency_us = 0.1", "latency_us = 1e30");
    CHECK(latency.id == "time.profile.above_most");
    CHECK(most(latency) == 1e9);
    const Message efficiency = found("float32_gflops = 1.0", "float32_gflops = 1.0\nefficiency = 1.5");
    CHECK(efficiency.id == "time.profile.above_most");
    CHECK(most(efficiency) == 1);
    CHECK(found("latency_us = 0.1", "latency_us = 9223372036854775807").id == "time.profile.above_most");
    const Profile odd = time::parse_profile(
        replaced(kSmall, "memory_GB_per_s = 1.0", "memory_GB_per_s = 9007199254740993"), "p.toml");
    CHECK(odd.memory_bytes_per_s == Approx(9007199254740992e9));  // 2^53
}

TEST_CASE("0 is refused where a figure that is left out is another one, and taken where it is 0") {
    for (const char* line : {"efficiency = 0", "bfloat16_gflops = 0.0", "reduce_GB_per_s = 0",
                             "kernels.relu.gflops = 0.0", "kernels.relu.GB_per_s = 0"}) {
        INFO(line);
        const auto found =
            mistakes(replaced(kSmall, "[links.inside]", std::string(line) + "\n[links.inside]"));
        REQUIRE(found.size() == 1);
        CHECK(found[0].message.id == "time.profile.not_above_0_or_absent");
    }
    const auto node = mistakes(std::string(kSmall) + "node_GB_per_s = 0\n");
    REQUIRE(node.size() == 1);
    CHECK(node[0].message.id == "time.profile.not_above_0_or_absent");
    for (const char* line : {"half_speed_gflop = 0", "launch_us = 0.0"})
        CHECK(mistakes(replaced(kSmall, "[links.inside]", std::string(line) + "\n[links.inside]")).empty());
    CHECK(mistakes(replaced(kSmall, "latency_us = 0.1", "latency_us = 0")).empty());
}

TEST_CASE("an empty file is a profile with everything missing, not a file that cannot be read") {
    const test::Folder folder;
    const std::string path = folder.file("empty.toml");
    std::ofstream(path).flush();
    try {
        time::read_profile(path);
        FAIL("it was read");
    } catch (const InputError& error) {
        CHECK(error.diagnostics().front().message.id == "time.profile.missing");
    }
}

TEST_CASE("whatever a profile and its kernels are called, profile_text() reads back") {
    Profile p = time::parse_profile(kSmall, "p.toml");
    p.name = "a\"b\\c\n\t\x01\x7f é 机";
    p.kernels["a \"fast\" \\ one"] = {1e9, 0};
    const Profile read = time::parse_profile(time::profile_text(p), "q.toml");
    CHECK(read.name == p.name);
    CHECK(read.kernels.at("a \"fast\" \\ one").flops_per_s == Approx(1e9));
}

TEST_CASE("copies between host and device cross the PCI Express bus, not the device's memory") {
    // 1 GB: 16 lanes of PCIe 4 carry 32 GB/s each way, of PCIe 5 64.
    for (const auto& [name, ms] : {std::pair("a100", 31.25), std::pair("h100", 15.625)})
        for (const std::string kernel : {"fsdp2.h2d", "fsdp2.d2h"}) {
            const time::Profile p = time::named_profile(name);
            CHECK(time::compute_ns(p, kernel, DType::float32, 0, 1'000'000'000) ==
                  p.launch_ns + static_cast<int64_t>(ms * 1e6));
        }
}

TEST_CASE("a product ramps up, bfloat16 has its own speed, and a kernel its own when it has one") {
    Profile p = alpha_beta_gamma();
    p.half_speed_flops = 1000;
    p.bfloat16_flops_per_s = 4e9;
    p.kernels["gelu_tanh"] = {5e8, 0};
    CHECK(time::compute_ns(p, "linear", DType::float32, 1000, 0) == 2000);  // half speed
    CHECK(time::compute_ns(p, "linear.weight_grad", DType::float32, 9000, 0) == 10000);
    CHECK(time::compute_ns(p, "linear", DType::bfloat16, 7000, 0) == 2000);
    CHECK(time::compute_ns(p, "relu", DType::float32, 1000, 0) == 1000);
    CHECK(time::compute_ns(p, "gelu_tanh", DType::float32, 1000, 1500) == 2000);
}

TEST_CASE("each dtype has its peak: TF32 where it is allowed, float16 as bfloat16, attention at its share") {
    Profile p = alpha_beta_gamma();
    const auto peak = [&p](const std::string& kernel, DType dtype) {
        return time::peak_flops_per_s(p, kernel, dtype);
    };
    CHECK(peak("linear", DType::float16) == 1e9);  // nothing else is known
    p.bfloat16_flops_per_s = 4e9;
    p.tf32_flops_per_s = 2e9;
    p.attention_share = 0.5;
    CHECK(peak("linear", DType::float16) == 4e9);
    p.float16_flops_per_s = 8e9;
    CHECK(peak("linear", DType::float16) == 8e9);
    CHECK(peak("linear", DType::bfloat16) == 4e9);
    CHECK(peak("attention.backward", DType::bfloat16) == 2e9);
    CHECK(peak("attention", DType::float32) == 1e9);  // no such kernel there
    CHECK(peak("linear", DType::float32) == 1e9);
    p.tf32 = true;
    CHECK(peak("linear", DType::float32) == 2e9);
    CHECK(peak("attention", DType::float32) == 2e9);
    CHECK(peak("adamw", DType::float32) == 1e9);  // no product
    p.kernels["linear"] = {5e8, 0};
    CHECK(time::compute_ns(p, "linear", DType::bfloat16, 1000, 0) == 2000);
    CHECK(time::compute_ns(p, "linear.recompute", DType::bfloat16, 1000, 0) == 2000);
}

TEST_CASE("peaks, memory and devices a node are read in their units, checked and written back") {
    const std::string more =
        "float32_gflops = 1.0\ntf32_gflops = 8.0\nfloat16_gflops = 16\nfp8_gflops = 32\ntf32 = true\n"
        "efficiency = 0.5\nattention_efficiency = 0.25\nmemory_GiB = 80";
    std::string text = replaced(kSmall, "float32_gflops = 1.0", more);
    text = replaced(text, "[links.inside]", "[links]\nranks_per_node = 8\n[links.inside]");
    const Profile p = time::parse_profile(text, "p.toml");
    for (const Profile& each : {p, time::parse_profile(time::profile_text(p), "q.toml")}) {
        CHECK(each.tf32_flops_per_s == Approx(4e9));
        CHECK(each.float16_flops_per_s == Approx(8e9));
        CHECK(each.fp8_flops_per_s == Approx(16e9));
        CHECK(each.tf32);
        CHECK(each.attention_share == Approx(0.5));
        CHECK(each.memory_bytes == int64_t{80} << 30);
        CHECK(each.node_ranks == 8);
    }
    Profile faster = p;
    faster.attention_share = 2;
    const Profile read = time::parse_profile(time::profile_text(faster), "q.toml");
    CHECK(read.attention_share == Approx(2));
    CHECK(read.flops_per_s == Approx(p.flops_per_s));
    CHECK(read.fp8_flops_per_s == Approx(p.fp8_flops_per_s));
    const auto found = mistakes(replaced(text, "tf32_gflops = 8.0\n", ""));
    REQUIRE(found.size() == 1);  // TF32 is allowed, and nobody says how fast it is
    CHECK(found[0].message.id == "time.profile.missing");
    CHECK(mistakes(replaced(text, "ranks_per_node = 8", "ranks_per_node = 2.5")).size() == 1);
}

TEST_CASE("a GPU's profile says what a prediction asks of it, within what its data sheet allows") {
    for (const std::string name :
         {"rtx4090", "a100_40gb", "a100", "h100", "h100_96gb", "h200", "b200", "gb200"}) {
        INFO(name);
        const Profile p = time::named_profile(name);
        CHECK(p.memory_bytes > int64_t{23} << 30);
        CHECK(p.node_ranks == (name == "gb200" ? 72 : 8));
        CHECK(p.bfloat16_flops_per_s >= p.tf32_flops_per_s);
        CHECK(p.tf32_flops_per_s >= p.flops_per_s);
        CHECK_FALSE(p.tf32);  // PyTorch's default
        CHECK(p.attention_share <= 1);
        CHECK(p.bandwidth_inside_bytes_per_s >= p.bandwidth_between_bytes_per_s);
    }
    CHECK(time::named_profile("h100").bfloat16_flops_per_s == Approx(0.62 * 989e12));
}

TEST_CASE("by formula and by hops: the α, β and γ of the literature") {
    for (const int32_t p : {2, 4, 8}) {
        INFO(p);
        const int64_t n = 4 * 240 * p, elements = n / 4;  // bytes
        const int64_t others = p - 1, part = n / p, lg = static_cast<int64_t>(std::log2(p));
        using enum CollectiveOp;
        using enum Algorithm;
        CHECK(by_formula(all_reduce, ring, p, elements, elements, 2 * part * others) ==
              2 * others * 100 + 2 * 2 * part * others + part * others);
        CHECK(by_formula(all_gather, ring, p, elements / p, elements, part * others) ==
              others * 100 + 2 * part * others);
        CHECK(by_formula(reduce_scatter, ring, p, elements, elements / p, part * others) ==
              others * 100 + 3 * part * others);
        CHECK(by_formula(broadcast, tree, p, elements, elements, n) == lg * (100 + 2 * n));
        CHECK(by_formula(reduce, tree, p, elements, elements, n) == lg * (100 + 3 * n));
        CHECK(by_formula(broadcast, direct, p, elements, elements, n) == others * (100 + 2 * n));
        CHECK(by_formula(all_to_all, direct, p, elements, elements, part * others) ==
              others * 100 + 2 * part * others);
        CHECK(by_formula(barrier, tree, p, 0, 0, 0) == 2 * lg * 100);

        // The direct all_reduce: one round of whole buffers up to 1024 bytes (two ranks: 256), beyond it two
        // rounds of parts.
        const int64_t few = p == 2 ? 64 : 256;
        CHECK(by_formula(all_reduce, direct, p, few, few, 4 * few * others) == others * (100 + 3 * 4 * few));
        CHECK(by_formula(all_reduce, direct, p, 264, 264, 2 * (1056 / p) * others) ==
              2 * others * 100 + 2 * 2 * (1056 / p) * others + (1056 / p) * others);

        HandMade made(p);  // the ring's all_reduce again, hop by hop: the first half reduces
        made.ring(all_reduce, made.group(ranks(p)), 0, 2 * (p - 1), part);
        for (auto& rank : made.trace.ranks)
            for (auto& hop : rank.hops) hop.reduces = hop.round < p - 1 ? 1 : 0;
        CHECK(time::modelled(made.trace, alpha_beta_gamma()).end_ns ==
              2 * others * 100 + 2 * 2 * part * others + part * others);
    }
}

TEST_CASE("groups that cross a node's border at the same time share its link") {
    // Two nodes of two ranks; {0,2} and {1,3} cross, {0,1} and {2,3} do not.
    const auto replicas = [](int32_t groups, double node_bytes_per_s) {
        HandMade made(4);
        made.trace.info.node_of_rank = {0, 0, 1, 1};
        for (int32_t g = 0; g < groups; ++g)
            made.ring(CollectiveOp::all_gather, made.group({g, g + 2}), 0, 1, 1000);
        Profile p = alpha_beta_gamma();
        p.node_bytes_per_s = node_bytes_per_s;
        return time::modelled(made.trace, p).end_ns;
    };
    CHECK(replicas(1, 0) == 300 + 4000);
    CHECK(replicas(2, 0) == 300 + 4000);
    CHECK(replicas(1, 2.5e8) == 300 + 4000);
    CHECK(replicas(2, 2.5e8) == 300 + 8000);
    CHECK(replicas(2, 1e9) == 300 + 4000);
}

TEST_CASE("without overlap a collective takes its turn on the rank's one core") {
    HandMade made(2);
    made.ring(CollectiveOp::all_gather, made.group({0, 1}), 0, 1, 50);
    for (const int32_t r : {0, 1}) made.compute(r, 500);
    Profile p = alpha_beta_gamma();
    CHECK(time::modelled(made.trace, p).end_ns == 500);
    p.overlap = false;
    CHECK(time::modelled(made.trace, p).end_ns == 700);
}

TEST_CASE("a trace of some ranks is played as if the others were there, when that is asked for") {
    HandMade made(4);
    made.trace.info.level = trace::Level::collectives;
    const int32_t group = made.group(ranks(4));
    for (const int32_t r : {0, 3}) {
        made.compute(r, r == 0 ? 50 : 80);
        trace::Event& e = made.event(r, made.collective(r, CollectiveOp::all_gather, group, 0));
        made.depend(r, 1, 0);
        e.out_elements = 40;
        e.sent_bytes = 120;
    }
    CHECK_THROWS_AS(time::modelled(made.trace, alpha_beta_gamma()), InvalidArgument);
    CHECK(time::modelled(made.trace, alpha_beta_gamma(), time::Absent::as_present).end_ns ==
          80 + 3 * 100 + 2 * 120);
}

TEST_CASE("the bubble of GPipe is (p-1)/m of the ideal time") {
    // p stages, m micro-batches, forward 1000 ns, backward 2000 ns; what a stage waits for costs nothing
    // here.
    for (const auto& [p, m] : {std::pair(2, 4), std::pair(4, 8)}) {
        HandMade made(p);
        for (int32_t s = 0; s < p; ++s)
            for (int32_t i = 0; i < 2 * m; ++i) made.compute(s, i < m ? 1000 : 2000);
        const int64_t whole = 3000 * (m + p - 1);
        for (int32_t s = 0; s < p; ++s)
            for (int32_t i = 0; i < 2 * m; ++i) {
                trace::Event& e = made.event(s, i);
                e.t_begin_ns = i < m ? 1000 * (s + i) : whole - 2000 * (2 * m - i + s);
                e.t_end_ns = e.t_begin_ns + (i < m ? 1000 : 2000);
            }
        const time::Clock clock = time::measured(made.trace);
        for (int32_t s = 0; s < p; ++s) {
            const time::Bubble bubble = time::bubble(made.trace, clock, s, 0);
            CHECK(bubble.span_ns == whole);
            CHECK(bubble.of_ideal() == Approx(double(p - 1) / m));
        }
    }
    HandMade made(1);
    CHECK_THROWS_AS(time::bubble(made.trace, time::measured(made.trace), 1, 0), InvalidArgument);
}

TEST_CASE("a profile with a list in the place of a table is refused in words") {
    for (const char* text :
         {"name = \"x\"\nefficiency = 1\ncompute = [1]\n", "name = \"x\"\nlinks = [1]\nnode_GB_per_s = 1\n",
          "name = \"x\"\ncompute = [[1]]\nlatency_us = 1\n"}) {
        INFO(text);
        CHECK_THROWS_AS(time::parse_profile(text, "x.toml"), InputError);
    }
}
