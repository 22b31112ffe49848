// The commands `meshscope plan` and `meshscope validate`, run as a user runs them.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

using nlohmann::json;

namespace {

std::string llama() {
    return "hf:" + meshscope::test::golden_folder() + "/model_config/Llama-3.1-8B.json";
}

json answered(std::vector<std::string> words) {
    words.emplace_back("--json");
    const auto ended = program::run(words);
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return json::parse(ended.out);
}

}  // namespace

TEST_CASE(
    "plan --json lists layouts that fit, the fastest first, with all that their time and memory are made "
    "of") {
    const json answer =
        answered({"plan", llama(), "--gpus", "8", "--seq", "8192", "--global-batch", "16", "--price", "2"});
    CHECK(answer["parameters"] == 8'030'261'248);
    REQUIRE(answer["layouts"].size() == 10);
    double before = 0;
    for (const json& layout : answer["layouts"]) {
        CHECK(layout["tp"].get<int>() * layout["cp"].get<int>() * layout["pp"].get<int>() *
                  layout["dp_replicate"].get<int>() * layout["dp_shard"].get<int>() ==
              8);
        CHECK(layout["step_s"].get<double>() > 0.98 * before);
        before = layout["step_s"].get<double>();
        double time = 0, bytes = 0;
        for (const auto& [name, seconds] : layout["time"].items())
            if (name != "recompute_s") time += seconds.get<double>();
        for (const auto& [name, part] : layout["memory"].items()) bytes += part.get<double>();
        CHECK(time == Approx(before));
        CHECK(bytes == Approx(layout["allocated_bytes"].get<double>()));
        CHECK(layout["needed_bytes"].get<double>() <= answer["memory_bytes"].get<double>());
        // 6·N + 12·layers·width·seq a token, against 989 TFLOP/s.
        CHECK(layout["mfu"].get<double>() ==
              Approx(layout["tokens_per_s_per_gpu"].get<double>() *
                     (6 * (8'030'261'248.0 - 128256.0 * 4096 - 65.0 * 4096) + 12.0 * 32 * 4096 * 8192) /
                     989e12));
        const json& communication = layout["communication"];
        CHECK(communication["exposed_s"].get<double>() ==
              Approx(layout["time"]["tensor_s"].get<double>() + layout["time"]["data_s"].get<double>() +
                     layout["time"]["send_s"].get<double>()));
        CHECK(communication["hidden_share"].get<double>() <= 1);
        CHECK(layout["price_per_billion_tokens"].get<double>() ==
              Approx(2.0 / 3600 / layout["tokens_per_s_per_gpu"].get<double>() * 1e9));
    }
    CHECK(answer["layouts"][0]["zero"] == 3);
    CHECK(answer["seq_beyond_positions"] == false);
}

TEST_CASE("plan --only lists layouts of the sizes asked for and no others") {
    const json answer = answered({"plan", llama(), "--gpus", "16", "--seq", "8192", "--global-batch", "64",
                                  "--only", "tp=2,pp=2,stages=4,recompute=selective"});
    CHECK(answer["tried"].get<int>() > 1);
    for (const char* list : {"layouts", "pareto"})
        for (const json& layout : answer[list]) {
            CHECK(layout["tp"] == 2);
            CHECK(layout["pp"] == 2);
            CHECK(layout["stages_per_rank"] == 4);
            CHECK(layout["recompute"] == "selective");
        }
    CHECK(!answer["layouts"].empty());
    CHECK(answer["only"] == json{{"tp", 2}, {"pp", 2}, {"stages", 4}, {"recompute", "selective"}});
    CHECK(answer["gpus_per_node"] == 8);
    CHECK(answer["compiled"] == true);
}

TEST_CASE("a plan tells the options that it was asked with, and none that nobody gave") {
    for (const auto& [language, words] : {std::pair("en", "Asked with "), std::pair("zh", "选项：")}) {
        std::vector<std::string> line{"--lang", language, "plan", llama(), "--gpus", "8", "--seq", "8192"};
        CHECK(program::run(line).out.find(words) == std::string::npos);
        line.insert(line.end(), {"--eager", "--gpus-per-node", "4", "--only", "tp=1,recompute=none"});
        CHECK(program::run(line).out.find(words + std::string("--gpus-per-node 4 --eager --only "
                                                              "tp=1,recompute=none\n")) != std::string::npos);
    }
}

TEST_CASE("a sample longer than a configuration's positions is planned, and said to be so") {
    const std::vector<std::string> asked{"plan", llama(), "--gpus", "64", "--seq", "262144"};
    const json answer = answered(asked);
    CHECK(answer["max_position_embeddings"] == 131072);
    CHECK(answer["seq_beyond_positions"] == true);
    for (const auto& [language, words] :
         {std::pair("en", "131072 positions"), std::pair("zh", "131072 个位置")}) {
        std::vector<std::string> line{"--lang", language};
        line.insert(line.end(), asked.begin(), asked.end());
        CHECK(program::run(line).out.find(words) != std::string::npos);
    }
}

TEST_CASE("a plan is written as a page too, in the form of its ending, and never over what was read") {
    const program::Folder folder;
    const std::string path = folder.file("plan.md"), page = folder.file("plan.html");
    const auto plan = [&](const std::string& report, const std::string& model) {
        return program::run({"plan", model, "--gpus", "8", "--seq", "8192", "--report", report});
    };
    const auto told = plan(path, llama());
    REQUIRE(told.exit_code == 0);
    const std::string text = program::content(path);
    CHECK(text.starts_with("<!-- meshscope report -->\n# hf:"));
    CHECK(text.find("\n| 1 | 1 | 1 | FSDP 8 | 1×1 | none |") != std::string::npos);
    CHECK(text.find("## Less memory for more time") != std::string::npos);
    CHECK(told.out.find("FSDP 8") != std::string::npos);
    CHECK(plan(path, llama()).exit_code == 0);  // its own kind of file is replaced
    REQUIRE(plan(page, llama()).exit_code == 0);
    CHECK(program::content(page).starts_with("<!DOCTYPE html>\n<!-- meshscope -->\n<html lang=\"en\">"));
    CHECK(program::content(page).find("<td>FSDP 8</td>") != std::string::npos);
    CHECK(plan(folder.file("plan.txt"), llama()).exit_code == 2);
    std::ofstream(folder.file("notes.md")) << "# My notes\n";
    CHECK(plan(folder.file("notes.md"), llama()).err.find("--force") != std::string::npos);
    CHECK(program::content(folder.file("notes.md")) == "# My notes\n");
}

TEST_CASE("plan writes its first layout as a scenario that predict takes, and says why where it does not") {
    const program::Folder folder;
    const std::string path = folder.file("layout.toml");
    const auto plan = [&](const std::string& to, const std::string& sizes, const char* gpus = "16") {
        return program::run({"plan", llama(), "--gpus", gpus, "--seq", "8192", "--global-batch", "32",
                             "--only", sizes, "--scenario", to});
    };
    for (int time = 0; time < 2; ++time) {  // its own kind of file is replaced
        const auto ended = plan(path, "tp=2,cp=2,pp=2,stages=2,recompute=none");
        INFO(ended.err);
        REQUIRE(ended.exit_code == 0);
    }
    const std::string text = program::content(path);
    CHECK(text.starts_with("# meshscope scenario from a plan: TP 2"));
    CHECK(text.find("\ncp = \"alltoall\"\n") != std::string::npos);
    const json answer = answered({"predict", path, "--ranks", "8", "--steps", "1"});
    CHECK(answer["world_size"] == 16);
    CHECK(answer["device"]["profile"] == "h100");

    const std::string own = folder.file("own.toml"), none = folder.file("none.toml");
    std::ofstream(own) << "format = 1\n";
    CHECK(plan(own, "tp=2").err.find("--force") != std::string::npos);
    CHECK(program::content(own) == "format = 1\n");
    const auto nowhere = plan(none, "tp=1,recompute=none", "1");
    CHECK(nowhere.exit_code == 65);
    CHECK(nowhere.err.find("no layout fits") != std::string::npos);
    CHECK(!std::filesystem::exists(none));

    CHECK(plan("-", "tp=2").exit_code == 2);
    const std::string both = folder.file("both.md");
    const auto twice = program::run({"plan", llama(), "--gpus", "16", "--seq", "8192", "--global-batch", "32",
                                     "--report", both, "--scenario", both});
    CHECK(twice.exit_code == 2);
    CHECK(!std::filesystem::exists(both));
    const auto told = program::run({"plan", llama(), "--gpus", "1", "--seq", "8192", "--global-batch", "32",
                                    "--only", "tp=1,recompute=none", "--json", "--scenario", none});
    CHECK(told.exit_code == 65);
    CHECK(json::parse(told.err.substr(told.err.find('{')))["errors"].size() == 1);
}

TEST_CASE("a layout that was planned on a profile of one's own names its file from where it stands") {
    const program::Folder folder;
    std::filesystem::create_directories(folder.file("plans"));
    const std::string own = folder.file("mine.toml"), path = folder.file("plans/layout.toml");
    std::ofstream(own) << program::content(meshscope::test::source_root() + "/core/time/profiles/h100.toml");
    const auto ended = program::run({"plan", llama(), "--gpus", "8", "--gpu", own, "--seq", "8192",
                                     "--global-batch", "32", "--scenario", path});
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    CHECK(program::content(path).find("profile = \"../mine.toml\"") != std::string::npos);
    CHECK(program::run({"predict", path, "--ranks", "1", "--steps", "1"}).exit_code == 0);
}

TEST_CASE("where nothing fits, plan shows what is nearest and its largest part, in both languages") {
    for (const auto& [language, words] : {std::pair("en", "None fits"), std::pair("zh", "没有一种放得下")}) {
        const auto ended =
            program::run({"--lang", language, "plan", llama(), "--gpus", "1", "--gpu", "rtx4090"});
        CHECK(ended.exit_code == 0);
        CHECK(ended.out.find(words) != std::string::npos);
        CHECK(ended.out.find("GiB") != std::string::npos);
    }
    // Each change that is offered was tried.
    const auto ask = [](std::vector<std::string> more) {
        std::vector<std::string> words{"plan", llama(), "--gpus", "1", "--gpu", "rtx4090", "--json"};
        words.insert(words.end(), more.begin(), more.end());
        return json::parse(program::run(words).out);
    };
    const auto offered = ask({})["remedies"].get<std::vector<std::string>>();
    CHECK_FALSE(offered.empty());
    for (const std::string& each : offered) {
        INFO(each);
        std::istringstream words(each);
        CHECK(ask({std::istream_iterator<std::string>(words),
                   std::istream_iterator<std::string>()})["fitting"] > 0);
    }
    CHECK(ask({"--memory-gib", "0.01"})["remedies"].empty());
}

TEST_CASE("what plan cannot answer is refused with what would be right") {
    const program::Folder folder;
    const std::string toy = folder.file("toy.toml");
    std::ofstream(toy) << "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 1\n";
    const auto refused = [&](const std::vector<std::string>& words, const std::string& said) {
        const auto ended = program::run(words);
        INFO(ended.err);
        CHECK(ended.exit_code == 2);
        CHECK(ended.err.find(said) != std::string::npos);
    };
    refused({"plan", toy}, "toy");
    refused({"plan", llama(), "--stack", "megatron"}, "megatron-core");
    refused({"plan", llama(), "--gpu", "a1000"}, "a100");
    refused({"plan", llama(), "--gpu", "laptop"}, "--memory-gib");
    refused({"plan", llama(), "--gpus", "0"}, "--gpus");
    for (const char* option : {"--seq", "--global-batch", "--memory-gib", "--price"}) {
        refused({"plan", llama(), option, "0"}, option);
        refused({"plan", llama(), option, "-1"}, option);
    }
    for (const char* value : {"inf", "nan", "1e308"})
        refused({"plan", llama(), "--memory-gib", value}, "--memory-gib");
    refused({"plan", "hf:" + meshscope::test::golden_folder() + "/model_config/gpt2.json", "--seq", "4096"},
            "1024");
    refused({"plan", "model"}, "model");
    refused({"plan", llama(), "--lora", "16", "--base-bits", "8"}, "4 or 16");
    refused({"plan", llama(), "--base-bits", "4"}, "--lora");
    for (const char* sizes : {"tp", "tp=", "tp=two", "dp=8", "recompute=some", "tp=2,,pp=1"})
        refused({"plan", llama(), "--only", sizes}, "--only ");
    refused({"plan", llama(), "--only", "tp=8,tp=4"}, "tp=4");
    refused({"plan", llama(), "--only", "tp=0"}, "tp = 0");
    refused({"plan", llama(), "--only", "zero=9"}, "from 0 to 3");
    refused({"plan", llama(), "--only", "tp=4,"}, "tp=4,");
    CHECK(program::run({"plan", llama(), "--only", "tp=3"}).err.find("32 heads") != std::string::npos);
    CHECK(program::run({"plan", llama(), "--only", "zero=1"}).err.find("[0, 3]") != std::string::npos);
}

TEST_CASE("validate --json has each row's figures and errors, and what they come to") {
    const json answer = answered({"validate"});
    CHECK(answer["rows"].size() > 500);
    int64_t times = 0, memories = 0, skipped = 0;
    for (const json& row : answer["rows"]) {
        if (!row["skipped"].is_null()) {
            ++skipped;
            CHECK(!row.contains("time"));
            CHECK(!row.contains("memory"));
        }
        for (const auto& [part, ours, published] : {std::tuple("time", "ours_ms", "published_ms"),
                                                    std::tuple("memory", "ours_bytes", "published_bytes")}) {
            if (!row.contains(part)) continue;
            ++(std::string(part) == "time" ? times : memories);
            const json& figures = row[part];
            CHECK(figures["error"].get<double>() ==
                  Approx(figures[ours].get<double>() / figures[published].get<double>() - 1).margin(1e-9));
        }
    }
    CHECK(times > 350);
    CHECK(memories > 80);
    CHECK(skipped > 50);
    const json& time = answer["summary"]["time"];
    CHECK(time["data_sheet"]["mape"].get<double>() < 0.2);
    CHECK(time["fitted_tier_a"]["mape"].get<double>() < 0.1);
    // A row that a speed was fitted to is marked, and in no score.
    for (const json& fit : answer["summary"]["fits"]) CHECK(fit["rows"].size() <= 3);
    const json plain = answered({"validate", "--no-fit"});
    CHECK(plain["summary"]["fits"].empty());
}

TEST_CASE("validate reads a file of one's own, and tells what is wrong in it") {
    const program::Folder folder;
    const std::string path = folder.file("runs.json");
    std::ofstream(path) << R"([{"id": "tt-mine", "gpu": "A100 80GB", "model": {"layers": "32"}}])";
    const auto ended = program::run({"validate", path});
    CHECK(ended.exit_code == 65);
    CHECK(ended.err.find("model.layers") != std::string::npos);
    CHECK(program::run({"validate", folder.file("none.json")}).exit_code == 74);
    CHECK(program::run({"validate", "--family", "nobody"}).exit_code == 2);
}
