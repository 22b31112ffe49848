// [[lesson.variant]]: a scenario with some keys changed.
#include "core/scenario/variant.h"

#include "tests/scenario/mistakes.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using scenario::changed_scenario;
using scenario::Scenario;
using List = std::vector<std::string>;

namespace {

/// Ten lines of a scenario with two ranks, then `rest`.
Scenario with(const std::string& rest) {
    return scenario::parse_scenario(kTrain + "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n" + rest,
                                    "lesson.toml");
}

const std::string kVariant = "[[lesson.variant]]\nid = \"v\"\n";  // two lines

}  // namespace

TEST_CASE("a variant sets and takes away keys, and the rest stays as it was") {
    const Scenario s = with("units = [[\"net1\"]]\n[[lesson.step]]\nid = \"one\"\nrank = 1\n" + kVariant +
                            "unset = [\"parallel.units\"]\nset = { \"mesh.shape\" = [4], train.steps = 3, "
                            "\"optimizer\" = { lr = 0.5 } }\n");
    REQUIRE(s.variants.size() == 1);
    CHECK(s.variants[0].at.line == 15);
    REQUIRE(s.variants[0].changes.size() == 4);
    CHECK(s.variants[0].changes[0].key == "parallel.units");
    CHECK(s.variants[0].changes[0].value.empty());
    const Scenario changed = changed_scenario(s, s.variants[0]);
    CHECK(changed.mesh_shape == mesh::Shape{4});
    CHECK(changed.steps == 3);
    CHECK(changed.global_batch == 8);
    CHECK(changed.optimizer.lr == 0.5);
    CHECK(changed.parallel.units.empty());
    CHECK(s.parallel.units.size() == 1);
    CHECK(s.mesh_shape == mesh::Shape{2});
}

TEST_CASE("a changed scenario is no lesson, but its calls are checked as the lesson's") {
    const Scenario s =
        with("[[lesson.step]]\nid = \"one\"\n[[lesson.number]]\nid = \"n\"\nsql = \"SELECT 1\"\n" + kVariant +
             "set = { \"train.steps\" = 2 }\n");
    const Scenario changed = changed_scenario(s, s.variants[0]);
    CHECK(changed.steps_of_lesson.empty());
    CHECK(changed.numbers.empty());
    CHECK(changed.variants.empty());
    CHECK(changed.checked == true);
    CHECK(scenario::entries(changed, "train") ==
          std::vector<std::pair<std::string, std::string>>{{"global_batch", "8"}, {"steps", "2"}});
    const Scenario unchecked = with("[run]\nchecked = false\n[[lesson.step]]\nid = \"one\"\n" + kVariant +
                                    "set = { \"train.steps\" = 2 }\n");
    CHECK(changed_scenario(unchecked, unchecked.variants[0]).checked == false);
}

TEST_CASE("faults are set as a whole list") {
    const Scenario s = with(kVariant + "set = { faults = [{ kind = \"kill\", rank = 1, step = 0 }] }\n" +
                            "ends = \"diagnosis.lost\"\n");
    CHECK(changed_scenario(s, s.variants[0]).faults.size() == 1);
    CHECK(s.variants[0].ends == "diagnosis.lost");
}

