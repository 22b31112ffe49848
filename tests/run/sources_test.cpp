// What stands in a data file of tokens is judged before anything runs.
#include "core/run/sources.h"

#include <cstring>
#include <functional>
#include <stdexcept>

#include "core/base/error.h"
#include "core/data/safetensors.h"
#include "tests/folder.h"
#include "tests/run/golden_case.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

/// What is wrong with the golden case's data after a change to them, each as describe() gives it.
std::vector<std::string> mistakes(const std::function<void(data::SafetensorsFile&)>& change) {
    const test::Folder folder;
    const nlohmann::json gold = golden::read_case("gpt_single");
    auto scenario = scenario::parse_scenario(golden::scenario_text(gold, "gpt_single"), "s.toml");
    data::SafetensorsFile file = data::read_safetensors(scenario.data_file);
    change(file);
    scenario.data_file = folder.file("data.safetensors");
    data::write_safetensors(scenario.data_file, file.tensors);
    std::vector<std::string> found;
    try {
        run::open_batches(scenario, *nn::make_model(scenario.model));
    } catch (const InputError& error) {
        for (const Diagnostic& d : error.diagnostics()) found.push_back(describe(d.message));
    }
    return found;
}

data::NamedTensor& named(data::SafetensorsFile& file, const std::string& name) {
    for (data::NamedTensor& t : file.tensors)
        if (t.name == name) return t;
    throw std::runtime_error(name);
}

/// The message of a token outside of gpt_single's vocabulary.
std::string token_text(const std::string& name, int64_t row, int64_t token) {
    const int64_t vocab = golden::read_case("gpt_single")["case"]["model"]["vocab"];
    return describe(
        Message{"data.token",
                {{"name", name}, {"row", row}, {"token", token}, {"vocab", vocab}, {"last", vocab - 1}}});
}

}  // namespace

TEST_CASE("a data file of tokens is judged: type, shape and every token") {
    CHECK(mistakes([](data::SafetensorsFile&) {}).empty());
    CHECK(mistakes([](data::SafetensorsFile& file) {
              data::NamedTensor& x = named(file, "x1");
              const int64_t wrong = 1000;
              const auto row_bytes = static_cast<std::ptrdiff_t>(8 * x.shape[1]);
              std::memcpy(x.bytes.data() + 2 * row_bytes + 8, &wrong, sizeof wrong);
          }) == std::vector<std::string>{token_text("x1", 2, 1000)});
    CHECK(mistakes([](data::SafetensorsFile& file) {
              const int64_t wrong = -1;
              std::memcpy(named(file, "y0").bytes.data(), &wrong, sizeof wrong);
          }) == std::vector<std::string>{token_text("y0", 0, -1)});
    CHECK(mistakes([](data::SafetensorsFile& file) {
              data::NamedTensor& x = named(file, "x0");
              x.dtype = DType::float32;
              x.shape.push_back(2);  // of the same bytes
          }).size() == 1);
    CHECK(mistakes([](data::SafetensorsFile& file) {
              data::NamedTensor& x = named(file, "x0");
              x.shape = {x.shape[0] / 2, 2 * x.shape[1]};
          }).size() == 1);
}

TEST_CASE("one mistake of several arrays of a file is one message that lists them") {
    const auto without = [](const std::vector<std::string>& names) {
        return [names](data::SafetensorsFile& file) {
            std::erase_if(file.tensors, [&](const data::NamedTensor& t) {
                return std::ranges::find(names, t.name) != names.end();
            });
        };
    };
    const std::vector<std::string> missing = mistakes(without({"x1", "y1", "y0"}));
    REQUIRE(missing.size() == 1);
    CHECK(missing[0].find("name=y0, x1, y1") != std::string::npos);
    CHECK(missing[0].find("n=3") != std::string::npos);
    const auto wrong_type = mistakes([](data::SafetensorsFile& file) {
        for (data::NamedTensor& t : file.tensors) {
            t.dtype = DType::float32;
            t.shape.push_back(2);
        }
    });
    REQUIRE(wrong_type.size() == 1);
    CHECK(wrong_type[0].starts_with("data.dtype"));
    // Weights that are missing are one message, each with its shape.
    const test::Folder folder;
    data::write_safetensors(folder.file("w.safetensors"), {});
    const auto scenario = scenario::parse_scenario("format = 1\n[model]\nkind = \"toy\"\nweights = \"" +
                                                       folder.file("w.safetensors") +
                                                       "\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
                                                   "s.toml");
    try {
        run::open_weights(scenario, *nn::make_model(scenario.model));
        FAIL("weights were found");
    } catch (const InputError& error) {
        REQUIRE(error.diagnostics().size() == 1);
        CHECK(to_text(*error.diagnostics()[0].message.find("name")) ==
              "net1.weight [10, 10], net1.bias [10], net2.weight [5, 10], net2.bias [5]");
    }
    // What differs is told apart.
    CHECK(mistakes([&](data::SafetensorsFile& file) {
              without({"x1"})(file);
              named(file, "y1").shape = {1, named(file, "y1").n_elements()};
          }).size() == 2);
}
