#include <string>
#include <vector>

#include "core/scenario/section.h"
#include "core/scenario/words.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

std::vector<BadScenario> cases() {
    return {
        // syntax, as toml++ finds it: line and column in code points
        {"an empty file",
         "",
         {"1:1 scenario.missing_format", "1:1 scenario.missing_key", "1:1 scenario.missing_key"}},
        {"an open string", "format = 1\ntitle.en = \"abc\n", {"2:16 toml.syntax.control"}},
        {"a bracket left open", "format = 1\n[model\n", {"2:7 toml.syntax.bracket"}},
        {"a key twice", kTrain + "steps = 2\n", {"7:9 toml.syntax.twice"}},
        {"a table twice", kTrain + "[model]\n", {"7:1 toml.syntax.twice"}},
        {"a byte that is not UTF-8", "format = 1\n# \xff\n", {"2:2 toml.syntax"}},
        {"Chinese before the mistake counts characters",
         "format = 1\ntitle = { zh = \"中文\", en }\n",
         {"2:25 toml.syntax.pair"}},
        // the file as a whole
        {"no format",
         "[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 1\n",
         {"1:1 scenario.missing_format"}},
        {"a format of the future",
         "format = 2\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 1\n",
         {"1:10 scenario.unknown_format"}},
        {"a format in words",
         "format = \"1\"\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 1\n",
         {"1:10 scenario.wrong_type"}},
        {"an unknown table", kTrain + "[optimiser]\nlr = 1\n", {"7:2 scenario.unknown_key"}},
        {"an unknown key", kTrain + "stepz = 1\n", {"7:1 scenario.unknown_key"}},
        {"a table where a value stands",
         kTrain + "[optimizer]\nlr = { a = 1 }\n",
         {"8:6 scenario.wrong_type"}},
        {"a value where a table stands",
         "format = 1\nmesh = 4\n" + kTrain.substr(11),
         {"2:8 scenario.wrong_type"}},
        // memory
        {"kernels of nobody", kTrain + "[memory]\nops = \"eager\"\n", {"8:7 scenario.unknown_word"}},
        {"PyTorch's norm among the engine's kernels",
         kTrain + "[memory]\nnorm = \"kernel\"\n",
         {"8:1 scenario.memory_pieces"}},
        {"eager PyTorch's kernels of a model that has none of these layers",
         kTrain + "[memory]\nops = \"pytorch\"\nloss = \"kernel\"\n",
         {"8:1 scenario.memory_kind"}},
        {"eager PyTorch's kernels of an mlp",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 2\n"
         "[train]\nsteps = 1\nglobal_batch = 8\n[memory]\nops = \"pytorch\"\n",
         {"11:1 scenario.memory_kind"}},
        {"eager PyTorch's kernels of a model of unknown kind",
         "format = 1\n[model]\nkind = \"lama\"\n[train]\nsteps = 1\nglobal_batch = 8\n"
         "[memory]\nops = \"pytorch\"\n",
         {"3:8 scenario.unknown_word"}},
        // recomputation and evaluation
        {"an unknown recomputation", kTrain + "recompute = \"some\"\n", {"7:13 scenario.unknown_word"}},
        {"a unit inside of a layer that runs again as a whole",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 2\n"
         "[train]\nsteps = 1\nglobal_batch = 8\nrecompute = \"full\"\n[mesh]\nshape = [2]\n[parallel]\n"
         "data = \"fsdp2\"\nunits = [\"layers.0\", \"layers.1.up\"]\n",
         {"15:22 scenario.recompute_units"}},
        {"units by size that end inside of a layer",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 2\n"
         "[train]\nsteps = 1\nglobal_batch = 8\nrecompute = \"selective\"\n[mesh]\nshape = [2]\n[parallel]\n"
         "data = \"fsdp1\"\nwrap = \"size\"\nwrap_min_elements = 10\n",
         {"16:21 scenario.recompute_units"}},
        {"recomputation with a backward in two pieces",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 4\n"
         "[train]\nsteps = 1\nglobal_batch = 8\nrecompute = \"full\"\n[mesh]\nshape = [2]\nnames = [\"pp\"]\n"
         "[parallel]\nschedule = \"ZBVZeroBubble\"\nmicrobatches = 4\n",
         {"15:12 scenario.recompute_split"}},
        {"an evaluation without its keys",
         kTrain + "[eval]\n",
         {"7:1 scenario.missing_key", "7:1 scenario.missing_key"}},
        {"an evaluation after the end",
         kTrain + "[eval]\nevery = 2\nsamples = 0\n",
         {"8:9 scenario.out_of_range", "9:11 scenario.out_of_range"}},
        {"an evaluation on a pipeline",
         kPipeline + "schedule = \"GPipe\"\nmicrobatches = 2\n[eval]\nevery = 1\nsamples = 4\n",
         {"14:1 scenario.eval_pipeline"}},
        // model
        {"no model", "format = 1\n[train]\nsteps = 1\nglobal_batch = 8\n", {"1:1 scenario.missing_key"}},
        {"no kind",
         "format = 1\n[model]\nseed = 1\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"2:1 scenario.missing_key"}},
        {"an unknown kind",
         "format = 1\n[model]\nkind = \"tony\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"3:8 scenario.unknown_word"}},
        {"a gpt without sizes",
         "format = 1\n[model]\nkind = \"gpt\"\nvocab = 32\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"2:1 scenario.missing_key", "2:1 scenario.missing_key", "2:1 scenario.missing_key",
          "2:1 scenario.missing_key", "2:1 scenario.missing_key"}},
        {"heads that do not divide dim",
         "format = 1\n[model]\nkind = \"gpt\"\ndim = 10\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads = "
         "4\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"9:9 scenario.heads"}},
        {"heads of an odd number of elements",
         "format = 1\n[model]\nkind = \"llama\"\ndim = 12\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads "
         "= 4\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"9:9 scenario.odd_head_dim"}},
        {"key/value heads that do not divide heads",
         "format = 1\n[model]\nkind = \"llama\"\ndim = 16\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads "
         "= 4\nkv_heads = 3\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"10:12 scenario.kv_heads"}},
        {"llama's keys for gpt",
         "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads = "
         "4\nkv_heads = 2\nrope_theta = 1e4\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"10:1 scenario.key_not_for_kind", "11:1 scenario.key_not_for_kind"}},
        {"tokens of an mlp",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 1\nvocab = 9\n"
         "[train]\nsteps = 1\nglobal_batch = 8\n",
         {"7:1 scenario.key_not_for_kind"}},
        {"regression for gpt",
         "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads = "
         "4\n[train]\nsteps = 1\nglobal_batch = 8\n[data]\nkind = \"regression\"\n",
         {"14:8 scenario.data_kind"}},
        {"sizes for toy",
         kModel + "dim = 4\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:1 scenario.key_not_for_kind"}},
        {"an mlp without sizes",
         "format = 1\n[model]\nkind = \"mlp\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"2:1 scenario.missing_key", "2:1 scenario.missing_key", "2:1 scenario.missing_key"}},
        {"a dim of zero",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 0\nhidden = 4\nlayers = 2\n[train]\nsteps = "
         "1\nglobal_batch = 8\n",
         {"4:7 scenario.out_of_range"}},
        {"a dim beyond 64 bits",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 99999999999999999999\n",
         {"4:27 toml.syntax"}},
        {"a model of 10^16 parameters",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 1000000\nhidden = 1000000\nlayers = 10000\n"
         "[train]\nsteps = 1\nglobal_batch = 8\n",
         {"6:10 scenario.model_too_large"}},
        {"a negative seed",
         kModel + "seed = -1\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:8 scenario.out_of_range"}},
        {"weights that are not there",
         kModel + "weights = \"no.safetensors\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:11 scenario.no_such_file"}},
        {"weights that are a folder",
         kModel + "weights = \"/\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:11 scenario.folder_for_file"}},
        {"weights that are a device",
         kModel + "weights = \"/dev/null\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:11 file.not_regular_input"}},
        // data
        {"a data file that is a folder", kTrain + "[data]\nfile = \".\"\n", {"8:8 scenario.folder_for_file"}},
        {"a data file that is not there", kTrain + "[data]\nfile = \"no\"\n", {"8:8 scenario.no_such_file"}},
        {"a file without a name is one mistake",
         kTrain + "[data]\nfile = \"\"\nkind = \"regression\"\nseed = 1\n",
         {"8:8 scenario.empty_path"}},
        {"weights without a name",
         kModel + "weights = \"\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:11 scenario.empty_path"}},
        {"a file and a kind",
         kTrain + "[data]\nfile = \"no\"\nkind = \"regression\"\n",
         {"8:8 scenario.no_such_file", "9:1 scenario.keys_exclude"}},
        {"an unknown kind of data", kTrain + "[data]\nkind = \"images\"\n", {"8:8 scenario.unknown_word"}},
        // train
        {"no training", kModel, {"1:1 scenario.missing_key"}},
        {"zero steps", kModel + "[train]\nsteps = 0\nglobal_batch = 8\n", {"5:9 scenario.out_of_range"}},
        {"steps in words",
         kModel + "[train]\nsteps = \"three\"\nglobal_batch = 8\n",
         {"5:9 scenario.wrong_type"}},
        {"steps with a fraction",
         kModel + "[train]\nsteps = 3.0\nglobal_batch = 8\n",
         {"5:9 scenario.wrong_type"}},
        {"steps beyond 32 bits",
         kModel + "[train]\nsteps = 3000000000\nglobal_batch = 8\n",
         {"5:9 scenario.out_of_range"}},
        {"no batch", kModel + "[train]\nsteps = 1\n", {"4:1 scenario.missing_key"}},
        {"a clip of zero", kTrain + "clip_norm = 0\n", {"7:13 scenario.out_of_range"}},
        {"a clip that is no number", kTrain + "clip_norm = nan\n", {"7:13 scenario.not_finite"}},
        {"a batch that accumulation does not divide",
         kTrain + "accumulate = 3\n",
         {"6:16 scenario.batch_does_not_divide"}},
        {"a batch that the ranks do not divide",
         kTrain + "[mesh]\nshape = [3]\n[parallel]\ndata = \"ddp\"\n",
         {"6:16 scenario.batch_does_not_divide"}},
        // optimizer
        {"a negative learning rate", kTrain + "[optimizer]\nlr = -0.1\n", {"8:6 scenario.out_of_range"}},
        {"an integer that no double holds is a number, too large a one",
         kTrain + "[optimizer]\nlr = 9007199254740993\n",
         {"8:6 scenario.out_of_range"}},
        {"and so as one of betas",
         kTrain + "[optimizer]\nkind = \"adam\"\nbetas = [0.9, 9223372036854775807]\n",
         {"9:9 scenario.bad_betas"}},
        {"an infinite learning rate", kTrain + "[optimizer]\nlr = inf\n", {"8:6 scenario.not_finite"}},
        {"an unknown optimizer", kTrain + "[optimizer]\nkind = \"adamx\"\n", {"8:8 scenario.unknown_word"}},
        {"betas for sgd",
         kTrain + "[optimizer]\nbetas = [0.9, 0.99]\nkind = \"sgd\"\n",
         {"8:1 scenario.key_not_for_kind"}},
        {"momentum for adam",
         kTrain + "[optimizer]\nkind = \"adam\"\nmomentum = 0.9\n",
         {"9:1 scenario.key_not_for_kind"}},
        {"three betas",
         kTrain + "[optimizer]\nkind = \"adam\"\nbetas = [0.9, 0.99, 0.9]\n",
         {"9:9 scenario.bad_betas"}},
        {"a beta of one",
         kTrain + "[optimizer]\nkind = \"adam\"\nbetas = [0.9, 1.0]\n",
         {"9:9 scenario.bad_betas"}},
        // record, hardware
        {"an unknown level", kTrain + "[record]\nlevel = \"all\"\n", {"8:9 scenario.unknown_word"}},
        // run, faults
        {"a schedule that is none", kTrain + "[run]\nschedule = \"fair\"\n", {"8:12 comm.bad_schedule"}},
        {"a fault of nobody",
         kFsdp + "[[faults]]\nkind = \"kill\"\n",
         {"14:1 scenario.missing_key", "14:1 scenario.missing_key"}},
        {"a fault of a rank and a step that are not there",
         kFsdp + "[[faults]]\nkind = \"kill\"\nrank = 2\nstep = 1\n",
         {"16:8 scenario.out_of_range", "17:8 scenario.out_of_range"}},
        {"a fault of an unknown kind",
         kFsdp + "[[faults]]\nkind = \"kil\"\nrank = 0\nstep = 0\n",
         {"15:8 scenario.unknown_word"}},
        {"a fault's key that is another kind's",
         kFsdp + "[[faults]]\nkind = \"kill\"\nrank = 0\nstep = 0\nms = 5\n",
         {"18:1 scenario.key_not_for_kind"}},
        {"a mismatch without a field",
         kFsdp + "[[faults]]\nkind = \"mismatch\"\nrank = 0\nstep = 0\n",
         {"14:1 scenario.missing_key"}},
        {"a fault of set-up in a step",
         kFsdp + "[[faults]]\nkind = \"kill\"\nrank = 0\nstep = 0\nphase = \"setup\"\n",
         {"18:9 scenario.fault_setup"}},
        {"a rank alone has nobody to disagree with",
         kTrain + "[[faults]]\nkind = \"skip\"\nrank = 0\nstep = 0\n",
         {"8:8 scenario.fault_alone"}},
        {"no ranks on a node", kTrain + "[hardware]\nranks_per_node = 0\n", {"8:18 scenario.out_of_range"}},
        // lesson
        {"an id that is none", kTrain + "[[lesson.step]]\nid = \"Two words\"\n", {"8:6 scenario.bad_id"}},
        {"a question about the mesh that cannot be read",
         kTrain + "[[lesson.step]]\nid = \"one\"\nslice = 'mesh[\"a\"] and'\n",
         {"9:9 mesh.question.unreadable"}},
        {"a step twice", kStep + "[[lesson.step]]\nid = \"one\"\n", {"10:6 scenario.id_twice"}},
        {"a view that is none", kStep + "view = \"3d\"\n", {"9:8 scenario.unknown_word"}},
        {"a rank outside the world", kStep + "rank = 1\n", {"9:8 scenario.out_of_range"}},
        {"a rank on a mesh that was written wrongly gets no advice from a guess",
         kStep + "rank = 100\n[mesh]\nshape = [2, \"x\"]\n",
         {"11:13 scenario.wrong_type"}},
        {"a rank on a picture's mesh that was written wrongly",
         kStep + "rank = 100\nmesh = { shape = [0] }\n",
         {"10:19 scenario.out_of_range"}},
        {"a check's title in one language",
         kTrain + "[[check]]\nid = \"a\"\nsql = \"SELECT 1\"\ntitle = { en = \"a\" }\n",
         {"10:9 scenario.missing_key"}},
        {"a number without SQL", kTrain + "[[lesson.number]]\nid = \"n\"\n", {"7:1 scenario.missing_key"}},
        {"one step that is no table of an array",
         kTrain + "[lesson]\nstep = 1\n",
         {"8:8 scenario.wrong_type"}},
        {"a quiz of an unknown step",
         kQuiz + "kind = \"number\"\nanswer = \"SELECT 1\"\n[[quiz]]\nid = \"r\"\nstep = \"two\"\n"
                 "kind = \"number\"\nanswer = \"\"\nquestion = { en = \"a\", zh = \"b\" }\n",
         {"17:8 scenario.unknown_step"}},
        {"a quiz without an answer", kQuiz + "kind = \"ranks\"\n", {"9:1 scenario.missing_key"}},
        {"a quiz in one language",
         kStep + "[[quiz]]\nid = \"q\"\nstep = \"one\"\nkind = \"number\"\nanswer = \"SELECT 1\"\n"
                 "question = { en = \"a\" }\n",
         {"14:12 scenario.missing_key"}},
        {"one choice",
         kQuiz + "kind = \"choice\"\n[[quiz.choice]]\nen = \"a\"\nzh = \"b\"\nright = true\n",
         {"10:6 scenario.too_few_choices"}},
        {"two choices, none right",
         kQuiz + "kind = \"choice\"\n[[quiz.choice]]\nen = \"a\"\nzh = \"b\"\n[[quiz.choice]]\n"
                 "en = \"c\"\nzh = \"d\"\n",
         {"10:6 scenario.one_right_choice"}},
        {"a number nobody defines",
         kQuiz + "kind = \"number\"\nanswer = \"SELECT 1\"\n[quiz.reveal]\nen = \"{{n}}\"\nzh = \"n\"\n",
         {"16:6 scenario.unknown_number"}},
        {"a check twice",
         kTrain +
             "[[check]]\nid = \"a b\"\nsql = \"SELECT 1\"\n[[check]]\nid = \"a b\"\nsql = \"SELECT 1\"\n",
         {"11:6 scenario.id_twice"}},
        // all at once
        {"every mistake is told, in file order",
         "format = 1\ncolour = 1\n[model]\nkind = \"toy\"\nwidth = 3\n[train]\nsteps = -1\nglobal_batch = "
         "7\n[mesh]\nshape = [2]\n"
         "[parallel]\ndata = \"ddp\"\nalgorithm = 3\n",
         {"2:1 scenario.unknown_key", "5:1 scenario.unknown_key", "7:9 scenario.out_of_range",
          "8:16 scenario.batch_does_not_divide", "13:13 scenario.wrong_type"}},
    };
}

