// Hugging Face configurations: what they hold, to the last parameter, and what is wrong with others.
#include "core/scenario/model_config.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/nn/model/counts.h"
#include "core/scenario/scenario.h"
#include "tests/folder.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::test;
using nlohmann::json;

namespace {

const std::string kConfigs = test::golden_folder() + "/model_config/";

json read(const std::string& path) {
    std::ifstream file(path);
    REQUIRE(file);
    return json::parse(file);
}

/// A configuration file made for a test.
class Written {
  public:
    explicit Written(const std::string& text) : path_(folder_.file("config.json")) {
        std::ofstream(path_) << text;
    }
    const std::string& path() const { return path_; }

  private:
    Folder folder_;
    std::string path_;
};

std::vector<std::string> config_mistakes(const std::string& text) {
    const Written file(text);
    std::vector<std::string> found;
    try {
        scenario::read_model_config(file.path());
    } catch (const InputError& error) {
        for (const Diagnostic& d : error.diagnostics()) {
            CHECK(d.position.file == file.path());
            found.push_back(d.message.id);
        }
    }
    return found;
}

/// Qwen2.5's configuration with some fields changed; null takes one away.
std::string changed(const std::map<std::string, json>& fields) {
    json config = read(kConfigs + "Qwen2.5-7B.json");
    for (const auto& [field, value] : fields)
        if (value.is_null())
            config.erase(field);
        else
            config[field] = value;
    return config.dump();
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE(
    "every dense configuration has exactly as many parameters as transformers' own class, part by part") {
    const json expected = read(kConfigs + "expected.json")["files"];
    int dense = 0;
    for (const auto& [name, wanted] : expected.items()) {
        INFO(name);
        if (name == "Mixtral-8x7B.json" || name == "DeepSeek-V3.json") continue;
        ++dense;
        const scenario::ModelConfig config = scenario::read_model_config(kConfigs + name);
        const nn::ParameterCounts counts = nn::count_parameters(config.spec);
        CHECK(counts.total() == wanted["parameters"].get<int64_t>());
        if (!wanted.contains("referee")) continue;
        const json& parts = wanted["referee"]["by_part"];
        CHECK(counts.embedding == parts["embedding"].get<int64_t>());
        CHECK(counts.layers == parts["layers"].get<int64_t>());
        CHECK(counts.final_norm == parts["final_norm"].get<int64_t>());
        CHECK(counts.head == parts.value("head", int64_t{0}));
        CHECK(config.spec.head_width() == wanted["head_dim"].get<int64_t>());
        CHECK(config.spec.tied == wanted["tied"].get<bool>());
    }
    CHECK(dense == 6);
}

TEST_CASE("a configuration is the same model as transformers 4 and 5 write it") {
    const scenario::ModelConfig old = scenario::read_model_config(kConfigs + "Llama-3.2-1B.json");
    const scenario::ModelConfig now =
        scenario::read_model_config(kConfigs + "Llama-3.2-1B_saved_by_transformers5.json");
    CHECK(now.dtype == "bfloat16");
    CHECK(old.dtype == "bfloat16");
    CHECK(now.spec.rope_scaling == old.spec.rope_scaling);
    CHECK(now.spec.rope_scaling.kind == tensor::RopeScaling::Kind::llama3);
    CHECK(now.spec.rope_scaling.factor == 32.0);
    CHECK(now.spec.rope_theta == 500000.0);
    CHECK(old.spec.rope_theta == 500000.0);
    CHECK(now.spec.seq == 131072);
}

TEST_CASE("llama3's scaling divides long wavelengths, leaves short ones and blends between") {
    tensor::RopeScaling scaling{tensor::RopeScaling::Kind::llama3, 8.0, 1.0, 4.0, 8192};
    // theta 500000, 128 elements: wavelengths 2π · 500000^(i/64).
    CHECK(tensor::rotary_frequency(500000.0, 128, scaling, 0) == 1.0);
    const double slow = tensor::rotary_frequency(500000.0, 128, {}, 63);
    CHECK(tensor::rotary_frequency(500000.0, 128, scaling, 63) == Approx(slow / 8.0).epsilon(1e-12));
    // 8192 / (2π · 500000^(32/64)) = 1.8438…: (1.8438 - 1) / 3 of the way.
    const double middle = tensor::rotary_frequency(500000.0, 128, {}, 32),
                 share = (8192 * middle / 6.283185307179586 - 1) / 3;
    CHECK(tensor::rotary_frequency(500000.0, 128, scaling, 32) ==
          Approx((1 - share) * middle / 8 + share * middle).epsilon(1e-12));
}

TEST_CASE("mixtures of experts, latent attention and unknown architectures are refused by name") {
    const auto ids = [](const std::string& name) {
        Ids found;
        try {
            scenario::read_model_config(kConfigs + name);
        } catch (const InputError& error) {
            for (const Diagnostic& d : error.diagnostics()) found.push_back(d.message.id);
        }
        return found;
    };
    CHECK(ids("Mixtral-8x7B.json") == Ids{"config.mixture"});
    CHECK(ids("DeepSeek-V3.json") == Ids{"config.mixture"});
    CHECK(config_mistakes(changed({{"kv_lora_rank", 512}})) == Ids{"config.latent"});
    CHECK(config_mistakes(changed({{"model_type", "qwen7"}})) == Ids{"config.unknown_type"});
    CHECK(config_mistakes(changed({{"model_type", nullptr}})) == Ids{"config.missing"});
    CHECK(config_mistakes(changed({{"architectures", {"Qwen2ForSequenceClassification"}}})) ==
          Ids{"config.not_causal"});
}

TEST_CASE("a configuration's mistakes are told together, each with its file") {
    CHECK(config_mistakes("[1, 2]") == Ids{"config.not_json"});
    CHECK(config_mistakes("{\"model_type\": ") == Ids{"config.not_json"});
    CHECK(config_mistakes("{\"model_type\": \"llama\"}") == Ids(5, "config.missing"));
    CHECK(config_mistakes(
              changed({{"hidden_size", nullptr}, {"vocab_size", "152064"}, {"rms_norm_eps", -1}})) ==
          Ids{"config.missing", "scenario.wrong_type", "scenario.out_of_range"});
    CHECK(config_mistakes(changed({{"num_attention_heads", 27}})) == Ids{"config.heads"});
    CHECK(config_mistakes(changed({{"num_key_value_heads", 5}})) == Ids{"config.kv_heads"});
    CHECK(config_mistakes(changed({{"head_dim", 7}})) == Ids{"config.odd_head_dim"});
    CHECK(config_mistakes(changed({{"hidden_act", "quick_gelu"}})) == Ids{"config.unknown_word"});
    CHECK(config_mistakes(changed({{"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}}}})) ==
          Ids{"config.unknown_word"});
    CHECK(config_mistakes(changed({{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 4.0}}}})) ==
          Ids(3, "config.missing"));
    CHECK(config_mistakes(changed({{"partial_rotary_factor", 0.5}})) == Ids{"config.partial_rotary"});
    CHECK(config_mistakes(changed({{"dtype", "float32"}})) == Ids{"config.two_dtypes"});
    CHECK(config_mistakes(changed({{"use_sliding_window", true}, {"layer_types", {"full_attention"}}})) ==
          Ids{"config.layer_types"});
}

TEST_CASE("a scenario names a configuration beside it, in a table or alone, and overrules it") {
    const Folder folder;
    std::ofstream(folder.file("qwen.json")) << read(kConfigs + "Qwen2.5-7B.json").dump();
    const auto parsed = [&](const std::string& model) {
        return scenario::parse_scenario("format = 1\n" + model + "[train]\nsteps = 1\nglobal_batch = 1\n",
                                        folder.file("s.toml"));
    };
    const scenario::Scenario cut =
        parsed("[model]\nkind = \"hf:qwen.json\"\nlayers = 2\nseq = 64\nvocab = 1000\n");
    CHECK(cut.model.kind == "llama");
    CHECK(cut.model.layers == 2);
    CHECK(cut.model.seq == 64);
    CHECK(cut.model.vocab == 1000);
    CHECK(cut.model.dim == 3584);
    CHECK(cut.model.kv_heads == 4);
    CHECK(cut.model.qkv_bias);
    CHECK(cut.model_config.ends_with("qwen.json"));
    json small = read(kConfigs + "gpt2.json");
    small["n_layer"] = 1;
    std::ofstream(folder.file("gpt.json")) << small.dump();
    const scenario::Scenario alone = parsed("model = \"hf:gpt.json\"\n");
    CHECK(alone.model.kind == "gpt");
    CHECK(alone.model.block_bias);
    CHECK(alone.model.seq == 1024);
}

TEST_CASE("keys of real shapes are checked as all others") {
    const std::string llama =
        "format = 1\n[model]\nkind = \"llama\"\ndim = 8\nhidden = 8\nlayers = 2\nvocab = 9\nseq = 4\nheads = "
        "3\n";
    const std::string train = "[train]\nsteps = 1\nglobal_batch = 1\n";
    CHECK(mistakes(llama + "head_dim = 4\n" + train) == Ids{"(none)"});
    CHECK(mistakes(llama + "head_dim = 5\n" + train) == Ids{"10:12 scenario.head_dim_odd"});
    CHECK(mistakes(llama + "head_dim = 4\nactivation = \"relu\"\n" + train) ==
          Ids{"11:14 scenario.activation_of_kind"});
    CHECK(mistakes(llama + "head_dim = 4\nfull_attention = [1]\n" + train) ==
          Ids{"11:1 scenario.needs_window"});
    CHECK(mistakes(llama + "head_dim = 4\nwindow = 2\nfull_attention = [2]\n" + train) ==
          Ids{"12:19 scenario.out_of_range"});
    CHECK(mistakes(llama + "head_dim = 4\nrope_scaling = { kind = \"linear\" }\n" + train) ==
          Ids{"11:16 scenario.missing_key"});
    CHECK(mistakes("format = 1\n[model]\nkind = \"hf:absent.json\"\n" + train) ==
          Ids{"3:8 scenario.no_such_file"});
}