TEST_CASE("mistakes of variants are told where they stand, all at once") {
    CHECK(mistakes(kTrain + kVariant) == List{"8:6 scenario.variant_changes_nothing"});
    CHECK(mistakes(kTrain + kVariant +
                   "set = { \"train.stepz\" = 1, \"lesson.step\" = [], faults.kind = 1 }\n"
                   "unset = [\"mesh.shape\", \"x\"]\nends = \"oh no\"\n") ==
          List{"9:9 scenario.unknown_key", "9:28 scenario.unknown_key", "9:55 scenario.unknown_key",
               "10:10 scenario.variant_unset_absent", "10:24 scenario.unknown_key",
               "11:8 scenario.variant_bad_end"});
    CHECK(mistakes(kTrain + kVariant + "set = { \"train.steps\" = 2 }\n" + kVariant + "set = 1\n") ==
          List{"11:6 scenario.id_twice", "12:7 scenario.wrong_type"});
    CHECK(mistakes(kTrain + kVariant +
                   "set = { \"train.steps\" = 2 }\nends = \"a.b\"\n"
                   "[[lesson.variant.number]]\nid = \"n\"\nsql = \"SELECT 1\"\n") ==
          List{"11:18 scenario.variant_number_with_end"});
    CHECK(mistakes(kTrain + "[lesson]\nchapter = 11\n") == List{"8:11 scenario.out_of_range"});
    CHECK(mistakes(kTrain + "[[lesson.step]]\nid = \"summary\"\n") == List{"8:6 scenario.reserved_step"});
}

TEST_CASE("an unknown key of a variant is answered with the nearest one") {
    try {
        with(kVariant + "set = { \"parallel.reshard_after_forwrd\" = false }\n");
        FAIL("it was read");
    } catch (const InputError& error) {
        REQUIRE(error.diagnostics().size() == 1);
        const MessageValue* guess = error.diagnostics()[0].hint.find("guess");
        REQUIRE(guess);
        CHECK(to_text(*guess) == "parallel.reshard_after_forward");
    }
}

TEST_CASE("where no key is near, those of its table are told, or the tables") {
    const auto told = [](const std::string& key) {
        try {
            with(kVariant + "set = { \"" + key + "\" = 1 }\n");
        } catch (const InputError& error) {
            const MessageValue* known = error.diagnostics().at(0).hint.find("known");
            return known ? to_text(*known) : "";
        }
        return std::string("it was read");
    };
    CHECK(told("record.abcdefgh") == "record.level");
    CHECK(told("qqqqqqqq").starts_with("model, data, train, optimizer, mesh"));
    CHECK(told("quiz.id").find("quiz") == std::string::npos);
}

namespace {

/// The hint of the only mistake of a text: its id, and that of the mistake that it says is left.
std::string only_hint(const std::string& text, const char* word = "guess") {
    try {
        scenario::parse_scenario(text, "x.toml");
    } catch (const InputError& error) {
        if (error.diagnostics().size() != 1) return std::to_string(error.diagnostics().size()) + " mistakes";
        const Message& hint = error.diagnostics()[0].hint;
        std::string said = hint.id;
        for (const char* name : {word, "cause.id", "cause.cause.id"})
            if (const MessageValue* const value = hint.find(name)) said += " " + to_text(*value);
        return said;
    }
    return "it was read";
}

}  // namespace

TEST_CASE("a key that a variant's set or unset probably meant is tried in the variant") {
    const std::string ranks = kTrain + "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n" + kVariant;
    CHECK(only_hint(ranks + "set = { \"train.stepz\" = 2 }\n") == "scenario.hint.did_you_mean train.steps");
    CHECK(only_hint(ranks + "set = { train.stepz = 2 }\n") == "scenario.hint.did_you_mean train.steps");
    // Under its right name the value is refused, by a rule of the whole file.
    CHECK(only_hint(ranks + "set = { \"train.stepz\" = 0 }\n") ==
          "scenario.hint.did_you_mean_then train.steps scenario.in_variant scenario.out_of_range");
    CHECK(only_hint(ranks + "set = { mesh.shap = [3] }\n") ==
          "scenario.hint.did_you_mean_then mesh.shape scenario.in_variant scenario.batch_does_not_divide");
    // What is set twice would be no TOML.
    CHECK(only_hint(ranks + "set = { \"train.stepz\" = 2, \"train.steps\" = 3 }\n") ==
          "scenario.hint.key_is_there train.steps");
    CHECK(only_hint(ranks + "unset = [\"mesh.shap\"]\n") == "scenario.hint.did_you_mean mesh.shape");
    // The file has no such key that could be taken away.
    CHECK(only_hint(ranks + "unset = [\"parallel.unitz\"]\n") ==
          "scenario.hint.did_you_mean_then parallel.units scenario.variant_unset_absent");
    // A table that is written out stands for the whole one, in a trial too.
    CHECK(only_hint(ranks + "set = { optimizer = { lr = 0.5, momentun = 0.9 } }\n") ==
          "scenario.hint.did_you_mean momentum");
}