const Diagnostic& only(const InputError& error) {
    return error.diagnostics().at(0);
}

}  // namespace

TEST_CASE("every kind of mistake is found at its line and column") {
    check_mistakes(cases());
}

TEST_CASE("the heads that are proposed for tensor parallelism are not refused next") {
    const auto hint = [](int dim, int heads, int ranks) -> std::string {
        try {
            scenario::parse_scenario(
                "format = 1\n[model]\nkind = \"gpt\"\ndim = " + std::to_string(dim) +
                    "\nhidden = 36\nlayers = 1\nvocab = 36\nseq = 4\nheads = " + std::to_string(heads) +
                    "\n[train]\nsteps = 1\nglobal_batch = 8\n[mesh]\nshape = [" + std::to_string(ranks) +
                    "]\nnames = [\"tp\"]\n",
                "s.toml");
        } catch (const InputError& error) {
            return changes_in(only(error).hint);
        }
        return "accepted";
    };
    CHECK(hint(16, 4, 3) == "mesh.shape = [2]; mesh.shape = [4]");
    CHECK(hint(36, 4, 3) == "model.heads = 3; model.heads = 6; mesh.shape = [2]; mesh.shape = [4]");
    CHECK(hint(12, 4, 6) == "model.heads = 6; mesh.shape = [4]");
    CHECK(hint(36, 6, 3) == "accepted");
}

