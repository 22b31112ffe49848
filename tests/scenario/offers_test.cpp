#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/scenario/scenario.h"
#include "tests/parallel/property/draw.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

std::vector<Diagnostic> found_in(const std::string& text) {
    try {
        scenario::parse_scenario(text, "drawn.toml");
    } catch (const InputError& error) {
        return error.diagnostics();
    }
    return {};
}

/// The changes that a hint offers, one by one.
std::vector<std::string> offered(const Message& hint) {
    std::vector<std::string> changes;
    if (!hint.find("changes")) return changes;
    std::string all = to_text(*hint.find("changes")) + "; ";
    for (std::size_t i = 0, end = 0; (end = all.find("; ", i)) != std::string::npos; i = end + 2)
        changes.push_back(all.substr(i, end - i));
    return changes;
}

/// The scenario as a user makes it who writes what was offered.
std::string with(const std::string& text, const std::string& change) {
    toml::table root = toml::parse(text);
    const toml::table edits = toml::parse("edits = { " + change + " }");
    for (const auto& [name, keys] : *edits["edits"].as_table()) {
        if (!root.get(name)) root.insert(name, toml::table{});
        for (const auto& [key, value] : *keys.as_table())
            value.visit([&, k = key](const auto& node) { root[name].as_table()->insert_or_assign(k, node); });
    }
    std::ostringstream written;
    written << root;
    return written.str();
}

/// Whether a change sets that key: "mesh.shape = [4], mesh.names = [..]" sets mesh.names.
bool writes(const std::string& change, const std::string& key) {
    return (", " + change).find(", " + key + " = ") != std::string::npos;
}

/// How often each rule is broken, by its id and the key that breaks it.
std::map<std::string, int> rules(const std::vector<Diagnostic>& found) {
    std::map<std::string, int> counts;
    for (const Diagnostic& d : found) {
        const MessageValue* const key = d.message.find("key");
        ++counts[d.message.id + (key ? " " + to_text(*key) : "")];
    }
    return counts;
}

/// What is wrong with the offers of a scenario; counts them.
std::string bad_offers(const std::string& text, int& offers) {
    std::string wrong;
    const std::vector<Diagnostic> before = found_in(text);
    for (const Diagnostic& refused : before) {
        const std::vector<std::string> changes = offered(refused.hint);
        const MessageValue* const told = refused.hint.find("n");
        if (!changes.empty() && (!told || to_text(*told) != std::to_string(changes.size())))
            wrong += "miscounted: " + to_text(*refused.hint.find("changes")) + "\n";
        for (const std::string& change : changes) {
            // A key that is taken away is not written; it goes with wrap and with 1F1B.
            if (change == "parallel.wrap = \"layers\"" || change == "parallel.schedule = \"1F1B\"") continue;
            ++offers;
            auto allowed = rules(before);
            --allowed[rules({refused}).begin()->first];
            const std::vector<Diagnostic> after = found_in(with(text, change));
            // What is written must not be refused, whatever else the file says.
            for (const Diagnostic& d : after)
                if (const MessageValue* const key = d.message.find("key");
                    key && writes(change, to_text(*key)))
                    wrong.append(change).append(" is refused by ").append(d.message.id) += "\n";
            for (const auto& [rule, count] : rules(after))
                if (count > allowed[rule])
                    wrong.append(change)
                        .append(" for ")
                        .append(refused.message.id)
                        .append(" brings ")
                        .append(rule) += "\n";
        }
    }
    return wrong;
}

/// A drawn scenario with one number changed, which may be right no more.
std::string drawn(uint64_t seed) {
    std::string what;
    if (seed % 3 == 0) return test::draw_impossible(seed, what).to_toml();
    if (seed % 3 == 1) return test::draw_wild(seed).to_toml();
    test::Case c = test::draw_case(seed);
    test::Dice dice(seed + 1'000'000);
    const auto key =
        dice.one_of<std::string>({"heads", "kv_heads", "dim", "seq", "vocab", "hidden", "layers"});
    if (dice.chance(50) && !c.model.get(key).empty())
        c.model.set(key, dice.between(1, 40));
    else if (dice.chance(50))
        c.train.set("global_batch", dice.between(1, 40));
    else
        c.shape[static_cast<std::size_t>(dice.below(static_cast<int64_t>(c.shape.size())))] =
            dice.between(1, 9);
    return c.to_toml();
}

}  // namespace

