#include <filesystem>
#include <fstream>

#include "core/scenario/scenario.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using scenario::DataStrategy;
using scenario::parse_scenario;
using scenario::Scenario;

namespace {

const std::string kSmallest = R"(format = 1
[model]
kind = "toy"
[train]
steps = 3
global_batch = 8
)";

}  // namespace

TEST_CASE("the smallest scenario trains one rank with the documented defaults") {
    const Scenario s = parse_scenario(kSmallest, "s.toml");
    CHECK(s.model.kind == "toy");
    CHECK(s.steps == 3);
    CHECK(s.global_batch == 8);
    CHECK(s.accumulate == 1);
    CHECK_FALSE(s.clip_norm);
    CHECK(s.optimizer.kind == "sgd");
    CHECK(s.optimizer.weight_decay == 0.0);
    CHECK(s.mesh_shape == mesh::Shape{1});
    CHECK(s.mesh_names == mesh::Names{"replicate"});
    CHECK(scenario::world_size(s) == 1);
    CHECK(s.parallel.data == DataStrategy::none);
    CHECK(s.parallel.algorithm == Algorithm::ring);
    CHECK(s.level == trace::Level::values);
    CHECK(s.source == kSmallest);
}

TEST_CASE("the keys that the golden comparison writes are read") {
    const std::string base = test::golden_folder() + "/train/mlp_hsdp2x2_clip";
    const Scenario s =
        parse_scenario("format = 1\n[model]\nkind = \"mlp\"\ndim = 8\nhidden = 16\nlayers = 4\nweights = \"" +
                           base + ".init.safetensors\"\n[data]\nfile = \"" + base +
                           ".data.safetensors\"\n[train]\nsteps = 3\nglobal_batch = 8\nclip_norm = 0.1\n"
                           "[optimizer]\nkind = \"adamw\"\nlr = 0.01\n[mesh]\nshape = [2, 2]\n"
                           "names = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n",
                       "s.toml");
    CHECK(s.model.layers == 4);
    CHECK(s.weights == base + ".init.safetensors");
    CHECK(s.data_file == base + ".data.safetensors");
    CHECK(s.clip_norm == 0.1);
    CHECK(s.optimizer.kind == "adamw");
    CHECK(s.optimizer.weight_decay == 0.01);  // PyTorch's default for AdamW
    CHECK(s.parallel.data == DataStrategy::fsdp2);
    CHECK(s.parallel.fsdp2.reshard_after_forward.reshard);
    CHECK_FALSE(s.parallel.fsdp2.keep_root);
    CHECK(scenario::world_size(s) == 4);
}

TEST_CASE("a comparison with bucket_cap_mb, and one that keeps parameters, are read") {
    const std::string head =
        "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 8\naccumulate = 4\n"
        "[optimizer]\nkind = \"sgd\"\nlr = 0.05\nmomentum = 0.9\n";
    const Scenario ddp = parse_scenario(head +
                                            "[mesh]\nshape = [2]\nnames = [\"replicate\"]\n[parallel]\n"
                                            "data = \"ddp\"\nbucket_cap_mb = 0.001\n",
                                        "s.toml");
    CHECK(ddp.parallel.bucket_cap_mb == 0.001);
    CHECK(ddp.optimizer.momentum == 0.9);
    CHECK(ddp.accumulate == 4);
    const std::string shard = "[mesh]\nshape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n";
    CHECK_FALSE(parse_scenario(head + shard + "reshard_after_forward = false\n", "s.toml")
                    .parallel.fsdp2.reshard_after_forward.reshard);
    const Scenario pytorch = parse_scenario(head + shard + "reshard_after_forward = \"default\"\n", "s.toml");
    CHECK(pytorch.parallel.fsdp2.reshard_after_forward.reshard);
    CHECK(pytorch.parallel.fsdp2.keep_root);
}

TEST_CASE("recomputation and an evaluation are read: its batch is a micro-batch unless it is said") {
    const std::string text =
        "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 4\nglobal_batch = 24\naccumulate = 3\n"
        "recompute = \"selective\"\n[eval]\nevery = 2\nsamples = 10\n";
    const scenario::Scenario s = scenario::parse_scenario(text, "eval.toml");
    CHECK(s.parallel.recompute == nn::Recompute::selective);
    CHECK(s.evaluation.every == 2);
    CHECK(s.evaluation.samples == 10);
    CHECK(s.evaluation.batch == 8);
    CHECK(scenario::parse_scenario(text + "batch = 3\n", "eval.toml").evaluation.batch == 3);
}

