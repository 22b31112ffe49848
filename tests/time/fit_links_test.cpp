// Links of a profile from nccl-tests' results: planted figures are found again, measured ones as another
// program's least squares has them (expected.json beside them).
#include "core/time/fit_links.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/time/nccl_tests.h"
#include "core/time/read_profile.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/thrown.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::time;
using meshscope::test::Folder;
using nlohmann::json;

namespace {

const std::string kFiles = test::golden_folder() + "/imports/nccl_tests/";

json expected() {
    std::ifstream file(kFiles + "expected.json");
    REQUIRE(file);
    return json::parse(file)["files"];
}

std::string mistake(const std::string& text, const char* name = "x.json") {
    const Folder folder;
    const std::string path = folder.write(name, text);
    try {
        fit_links({read_nccl_tests(path)}, false);
    } catch (const InputError& error) {
        CHECK(error.diagnostics().front().position.file == path);
        return error.diagnostics().front().message.id;
    }
    return "(none)";
}

}  // namespace

TEST_CASE("nccl-tests' files give their collective, ranks, hosts and the line through their times") {
    const json all = expected();
    for (const auto& [name, said] : all.items()) {
        INFO(name);
        const json known = said.contains("same_as") ? all[said["same_as"].get<std::string>()] : said;
        const NcclTests file = read_nccl_tests(kFiles + name);
        CHECK(meshscope::name(file.op) == known["collective"].get<std::string>());
        CHECK(file.ranks == known["ranks"]);
        CHECK(file.hosts == known["hosts"]);
        CHECK(file.rows.size() == known["results"]);
        for (const auto& [kind, fit] : known["fit"].items()) {
            if (!fit.is_object()) continue;
            INFO(kind);
            const auto found =
                fit_link(points_of(file, kind.starts_with("in_place")), kind.ends_with("relative"));
            REQUIRE(found);
            CHECK(found->alpha_us == Approx(fit["alpha_us_per_step"].get<double>()).epsilon(1e-4));
            CHECK(found->bytes_per_s / 1e9 == Approx(fit["bus_bw_GBps"].get<double>()).epsilon(1e-4));
        }
    }
}

TEST_CASE("planted figures come back in the profile, and the modelled hop takes what was measured") {
    const std::vector<NcclTests> files{read_nccl_tests(kFiles + "all_reduce_8_exact.json"),
                                       read_nccl_tests(kFiles + "all_gather_16_exact.json")};
    const std::vector<FittedLink> links = fit_links(files, false);
    REQUIRE(links.size() == 2);
    for (const FittedLink& link : links) CHECK(link.mean_error() < 1e-4);
    CHECK(links[0].rows.size() == 21);
    const Profile profile = with_links(named_profile("h100"), links, files);
    CHECK(profile.latency_inside_ns == 2500);
    CHECK(profile.bandwidth_inside_bytes_per_s == Approx(200e9).epsilon(1e-4));
    CHECK(profile.latency_between_ns == 4000);
    CHECK(profile.bandwidth_between_bytes_per_s == Approx(45e9).epsilon(1e-4));
    // Fourteen hops of an eighth each, as the file's largest size has them.
    const NcclRow& largest = files[0].rows.back();
    const double hops_us = 14 * static_cast<double>(hop_ns(profile, largest.bytes / 8, Link{}, true)) / 1e3;
    CHECK(hops_us == Approx(largest.out_of_place_us).epsilon(1e-3));
    CHECK_NOTHROW(parse_profile(profile_text(profile), "p.toml"));
}

TEST_CASE(
    "rows without a time or with wrong results are left out, and what remains must tell two figures apart") {
    NcclTests file{"f",
                   CollectiveOp::all_reduce,
                   4,
                   1,
                   {{0, 5, 5}, {1024, 10, 0}, {1 << 20, 20, 20}, {1 << 21, 9, 9, true}}};
    const std::vector<FittedLink> links = fit_links({file}, false);
    REQUIRE(links.size() == 1);
    CHECK(links[0].rows.size() == 2);
    REQUIRE(links[0].left_out.size() == 2);
    CHECK(links[0].left_out[0].why.id == "nccl.left.no_bytes");
    CHECK(links[0].left_out[1].why.id == "nccl.left.wrong");
    CHECK(links[0].mean_error() == Approx(0).margin(1e-9));
    CHECK(test::thrown_id([&] { fit_links({file}, true); }) == "nccl.no_fit");  // one time alone
    file.rows = {{1024, 20, 0}, {1 << 20, 10, 0}};
    CHECK(test::thrown_id([&] { fit_links({file}, false); }) == "nccl.no_fit");  // larger is faster
}

TEST_CASE("a table's collective is guessed only where its bandwidths tell it from all others") {
    const auto table = [](int ranks, const std::string& name, const std::string& row) {
        std::string text = name.empty() ? "" : "# Collective test starting: " + name + "\n";
        for (int i = 0; i < ranks; ++i)
            text += "#  Rank " + std::to_string(i) + " Group 0 Pid 1 on a device 0\n";
        return text + "1024 256 float " + row + "\n2097152 256 float " + row + "\n";
    };
    const auto told = [&](const std::string& text) { return mistake(text, "x.txt"); };
    // Twelve times a share of 15/16 and of 63/64, which two decimals do not tell from a broadcast's 1.
    const std::string most = "none -1 10 16.00 15.00 0 10 16.00 15.00 0";
    CHECK(told(table(16, "", most)) == "nccl.no_fit");  // read, but of one time
    CHECK(told(table(64, "", "none -1 10 64.00 63.00 0 10 64.00 63.00 0")) == "nccl.unknown_op");
    CHECK(told(table(16, "", "none 0 10 16.00 15.00 0 10 16.00 15.00 0")) ==
          "nccl.unknown_op");  // has a root
    CHECK(told(table(16, "scatter_perf", most)) == "nccl.unknown_op");
    CHECK(told(table(16, "./build/all_gather_perf", most)) == "nccl.no_fit");
    CHECK(told(table(8, "all_gather_perf", most) + table(8, "all_gather_perf", most)) == "nccl.two_runs");
    CHECK(told(table(8, "", most) + table(8, "", most)) == "nccl.two_runs");
    CHECK(told("# ./all_reduce_perf\n" + table(8, "all_gather_perf", most)) == "nccl.two_runs");
}

TEST_CASE("files that are none of nccl-tests', or damaged, are refused") {
    const std::string damaged = test::golden_folder() + "/imports/damaged/";
    CHECK(test::thrown_id([&] { read_nccl_tests(damaged + "nccl_tests_unfinished.json"); }) ==
          "nccl.not_json");
    CHECK(test::thrown_id([&] { read_nccl_tests(damaged + "nccl_tests_nan.json"); }) == "nccl.unknown_op");
    CHECK(mistake("{}") == "nccl.not_json");
    CHECK(mistake("hello", "x.txt") == "nccl.no_table");
    CHECK(mistake(R"({"args": ["broadcast_perf"], "results": []})") == "nccl.unknown_op");
    CHECK(mistake(R"({"args": ["all_reduce_perf"], "results": [{"size": -1}]})") == "nccl.size");
    CHECK(mistake(R"({"args": ["all_reduce_perf"], "results": [{"size": 8}]})") == "nccl.ranks");
    CHECK(mistake("#  Rank  0 Group 0 Pid 1 on a device 0\n#  Rank  1 Group 0 Pid 1 on a device 1\n"
                  "1024 256 float sum -1 10 1 3 0 10 1 3 0\n",
                  "x.txt") == "nccl.unknown_op");
}