TEST_CASE("hints say what would be right") {
    const auto hint = [](const std::string& text) {
        try {
            scenario::parse_scenario(text, "bad.toml");
        } catch (const InputError& error) {
            return changes_in(only(error).hint);
        }
        return std::string("(none)");
    };
    CHECK(hint(kTrain + "acumulate = 1\n") == "scenario.hint.did_you_mean(guess=accumulate)");
    CHECK(hint(kTrain + "[mesh]\nshape = [3]\n[parallel]\ndata = \"ddp\"\n") ==
          "train.global_batch = 6; train.global_batch = 9");
    CHECK(hint(kTrain + "[mesh]\nshape = [9]\n[parallel]\ndata = \"ddp\"\n") == "train.global_batch = 9");
    CHECK(hint(kTrain + "[mesh]\nshape = [2, 4]\nnames = [\"a\", \"b\"]\nworld = 6\n") == "mesh.world = 8");
    CHECK(hint(tokens(7, 4) + kContext) ==
          "model.seq = 4; model.seq = 8; mesh.shape = [1]; mesh.shape = [7]");
    CHECK(hint(tokens(12, 4) + kContext + "cp_load_balance = true\n") ==
          "model.seq = 8; model.seq = 16; mesh.shape = [3]; mesh.shape = [6]; parallel.cp_load_balance = "
          "false");
    CHECK(hint(tokens(8, 2) + kContext + "cp = \"ulysses\"\n") ==
          "model.heads = 4; mesh.shape = [2]; parallel.cp = \"allgather\"");
    CHECK(hint(kTrain + "[parallel]\ncp = \"ulysses\"\n") ==
          "scenario.hint.no_offer(change=mesh.shape = [2], mesh.names = [\"cp\"], "
          "cause.id=scenario.cp_needs_tokens, cause.kind=toy)");
    CHECK(hint(kTrain + "[parallel]\ndata = \"dpd\"\n") == "scenario.hint.did_you_mean(guess=ddp)");
    // The others need keys of their own.
    CHECK(hint(kTrain + "[parallel]\ndata = \"everything\"\n") ==
          "scenario.hint.known_here(known=none, ddp, fsdp2, fsdp1, zero1, zero2, zero3, dp)");
}