TEST_CASE("units are single modules or modules gathered together") {
    const Scenario s = parse_scenario(
        "format = 1\n[model]\nkind = \"mlp\"\ndim = 2\nhidden = 2\nlayers = 6\n[train]\nsteps = "
        "1\nglobal_batch = 2\n[mesh]\n"
        "shape = [2]\n[parallel]\ndata = \"fsdp2\"\nunits = [[\"layers.0\", \"layers.3\"], \"layers.1\", "
        "\"layers.4.up\"]\n",
        "s.toml");
    using Units = std::vector<std::vector<std::string>>;
    CHECK(s.parallel.units == Units{{"layers.0", "layers.3"}, {"layers.1"}, {"layers.4.up"}});
    CHECK(s.mesh_names == mesh::Names{"shard"});
}

TEST_CASE("a world larger than the mesh, and nodes of four ranks, are read") {
    const Scenario s =
        parse_scenario(kSmallest +
                           "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\nworld = 6\n"
                           "[parallel]\ndata = \"fsdp2\"\n[hardware]\nranks_per_node = 4\n"
                           "[record]\nlevel = \"hops\"\n",
                       "s.toml");
    CHECK(scenario::world_size(s) == 6);
    CHECK(s.node_of_rank == std::vector<int32_t>{0, 0, 0, 0, 1, 1});
    CHECK(s.level == trace::Level::hops);
}

TEST_CASE("relative paths start at the scenario's folder, whatever the working folder is") {
    const auto folder = std::filesystem::temp_directory_path() / "meshscope_relative_paths";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "w.safetensors") << "x";
    const std::string path = (folder / "s.toml").string();
    std::ofstream(path)
        << "format = 1\n[model]\nkind = \"toy\"\nweights = \"w.safetensors\"\n[train]\nsteps = 1\n"
           "global_batch = 1\n";
    const Scenario s = scenario::read_scenario(path);
    CHECK(std::filesystem::path(s.weights) == std::filesystem::canonical(folder) / "w.safetensors");
    CHECK(s.path == path);
    std::filesystem::remove_all(folder);
}

TEST_CASE("a file that cannot be read is an input/output error, not a mistake in it") {
    CHECK_THROWS_AS(scenario::read_scenario("/nowhere/s.toml"), IoError);
    CHECK_THROWS_AS(scenario::read_scenario(std::filesystem::temp_directory_path().string()), IoError);
}

TEST_CASE("a lesson's steps, numbers, quizzes and checks are read") {
    const Scenario s = parse_scenario(kSmallest + R"(
[title]
en = "A lesson"
zh = "一课"
[[lesson.step]]
id = "prefetch"
view = "collective"
at = "SELECT id FROM collectives LIMIT 1"
rank = 0
[[lesson.step]]
id = "slices"
view = "mesh"
slice = "replicate,shard"
rank = 7
mesh = { shape = [2, 2, 2], names = ["replicate", "shard", "tp"] }
[[lesson.number]]
id = "gathers"
sql = "SELECT 2"
[[quiz]]
id = "who"
step = "prefetch"
kind = "choice"
question = { en = "Who? {{gathers}}", zh = "谁？{{ gathers }}" }
reveal = { en = "Rank {{gathers}}.", zh = "{{gathers}}。" }
[[quiz.choice]]
en = "rank 0"
zh = "rank 0"
right = true
[[quiz.choice]]
en = "rank 1"
zh = "rank 1"
hint = { en = "Look again.", zh = "再看看。" }
[[quiz]]
id = "how-many"
step = "slices"
kind = "number"
question = { en = "How many?", zh = "几次？" }
answer = "SELECT 1"
tolerance = 0.5
[[quiz.hint]]
when = "3"
en = "One less."
zh = "少一次。"
[[check]]
id = "two gathers, one scatter"
sql = "SELECT 1"
)",
                                      "s.toml");
    CHECK(s.title.zh == "一课");
    REQUIRE(s.steps_of_lesson.size() == 2);
    CHECK(s.steps_of_lesson[0].view == "collective");
    CHECK(s.steps_of_lesson[1].mesh_shape == mesh::Shape{2, 2, 2});
    CHECK(s.steps_of_lesson[1].rank == 7);
    REQUIRE(s.quizzes.size() == 2);
    CHECK(s.quizzes[0].choices[0].right);
    CHECK(s.quizzes[0].choices[1].hint.zh == "再看看。");
    CHECK(s.quizzes[1].hints[0].when == "3");
    CHECK(s.quizzes[1].tolerance == 0.5);
    CHECK(s.checks[0].id == "two gathers, one scatter");
}
