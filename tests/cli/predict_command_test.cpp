// The command `meshscope predict`, run as a user runs it.
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/test.h"

using nlohmann::json;

namespace {

/// gpt on `ranks` FSDP2 ranks with Adam: 2 blocks, dim 16, hidden 32, 11 tokens, 8 a sample, 2 samples a
/// rank.
std::string write_scenario(const program::Folder& folder, const std::string& recompute = "none") {
    const std::string path = folder.file("s.toml");
    std::ofstream(path)
        << "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 32\nlayers = 2\nvocab = 11\n"
           "seq = 8\nheads = 2\n[train]\nsteps = 2\nglobal_batch = 8\nrecompute = \""
        << recompute
        << "\"\n[optimizer]\nkind = \"adam\"\n[mesh]\nshape = [4]\n[parallel]\ndata = "
           "\"fsdp2\"\n";
    return path;
}

json predicted(std::vector<std::string> words) {
    words.insert(words.begin(), {"predict", "--json"});
    const auto ended = program::run(words);
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return json::parse(ended.out);
}

}  // namespace

TEST_CASE("predict --measure: every figure measured is the figure predicted") {
    const program::Folder folder;
    for (const std::string recompute : {"none", "selective", "full"}) {
        INFO(recompute);
        const json answer = predicted({write_scenario(folder, recompute), "--measure"});
        const json &dry = answer["predicted"], &real = answer["measured"];
        CHECK(dry["collectives"] == real["collectives"]);
        REQUIRE(dry["ranks"].size() == 4);
        for (std::size_t r = 0; r < 4; ++r)
            for (const char* key :
                 {"rank", "peak_bytes", "peak_step", "peak_cause", "by_category", "bytes", "flops"})
                CHECK(dry["ranks"][r][key] == real["ranks"][r][key]);
    }
}

TEST_CASE("predict --json gives ZeRO's formula and the activations', by the papers' counts") {
    const program::Folder folder;
    // tok 11·16, pos 8·16, head 11·16, ln_f 2·16; a block: wq wk wv wo 4·16·16, up and down 2·16·32, norms
    // 4·16.
    const double parameters = 11 * 16 + 8 * 16 + 11 * 16 + 2 * 16 + 2 * (4 * 16 * 16 + 2 * 16 * 32 + 4 * 16);
    for (const std::string recompute : {"none", "selective", "full"}) {
        const json formula = predicted({write_scenario(folder, recompute)})["formula"];
        CHECK(formula["parameters"] == parameters * 4 / 4);  // 4 bytes, 4 ranks
        CHECK(formula["gradients"] == parameters * 4 / 4);
        CHECK(formula["optimizer_state"] == parameters * 8 / 4);  // Adam in float32: two moments
        // 2 samples of 8 tokens, 2 blocks; none: 8 widths and twice the hidden, selective 7 and once, full 1.
        const double numbers = recompute == "none" ? 8 * 16 + 2 * 32 : recompute == "full" ? 16 : 7 * 16 + 32;
        CHECK(formula["activations"] == 2 * (2 * 8) * 4 * numbers);
        CHECK(formula["activations_source"] == "Korthikanti et al., arXiv 2205.05198");
    }
}

TEST_CASE("predict prints tables in both languages, with a column for the formula and its source") {
    const program::Folder folder;
    const std::string path = write_scenario(folder);
    const auto english = program::run({"--lang", "en", "predict", path});
    CHECK(english.exit_code == 0);
    for (const char* part : {"4 of 4 ranks dry-run", "all_gather", "reduce_scatter", "sharded parameters",
                             "activations", "formula", "arXiv 1910.02054", "arXiv 2205.05198", "classroom"}) {
        INFO(part);
        CHECK(english.out.find(part) != std::string::npos);
    }
    CHECK(english.out.find(std::to_string(2 * (2 * 8) * 4 * (8 * 16 + 2 * 32))) != std::string::npos);
    const auto chinese = program::run({"--lang", "zh", "predict", path, "--measure"});
    CHECK(chinese.exit_code == 0);
    CHECK(chinese.out.find("公式") != std::string::npos);
    CHECK(chinese.out.find("Korthikanti 等人") != std::string::npos);
    for (const char* part : {"分片参数", "激活", "建模时钟", "未被掩盖", "mesh 维度"}) {
        INFO(part);
        CHECK(chinese.out.find(part) != std::string::npos);
    }
    for (const char* part : {"sharded_parameters", "optimizer_state", " backward", " forward"}) {
        INFO(part);
        CHECK(chinese.out.find(part) == std::string::npos);
    }
}