TEST_CASE("an element of the wrong type is named by its index, an infinite number by what it is") {
    const auto first = [](const std::string& text) {
        try {
            scenario::parse_scenario(text, "bad.toml");
        } catch (const InputError& error) {
            return describe(only(error).message);
        }
        return std::string("(none)");
    };
    CHECK(first(kTrain + "[mesh]\nshape = [2]\nnames = [3]\n") ==
          "scenario.wrong_type(key=mesh.names[0], wanted=string, found=integer)");
    CHECK(first(kTrain + "[mesh]\nshape = [2, \"x\"]\n") ==
          "scenario.wrong_type(key=mesh.shape[1], wanted=integer, found=string)");
    CHECK(first(kTrain + "[optimizer]\nkind = \"adam\"\nbetas = [0.9, true]\n") ==
          "scenario.wrong_type(key=optimizer.betas[1], wanted=number, found=boolean)");
    CHECK(first(kTrain + "[optimizer]\nweight_decay = -inf\n") ==
          "scenario.not_finite(key=optimizer.weight_decay, value=-inf)");
}

TEST_CASE("a file that is too large is refused before it is parsed") {
    CHECK(mistakes(std::string((1 << 20) + 1, '#')) == std::vector<std::string>{"0:0 toml.too_large"});
}