TEST_CASE("heads that are offered pass every rule") {
    const auto text = [](int heads) {
        return "format = 1\n[model]\nkind = \"llama\"\ndim = 112\nhidden = 56\nlayers = 1\nheads = " +
               std::to_string(heads) +
               "\nkv_heads = 8\nvocab = 56\nseq = 8\n[train]\nsteps = 1\nglobal_batch = 2\n"
               "[mesh]\nshape = [8]\nnames = [\"tp\"]\n";
    };
    // 112 elements in pairs on 8 ranks: 2·heads divides 112, 8 divides heads.
    for (const int heads : {16, 28}) {
        const std::vector<Diagnostic> found = found_in(text(heads));
        const auto refused = std::ranges::find_if(found, [](const Diagnostic& d) {
            return d.message.id == "scenario.odd_head_dim" || d.message.id == "scenario.tp_does_not_divide" ||
                   d.message.id == "scenario.heads" || d.message.id == "scenario.kv_heads";
        });
        REQUIRE(refused != found.end());
        INFO(heads << " " << describe(refused->hint));
        int offers = 0;
        CHECK(bad_offers(text(heads), offers) == "");
        CHECK(offers > 0);
    }
    CHECK(
        offered(found_in(text(16)).at(0).hint) ==
        std::vector<std::string>{"model.heads = 8", "model.heads = 56", "model.dim = 96", "model.dim = 128"});
    CHECK(found_in(text(8)).empty());
    CHECK(found_in(text(56)).empty());
}

TEST_CASE("what two rules refuse of one key is told once, and what is offered passes both") {
    for (const char* attention : {"ulysses", "allgather"})
        for (const auto& [heads, kv_heads] : {std::pair{12, 3}, std::pair{12, 6}, std::pair{6, 6}}) {
            const std::string text =
                "format = 1\n[model]\nkind = \"llama\"\ndim = 48\nhidden = 48\nlayers = 1\nheads = " +
                std::to_string(heads) + "\nkv_heads = " + std::to_string(kv_heads) +
                "\nvocab = 48\nseq = 8\n[train]\nsteps = 1\nglobal_batch = 4\n"
                "[mesh]\nshape = [2, 2]\nnames = [\"cp\", \"tp\"]\n[parallel]\ncp = \"" +
                attention + "\"\n";
            std::map<std::string, int> told;
            for (const Diagnostic& d : found_in(text)) ++told[to_text(*d.message.find("key"))];
            INFO(text);
            for (const auto& [key, times] : told) CHECK(times == 1);
            int offers = 0;
            CHECK(bad_offers(text, offers) == "");
            CHECK((offers > 0) == !told.empty());
        }
}

TEST_CASE("what no single value mends is said with the rule that is in the way") {
    const std::string text =
        "format = 1\n[model]\nkind = \"gpt\"\ndim = 8\nhidden = 12\nlayers = 1\nheads = 4\nvocab = 12\nseq = "
        "4\n"
        "[train]\nsteps = 1\nglobal_batch = 7\n[mesh]\nshape = [2]\nnames = [\"replicate\"]\n"
        "[parallel]\ndata = \"ddp\"\ncp = \"ulysses\"\n";
    const std::vector<Diagnostic> found = found_in(text);
    const auto refused = std::ranges::find_if(
        found, [](const Diagnostic& d) { return d.message.id == "scenario.key_needs_dim"; });
    REQUIRE(refused != found.end());
    CHECK(offered(refused->hint) ==
          std::vector<std::string>{"mesh.shape = [2, 2], mesh.names = [\"replicate\", \"cp\"]"});
    const std::string toy =
        "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 8\n[parallel]\ncp = "
        "\"ulysses\"\n";
    const std::vector<Diagnostic> none = found_in(toy);
    REQUIRE(none.size() == 1);
    CHECK(none[0].hint.id == "scenario.hint.no_offer");
    CHECK(to_text(*none[0].hint.find("cause.id")) == "scenario.cp_needs_tokens");
}

