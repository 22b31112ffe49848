// The command `meshscope model show`.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

using nlohmann::json;

namespace {

std::string config(const std::string& name) {
    return "hf:" + meshscope::test::golden_folder() + "/model_config/" + name;
}

}  // namespace

TEST_CASE("model show --json says what a configuration holds, to the last parameter") {
    const auto ended = program::run({"model", "show", config("Qwen2.5-7B.json"), "--seq", "4096", "--json"});
    REQUIRE(ended.exit_code == 0);
    const json said = json::parse(ended.out);
    CHECK(said["architecture"] == "qwen2");
    CHECK(said["parameters"] == 7615616512);
    CHECK(said["by_part"]["embedding"] == 544997376);
    CHECK(said["by_part"]["layers"] == 6525618176);
    CHECK(said["by_part"]["final_norm"] == 3584);
    CHECK(said["heads"] == 28);
    CHECK(said["kv_heads"] == 4);
    CHECK(said["head_dim"] == 128);
    CHECK(said["bytes"]["bfloat16"] == 2 * 7615616512);
    // 2 a parameter of the products (biases, norms and the embedding are none), and of 4097/2 pairs a token
    // and layer 4 · 3584.
    const double products =
        2.0 * (28 * (2.0 * 3584 * 3584 + 2.0 * 3584 * 512 + 3.0 * 3584 * 18944) + 3584.0 * 152064);
    const double attention = 28 * 4.0 * 3584 * 4097 / 2;
    CHECK(said["flops_per_token"]["products_forward"].get<double>() == Approx(products).epsilon(1e-12));
    CHECK(said["flops_per_token"]["attention_forward"].get<double>() == Approx(attention).epsilon(1e-12));
    CHECK(said["flops_per_token"]["training"].get<double>() ==
          Approx(3 * products + 3.5 * attention).epsilon(1e-12));
}

TEST_CASE("model show speaks both languages, takes scenarios, and refuses what is neither") {
    const auto english = program::run({"model", "show", config("Llama-3.2-1B.json")});
    CHECK(english.exit_code == 0);
    CHECK(english.out.find("1235814400") != std::string::npos);
    CHECK(english.out.find("head (tied to the embedding)") != std::string::npos);
    CHECK(english.out.find("32 query, 8 key/value, 64 elements each") != std::string::npos);
    const auto chinese = program::run({"model", "show", config("Qwen3-8B.json"), "--lang", "zh"});
    CHECK(chinese.out.find("8190735360") != std::string::npos);
    CHECK(chinese.out.find("参数个数") != std::string::npos);
    const auto scenario = program::run(
        {"model", "show", meshscope::test::source_root() + "/scenarios/73_true_tp_pairs/scenario.toml",
         "--json"});
    REQUIRE(scenario.exit_code == 0);
    CHECK(json::parse(scenario.out)["kind"] == "gpt");
    const auto neither = program::run({"model", "show", "Llama"});
    CHECK(neither.exit_code == 2);
    CHECK(neither.err.find("neither hf:FILE nor a scenario file") != std::string::npos);
    const auto mixture = program::run({"model", "show", config("Mixtral-8x7B.json")});
    CHECK(mixture.exit_code == 65);
    CHECK(mixture.err.find("mixture of experts (field num_local_experts)") != std::string::npos);
    CHECK(mixture.err.find("Mixtral-8x7B.json") != std::string::npos);
}