TEST_CASE("deep nesting is refused, not followed") {
    CHECK(mistakes("a = " + std::string(100000, '[')) == std::vector<std::string>{"1:68 toml.too_deep"});
}

TEST_CASE("a text with a NUL is refused where it stands, and nothing is read by the name before it") {
    const std::string nul = "\\u0000";
    const std::vector<BadScenario> cases{
        {"a folder",
         kTrain + "[checkpoint]\nevery = 1\nfolder = \"a" + nul + "b\"\n",
         {"9:10 scenario.text_with_nul"}},
        {"a profile",
         kTrain + "[hardware]\nprofile = \"bad.toml" + nul + "x.toml\"\n",
         {"8:11 scenario.text_with_nul"}},
        {"weights",
         kModel + "weights = \"w" + nul + "\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:11 scenario.text_with_nul"}},
        {"a list",
         kTrain + "[mesh]\nshape = [1]\nnames = [\"a" + nul + "\"]\n",
         {"9:10 scenario.text_with_nul"}},
        {"an id",
         kTrain + "[[check]]\nid = \"a" + nul + "\"\nsql = \"SELECT 1\"\n",
         {"8:6 scenario.text_with_nul"}}};
    for (const BadScenario& one : cases) {
        INFO(one.what);
        CHECK(mistakes(one.text) == one.expected);
    }
}