TEST_CASE("whatever a drawn refusal offers mends its mistake and brings no other") {
    int offers = 0, refused = 0;
    for (uint64_t seed = 1; seed <= (test::kSanitizer ? 150 : 1500); ++seed) {
        const std::string text = drawn(seed);
        const int before = offers;
        const std::string wrong = bad_offers(text, offers);
        refused += offers > before;
        INFO("seed " << seed << "\n" << text << wrong);
        CHECK(wrong.empty());
    }
    CHECK(refused > (test::kSanitizer ? 20 : 200));
}

TEST_CASE("a word or key that was probably meant is tried against every rule, as numbers are") {
    const auto hint_of = [](const std::string& text) {
        const std::vector<Diagnostic> found = found_in(text);
        REQUIRE(found.size() == 1);
        return found[0].hint;
    };
    const auto says = [](const Message& hint, const char* name) {
        const MessageValue* const value = hint.find(name);
        return value ? to_text(*value) : "";
    };
    const auto calls = [](const std::string& call) {
        return "format = 1\n[mesh]\nshape = [4]\n[[call]]\n" + call;
    };
    const Message passes = hint_of(calls("op = \"reduce_scater\"\nelements = 8\n"));
    CHECK(passes.id == "scenario.hint.did_you_mean");
    CHECK(says(passes, "guess") == "reduce_scatter");
    // 7 elements are not four parts: the word alone would be refused next.
    const Message then = hint_of(calls("op = \"reduce_scater\"\nelements = 7\n"));
    CHECK(then.id == "scenario.hint.did_you_mean_then");
    CHECK(says(then, "guess") == "reduce_scatter");
    CHECK(says(then, "cause.id") == "scenario.call_parts");
    // Two words are as near; only one of them works on a mesh of one dim.
    const auto trained = [](const std::string& rest) {
        return "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 8\n" + rest;
    };
    const Message key = hint_of(trained("stepz = 2\n"));
    CHECK(key.id == "scenario.hint.key_is_there");
    CHECK(says(hint_of(trained("recomput = \"full\"\n")), "guess") == "recompute");
    // A key under its right name has its value's mistake still.
    const Message wrong = hint_of(trained("recomput = \"sometimes\"\n"));
    CHECK(wrong.id == "scenario.hint.did_you_mean_then");
    CHECK(says(wrong, "cause.id") == "scenario.unknown_word");
    // A key of another table.
    CHECK(hint_of(trained("lr = 0.1\n")).id == "scenario.hint.key_of_table");
    CHECK(hint_of(trained("lr = -1\n")).id == "scenario.hint.key_of_table_then");
    // An element of a list, which is tried alone.
    const auto adapted = [](const std::string& targets) {
        return "format = 1\n[model]\nkind = \"gpt\"\ndim = 8\nhidden = 8\nlayers = 1\nheads = 2\nvocab = "
               "8\nseq = "
               "4\nlora_rank = 2\nlora_targets = [" +
               targets + "]\n[train]\nsteps = 1\nglobal_batch = 2\n";
    };
    CHECK(says(hint_of(adapted("\"wq\", \"wvv\"")), "guess") == "wv");
    CHECK(says(hint_of(adapted("\"query\"")), "known") == "wq, wk, wv, wo, up, down");
    std::string many;
    for (int i = 0; i < 5000; ++i) many += "\"wx\", ";
    CHECK(found_in(adapted(many)).size() == 5000);  // in a moment
    // Of all the words those that this mesh takes.
    const Message known = hint_of(
        trained("[mesh]\nshape = [2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"quite another\"\n"));
    CHECK(known.id == "scenario.hint.known_here");
    const std::string words = ", " + says(known, "known") + ",";
    CHECK(words.find(", ddp,") != std::string::npos);
    CHECK(words.find(", fsdp2,") == std::string::npos);
}

TEST_CASE("where a list stands in the place of a table, a key that belongs there is told all the same") {
    const auto found =
        found_in("steps = 3\nformat = 1\n[model]\nkind = \"toy\"\n[[train]]\nglobal_batch = 4\n");
    REQUIRE(!found.empty());
    CHECK(std::ranges::any_of(
        found, [](const Diagnostic& each) { return each.message.id == "scenario.unknown_key"; }));
}