TEST_CASE("what is offered for a file's own run is possible in its variants, too") {
    const auto text = [](const std::string& rest) {
        return kModel +
               "[train]\nsteps = 1\nglobal_batch = 7\n[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n" +
               rest;
    };
    CHECK(only_hint(text(""), "changes").find("train.global_batch = 6;") != std::string::npos);
    // 6 samples are none for four ranks.
    const std::string four = only_hint(text(kVariant + "set = { \"mesh.shape\" = [4] }\n"), "changes");
    CHECK(four.find("train.global_batch = 6;") == std::string::npos);
    CHECK(four.find("train.global_batch = 4; train.global_batch = 8") != std::string::npos);
}

TEST_CASE("what is offered for a variant is said to belong in its set") {
    const std::string ranks = kTrain + "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n" + kVariant;
    const std::string hint = only_hint(ranks + "set = { \"mesh.shape\" = [3] }\n", "cause.changes");
    CHECK(hint.starts_with("scenario.hint.in_variant train.global_batch = 6; train.global_batch = 9"));
    CHECK(hint.ends_with("scenario.hint.offers"));
    CHECK(only_hint(ranks + "set = { \"model.kind\" = \"toyy\" }\n") == "scenario.hint.did_you_mean toy");
}

TEST_CASE("a key with signs that TOML quotes is moved like any other, and none over one that is there") {
    CHECK(only_hint(kTrain + "\"recom.pute\" = \"full\"\n") == "scenario.hint.did_you_mean recompute");
    CHECK(only_hint(kTrain + "\"recom\\\"pute\" = \"never\"\n") ==
          "scenario.hint.did_you_mean_then recompute scenario.unknown_word");
    CHECK(only_hint(kTrain + "lr = 0.1\n[optimizer]\nlr = 0.2\n") ==
          "scenario.hint.key_is_there optimizer.lr");
}

TEST_CASE("a variant that is to run must be possible, and its mistakes stand at the values it sets") {
    const std::string ranks = kTrain + "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n";
    const std::string three = kVariant + "set = { \"mesh.shape\" = [3], \"model.kind\" = \"toyy\" }\n";
    CHECK(mistakes(ranks + three) ==
          List{"6:16 scenario.batch_does_not_divide", "13:44 scenario.unknown_word"});
    const std::string divides = kVariant + "set = { \"mesh.shape\" = [3] }\n";
    CHECK(mistakes(ranks + divides) == List{"6:16 scenario.batch_does_not_divide"});
    CHECK(mistakes(ranks + divides + "ends = \"scenario.batch_does_not_divide\"\n") == List{"(none)"});
}

TEST_CASE("what a variant sets is shown as it was written, fractions with their shortest digits") {
    const Scenario s = with(kVariant +
                            "set = { \"optimizer.momentum\" = 0.9, \"train.clip_norm\" = 1e-7, "
                            "\"mesh.shape\" = [2, 1], \"mesh.names\" = [\"a\", \"b\"], "
                            "faults = [{ kind = \"delay\", rank = 1, step = 0, ms = 5 }] }\n"
                            "ends = \"a.b\"\n");
    std::map<std::string, std::string> shown;
    for (const auto& change : s.variants[0].changes) shown[change.key] = change.value;
    CHECK(shown["optimizer.momentum"] == "0.9");
    CHECK(shown["train.clip_norm"] == "1e-07");
    CHECK(shown["mesh.shape"] == "[ 2, 1 ]");
    CHECK(shown["faults"].find("ms = 5") != std::string::npos);
    const Scenario changed = scenario::parse_scenario(
        "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 8\n[optimizer]\nlr = 0.1\n"
        "momentum = 0.9\n",
        "a.toml");
    CHECK(scenario::entries(changed, "optimizer") ==
          std::vector<std::pair<std::string, std::string>>{{"lr", "0.1"}, {"momentum", "0.9"}});
}