TEST_CASE("a scenario cut at any byte is read or refused, never a crash") {
    const std::string whole =
        kQuiz +
        "kind = \"number\"\nanswer = \"SELECT 1\"\n[mesh]\nshape = [2]\nnames = [\"shard\"]\n"
        "[parallel]\ndata = \"fsdp2\"\nunits = [[\"net1\"], \"net2\"]\n";
    int read = 0;
    for (std::size_t n = 0; n <= whole.size(); ++n) {
        const auto found = mistakes(whole.substr(0, n));
        CHECK_FALSE(found.empty());
        read += found == std::vector<std::string>{"(none)"};
    }
    CHECK(read >= 2);  // whole, and without its last line end
}

namespace {

/// What the last mistake of a scenario comes with; "(none)" where there is no mistake.
std::string last_hint(const std::string& text) {
    try {
        scenario::parse_scenario(text, "bad.toml");
    } catch (const InputError& error) {
        return changes_in(error.diagnostics().back().hint);
    }
    return "(none)";
}

}  // namespace

TEST_CASE("a name is offered only where it is free: a key cannot be written twice") {
    CHECK(last_hint(kTrain + "stepps = 3\n") == "scenario.hint.key_is_there(guess=steps)");
    CHECK(last_hint(kTrain + "[modle]\nkind = \"toy\"\n") == "scenario.hint.key_is_there(guess=model)");
    CHECK(last_hint(kTrain + "acumulate = 1\n") == "scenario.hint.did_you_mean(guess=accumulate)");
    CHECK(last_hint(kTrain + "accumulat = 2\nacumulate = 1\n") ==
          "scenario.hint.key_is_there(guess=accumulate)");
}