TEST_CASE("predict --ranks runs one rank of each role, --steps no more steps, --profile other hardware") {
    const program::Folder folder;
    const std::string path = write_scenario(folder);
    const json two = predicted({path, "--ranks", "2", "--steps", "1", "--profile", "a100"});
    CHECK(two["predicted"]["ranks"].size() == 2);
    CHECK(two["predicted"]["ranks"][1]["rank"] == 3);
    CHECK(two["predicted"]["step"] == 0);
    CHECK(two["predicted"]["profile"] == "a100");
    CHECK(two["world_size"] == 4);
    CHECK(predicted({path, "--ranks", "all"})["predicted"]["ranks"].size() == 4);
}

TEST_CASE("predict goes as far as the first evaluation and says how far it went, --measure as far") {
    const program::Folder folder;
    const std::string path = write_scenario(folder);
    std::ifstream in(path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    text.replace(text.find("steps = 2"), 9, "steps = 7");
    std::ofstream(path) << text << "[eval]\nevery = 4\nsamples = 64\nbatch = 64\n";
    const json answer = predicted({path, "--measure"});
    CHECK(answer["steps"] == json{{"run", 5}, {"of", 7}});
    CHECK(answer["predicted"]["step"] == 4);
    for (const char* how : {"predicted", "measured"}) {
        CHECK(answer[how]["ranks"][0]["peak_step"] == 3);  // the evaluation's samples are four steps'
        CHECK(answer[how]["ranks"][0]["peak_bytes"] == answer["predicted"]["ranks"][0]["peak_bytes"]);
    }
    CHECK(program::run({"--lang", "en", "predict", path}).out.find("Of 7 steps only the first 5 were run") !=
          std::string::npos);
    CHECK(program::run({"--lang", "zh", "predict", path}).out.find("共 7 步，只运行了前 5 步") !=
          std::string::npos);
    CHECK(program::run({"predict", path, "--steps", "7", "--lang", "en"}).out.find("were run;") ==
          std::string::npos);
}

TEST_CASE("predict shows a synchronisation however seldom the ranks synchronise") {
    const program::Folder folder;
    const auto scenario = [&](const std::string& steps, const std::string& parallel) {
        return folder.write("s.toml",
                            "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 4\n[train]\n"
                            "steps = " +
                                steps + "\nglobal_batch = 4\n[mesh]\nshape = [2]\n[parallel]\n" + parallel);
    };
    for (const std::string keys :
         {"data = \"local_sgd\"\n", "data = \"diloco\"\n",
          "data = \"diloco\"\nfragments = 2\nfragment_sync_delay = 1\nfragment_update_alpha = 0.5\n"}) {
        INFO(keys);
        // A cycle that is run whole says what one costs that is not.
        const json seldom = predicted({scenario("20000", keys + "sync_every = 10000\n")});
        const json often = predicted({scenario("20000", keys + "sync_every = 8\n")});
        CHECK(seldom["steps"]["short_cycle"] == true);
        CHECK(seldom["steps"]["of"] == 20000);
        CHECK_FALSE(often["steps"].contains("short_cycle"));
        CHECK_FALSE(seldom["predicted"]["collectives"].empty());
        CHECK(seldom["predicted"]["collectives"] == often["predicted"]["collectives"]);
        CHECK(seldom["predicted"]["step_ns"] == often["predicted"]["step_ns"]);
        CHECK(seldom["predicted"]["ranks"][0]["peak_bytes"] == often["predicted"]["ranks"][0]["peak_bytes"]);
    }
    const std::string path = scenario("20000", "data = \"local_sgd\"\nsync_every = 10000\n");
    CHECK(program::run({"--lang", "en", "predict", path}).out.find("synchronise too rarely") !=
          std::string::npos);
    CHECK(program::run({"--lang", "zh", "predict", path}).out.find("两次同步之间的步数太多") !=
          std::string::npos);
    // A run that ends before the first has none.
    const json none = predicted({scenario("9999", "data = \"local_sgd\"\nsync_every = 10000\n")});
    CHECK(none["predicted"]["collectives"].empty());
    CHECK_FALSE(none["steps"].contains("short_cycle"));
}

TEST_CASE("predict refuses what it cannot do, with the contract's exit codes") {
    const program::Folder folder;
    const std::string path = write_scenario(folder);
    CHECK(program::run({"predict", path, "--ranks", "some"}).exit_code == 2);
    CHECK(program::run({"predict", path, "--steps", "0"}).exit_code == 2);
    CHECK(program::run({"predict", path, "--profile", ""}).exit_code != 0);
    CHECK(program::run({"predict"}).exit_code == 2);
    CHECK(program::run({"predict", folder.file("none.toml")}).exit_code == 74);
    CHECK(program::run({"predict", path, "--profile", "abacus"}).exit_code == 2);
    CHECK(program::run({"predict", path, "--profile", folder.file("none.toml")}).exit_code == 74);
    std::ofstream(folder.file("bad.toml")) << "format = 1\n[model]\nkind = \"tony\"\n";
    CHECK(program::run({"predict", folder.file("bad.toml")}).exit_code == 65);
}

TEST_CASE("of calls whose ops differ predict tells what the run tells, and nothing more") {
    const program::Folder folder;
    const std::string path = folder.file("calls.toml");
    std::ofstream(path) << "format = 1\n[mesh]\nshape = [2]\n[[call]]\nop = \"barrier\"\nranks = [0]\n"
                           "[[call]]\nop = \"all_reduce\"\nelements = 4\nranks = [1]\n";
    const auto predicted = program::run({"predict", path}), ran = program::run({"run", path});
    CHECK(predicted.exit_code == 1);
    CHECK(ran.err.find("they differ in op: ") != std::string::npos);
    CHECK(predicted.err == ran.err);
}

TEST_CASE(
    "plain calls are predicted as they run, on every rank, and no formula of training stands beside them") {
    const program::Folder folder;
    const std::string path = folder.file("calls.toml");
    std::ofstream(path) << "format = 1\n[mesh]\nshape = [3]\n[[call]]\nop = \"all_reduce\"\nelements = 6\n"
                           "[[call]]\nop = \"gather\"\nelements = 2\nroot = 1\n"
                           "[[call]]\nwork = \"read\"\nbytes = 4096\nranks = [2]\n";
    const json answer = predicted({path, "--measure"});
    CHECK(answer["predicted"]["collectives"] == answer["measured"]["collectives"]);
    CHECK(answer["predicted"]["ranks"].size() == 3);
    CHECK(answer["predicted"]["ranks"][2]["peak_bytes"] == 4096);
    CHECK_FALSE(answer.contains("formula"));
    const auto shown = program::run({"predict", path});
    INFO(shown.out << shown.err);
    CHECK(shown.exit_code == 0);
    CHECK(shown.out.find("1910.02054") == std::string::npos);
    const auto ran = program::run({"run", path, "--json", "-"});
    INFO(ran.err);
    REQUIRE(ran.exit_code == 0);
    const json result = json::parse(ran.out);
    CHECK(result["losses"].empty());
    CHECK(result["collectives"].size() == 6);
    CHECK(result["collectives"][0]["reason"] == "call.all_reduce");
}

TEST_CASE("predict says whether the highest peak fits into the profile's memory, where that is known") {
    const program::Folder folder;
    const std::string path = folder.file("8b.toml");
    // Llama 3.1 8B: each of two ranks holds half of 12 bytes a parameter, 48 GB, and gradients and
    // activations.
    const auto write = [&](int ranks) {
        std::ofstream(path) << "format = 1\n[model]\nkind = \"llama\"\ndim = 4096\nhidden = 14336\nlayers = "
                               "32\nvocab = 128256\nseq = 1024\nheads = 32\nkv_heads = 8\n[train]\nsteps = "
                               "2\nglobal_batch = "
                            << ranks << "\n[optimizer]\nkind = \"adamw\"\n[mesh]\nshape = [" << ranks
                            << "]\n[parallel]\ndata = \"fsdp2\"\n";
    };
    write(2);
    const json large = predicted({path, "--profile", "a100_40gb"})["device"];
    CHECK(large["memory_bytes"] == std::llround(39.4 * (int64_t{1} << 30)));
    CHECK(large["peak_bytes"] > 8'030'261'248 * 6);
    CHECK(large["fits"] == false);
    CHECK(predicted({path, "--profile", "h100"})["device"]["fits"] == true);
    CHECK_FALSE(predicted({path, "--profile", "classroom"}).contains("device"));
    const auto english = program::run({"--lang", "en", "predict", path, "--profile", "a100_40gb"});
    CHECK(english.out.find("That does not fit into the 39.4 GiB of a100_40gb") != std::string::npos);
    write(16);
    const auto chinese = program::run({"--lang", "zh", "predict", path, "--profile", "h100"});
    CHECK(chinese.out.find("h100 的 79.1 GiB 显存放得下") != std::string::npos);
}