TEST_CASE("a number is SQL's or the modelled clock's, and keys that mean nothing to it are refused") {
    const std::string number = "[[lesson.number]]\nid = \"n\"\n";  // lines 7 and 8
    CHECK(mistakes(kTrain + number) == List{"7:1 scenario.missing_key"});
    CHECK(mistakes(kTrain + number + "modelled = \"step_ms\"\n") == List{"(none)"});
    CHECK(mistakes(kTrain + number +
                   "modelled = \"exposed_ms\"\nrank = 1\nhardware = \"a100\"\ndecimals = 3\n") ==
          List{"(none)"});
    CHECK(mistakes(kTrain + number + "modelled = \"step_ms\"\nrank = 1\nsql = \"SELECT 1\"\n") ==
          List{"10:1 scenario.modelled_key", "11:1 scenario.modelled_key"});
    CHECK(mistakes(kTrain + number + "modelled = \"hops_us\"\n") == List{"7:1 scenario.missing_key"});
    CHECK(mistakes(kTrain + number + "modelled = \"steps\"\nhardware = \"z80\"\n") ==
          List{"9:12 scenario.unknown_word", "10:12 scenario.unknown_word"});
    CHECK(mistakes(kTrain + number + "sql = \"SELECT 1\"\ndecimals = 2\n") ==
          List{"10:1 scenario.needs_modelled"});
    CHECK(mistakes(kTrain + number + "modelled = \"step_ms\"\ndecimals = 10\n") ==
          List{"10:12 scenario.out_of_range"});
    const Scenario read = with(number + "modelled = \"step_ms\"\nhardware = \"h100\"\n");
    REQUIRE(read.numbers.size() == 1);
    REQUIRE(read.numbers[0].hardware);
    CHECK(read.numbers[0].hardware->name == "h100");
}

TEST_CASE("a temporary checkpoint has no folder, and a restart comes before the end, at what is saved") {
    const std::string saves = "[checkpoint]\ntemporary = true\n";  // lines 7 and 8
    CHECK(mistakes(kTrain + saves) == List{"(none)"});
    CHECK(mistakes(kTrain + saves + "folder = \"x\"\n") == List{"9:1 scenario.checkpoint_two_folders"});
    CHECK(mistakes(kTrain + saves + "restart_after = 1000\n") == List{"9:17 scenario.restart_behind_end"});
    CHECK(mistakes(kTrain + "[checkpoint]\nrestart_after = 0\n") == List{"7:1 scenario.missing_key"});
    CHECK(with(saves).checkpoint.saves());
}

TEST_CASE("numbers of variants may stand in questions, by their variant's name") {
    const std::string variant =
        "[[lesson.variant]]\nid = \"change\"\nset = { \"train.steps\" = 2 }\n"
        "[[lesson.variant.number]]\nid = \"n\"\nsql = \"SELECT 1\"\n";
    const std::string quiz =
        "[[quiz]]\nid = \"q\"\nstep = \"one\"\nkind = \"number\"\nanswer = \"SELECT 1\"\n"
        "question = { en = \"{{change.n}}\", zh = \"{{change.n}}\" }\n";
    CHECK(mistakes(kStep + variant + quiz) == List{"(none)"});
    CHECK(mistakes(kStep + quiz) == List{"14:19 scenario.unknown_number", "14:40 scenario.unknown_number"});
    const Scenario s = scenario::parse_scenario(kStep + variant + quiz, "x.toml");
    CHECK(scenario::number_names(s) == std::set<std::string>{"change.n"});
    CHECK(scenario::variant_of("change.n") == "change");
    CHECK(scenario::variant_of("n").empty());
}