TEST_CASE("a key in the wrong table is told where it belongs") {
    CHECK(last_hint(kTrain + "[parallel]\nrecompute = \"full\"\n") ==
          "scenario.hint.key_of_table(key=recompute, table=train)");
    CHECK(last_hint("accumulate = 2\n" + kTrain) ==
          "scenario.hint.key_of_table(key=accumulate, table=train)");
    CHECK(!last_hint(kTrain + "seed = 3\n").starts_with("scenario.hint.key_of_table"));  // several have one
}

TEST_CASE("heads that are impossible hide no other mistake") {
    const auto text = [](const std::string& heads) {
        return "format = 1\n[model]\nkind = \"llama\"\ndim = 30\nhidden = 50\nlayers = 2\nvocab = 51\nseq = "
               "17\n" +
               heads +
               "[train]\nsteps = 1\nglobal_batch = 7\n[mesh]\nshape = [2, 2, 2]\n"
               "names = [\"shard\", \"cp\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n";
    };
    CHECK(mistakes(text("heads = 5\nkv_heads = 3\n")) ==
          std::vector<std::string>{"8:7 scenario.cp_seq", "9:9 scenario.tp_does_not_divide",
                                   "10:12 scenario.kv_heads", "13:16 scenario.batch_does_not_divide"});
    CHECK(mistakes(text("heads = 4\nkv_heads = 4\n")) ==
          std::vector<std::string>{"8:7 scenario.cp_seq", "9:9 scenario.heads",
                                   "13:16 scenario.batch_does_not_divide"});
}
