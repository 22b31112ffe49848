#include "app/gui/sandbox/fields.h"

#include <algorithm>
#include <set>

#include "app/gui/sandbox/toml_text.h"
#include "core/scenario/keys.h"
#include "core/scenario/words.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::sandbox;

namespace {

const std::string kFile =
    "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 3\nglobal_batch = 8\n"
    "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n"
    "[parallel]\ndata = \"fsdp2\"\n";

Field field(const std::string& key) {
    for (const Field& each : all_fields())
        if (each.key() == key) return each;
    FAIL("no field " << key);
    return {};
}

bool offered(const Draft& draft, const std::string& key) {
    for (const FieldGroup& group : fields_of(draft.reading()))
        for (const Field& each : group.fields)
            if (each.key() == key) return true;
    return false;
}

std::string as_toml(const std::string& key, const std::string& typed) {
    const Draft draft(kFile, "");
    const auto changes = changes_for(field(key), typed, draft.reading());
    return changes.empty() ? "nothing" : changes.back().value;
}

}  // namespace

TEST_CASE("every field is a key of the format, and each stands once") {
    std::set<std::string> seen;
    for (const Field& each : all_fields()) {
        INFO(each.key());
        CHECK(seen.insert(each.key()).second);
        const auto keys = scenario::keys();
        CHECK(std::any_of(keys.begin(), keys.end(), [&](const scenario::Key& key) {
            return key.table == each.table && key.name == each.name;
        }));
    }
    CHECK(seen.size() > 50);
}

TEST_CASE("what is typed becomes a value of the key's type") {
    CHECK(as_toml("mesh.shape", "4, 2") == "[4, 2]");
    CHECK(as_toml("mesh.shape", "[4,2]") == "[4, 2]");
    CHECK(as_toml("mesh.shape", "4x2") == "[4, 2]");
    CHECK(as_toml("mesh.shape", " 4 × 2 ") == "[4, 2]");
    CHECK(as_toml("mesh.names", "replicate shard") == "[\"replicate\", \"shard\"]");
    CHECK(as_toml("mesh.names", "\"a\", \"b\"") == "[\"a\", \"b\"]");
    CHECK(as_toml("train.steps", "12") == "12");
    CHECK(as_toml("optimizer.lr", ".5") == "0.5");
    CHECK(as_toml("optimizer.lr", "1e-3") == "1e-3");
    CHECK(as_toml("parallel.reshard_after_forward", "false") == "false");
    CHECK(as_toml("parallel.reshard_after_forward", "[true, 2]") == "[true, 2]");
    CHECK(as_toml("parallel.algorithm", "tree") == "\"tree\"");
    CHECK(as_toml("train.clip_norm", "") == "nothing");
    CHECK(as_toml("train.steps", "") == "");
}

TEST_CASE("a number keeps the exponent that people write") {
    for (const auto& [typed, kept] : {std::pair<std::string, std::string>{"1e9", "1e9"},
                                      {"1e+09", "1e9"},
                                      {"1e-7", "1e-7"},
                                      {"1.5e300", "1.5e300"},
                                      {"1e-300", "1e-300"},
                                      {"0.1", "0.1"}}) {
        INFO(typed);
        CHECK(value_text(*parse_value(typed)) == kept);
    }
}

TEST_CASE("each strategy has its own keys as fields, and a table's only beside what it is for") {
    const auto of = [](const std::string& data, const std::string& more = "") {
        return Draft(
            "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 3\nglobal_batch = 8\n"
            "[mesh]\nshape = [2]\n[parallel]\ndata = \"" +
                data + "\"\n" + more,
            "");
    };
    CHECK(offered(of("fsdp2"), "parallel.reshard_after_forward"));
    CHECK_FALSE(offered(of("fsdp1"), "parallel.reshard_after_forward"));
    CHECK(offered(of("fsdp1"), "parallel.mixed_precision.param"));
    CHECK(offered(of("zero3"), "parallel.mixed_precision.param"));
    CHECK_FALSE(offered(of("dp"), "parallel.mixed_precision.param"));
    CHECK(offered(of("zero3"), "parallel.wrap"));
    CHECK_FALSE(offered(of("ddp"), "parallel.units"));
    CHECK_FALSE(offered(of("ddp"), "parallel.powersgd.seed"));
    CHECK(offered(of("ddp", "ddp_hook = \"powersgd\"\n"), "parallel.powersgd.seed"));
    for (const auto& [data, kind] :
         {std::pair{"fsdp2", FieldKind::raw}, std::pair{"fsdp1", FieldKind::words}})
        for (const FieldGroup& group : fields_of(of(data).reading()))
            for (const Field& each : group.fields)
                if (each.key() == "parallel.backward_prefetch") CHECK(each.kind == kind);
}

TEST_CASE("what is of another type is left to the engine's reader, which says so at the field") {
    for (const auto& [key, typed] : {std::pair<std::string, std::string>{"train.steps", "many"},
                                     {"train.steps", "1.5"},
                                     {"mesh.shape", "2, two"},
                                     {"mesh.shape", "2, x"},
                                     {"mesh.shape", "2 x"},
                                     {"mesh.shape", "2x"},
                                     {"mesh.shape", "x2"},
                                     {"mesh.shape", "2,,2"},
                                     {"mesh.shape", "2, 2,"},
                                     {"mesh.shape", "[2, 2"},
                                     {"mesh.shape", "(2), 2"},
                                     {"mesh.shape", "2.2"},
                                     {"mesh.names", "replicate,, shard"},
                                     {"mesh.names", "\"replicate, shard"},
                                     {"mesh.names", "replicate[shard]"},
                                     {"train.steps", "2 # two"},
                                     {"train.steps", "2, 2"},
                                     {"optimizer.lr", "0.1 0.2"},
                                     {"optimizer.lr", "fast"},
                                     {"parallel.reshard_after_forward", "perhaps"},
                                     {"train.steps", "3\n[faults]"},
                                     {"train.steps", "\"quo\\te"}}) {
        INFO(key << " = " << typed);
        Draft draft(kFile, "f.toml");
        draft.edit(changes_for(field(key), typed, draft.reading()));
        CHECK_FALSE(draft.mistakes_at(key).empty());
        CHECK(shown(field(key), draft.reading()) == typed);  // it stays, to be mended
        draft.undo();
        CHECK(draft.mistakes().empty());
    }
}

TEST_CASE("a field shows what stands in the file, and takes it back unchanged") {
    const Draft draft(kFile, "");
    CHECK(shown(field("mesh.shape"), draft.reading()) == "2, 2");
    CHECK(shown(field("mesh.names"), draft.reading()) == "replicate, shard");
    CHECK(shown(field("parallel.data"), draft.reading()) == "fsdp2");
    CHECK(shown(field("optimizer.lr"), draft.reading()).empty());
    CHECK(fallback(field("optimizer.lr")) == "0.1");
    CHECK(fallback(field("parallel.algorithm")) == "ring");
    CHECK(fallback(field("mesh.names")).empty());  // by strategy
    for (const FieldGroup& group : fields_of(draft.reading()))
        for (const Field& each : group.fields) {
            INFO(each.key());
            Draft same = draft;
            const std::string value = shown(each, draft.reading());
            if (!value.empty()) CHECK_FALSE(same.edit(changes_for(each, value, draft.reading())));
        }
}

TEST_CASE("fields come and go with the model and the strategy, but what the file says is always there") {
    Draft draft(kFile, "");
    CHECK(offered(draft, "parallel.reshard_after_forward"));
    CHECK_FALSE(offered(draft, "parallel.bucket_cap_mb"));
    CHECK_FALSE(offered(draft, "model.layers"));
    CHECK_FALSE(offered(draft, "faults.rank"));
    draft.edit({{"parallel.reshard_after_forward", "false"}});
    draft.edit({{"parallel.data", "\"ddp\""}, {"model.kind", "\"mlp\""}});
    CHECK(offered(draft, "parallel.bucket_cap_mb"));
    CHECK(offered(draft, "model.layers"));
    // Left over from fsdp2: it must be seen to be taken away.
    CHECK(offered(draft, "parallel.reshard_after_forward"));
    CHECK_FALSE(draft.mistakes_at("parallel.reshard_after_forward").empty());
}

TEST_CASE(
    "a model may be a configuration: chosen as a word, typed on as a text, with the fields of what it "
    "holds") {
    Draft draft(kFile, test::golden_folder() + "/models/here.toml");
    const auto kind_field = [&] {
        for (const FieldGroup& group : fields_of(draft.reading()))
            for (const Field& each : group.fields)
                if (each.key() == "model.kind") return each;
        return Field{};
    };
    CHECK(kind_field().kind == FieldKind::words);
    for (const std::string_view known : scenario::model_kinds())
        CHECK(std::ranges::find(kind_field().words, known) != kind_field().words.end());
    CHECK(kind_field().words.back() == "hf:config.json");
    draft.edit({{"model.kind", "\"hf:config.json\""}});
    CHECK(kind_field().kind == FieldKind::text);
    CHECK_FALSE(draft.mistakes_at("model.kind").empty());  // not there
    draft.edit(changes_for(kind_field(), "hf:gpt2/config.json", draft.reading()));
    CHECK(draft.mistakes_at("model.kind").empty());
    CHECK(offered(draft, "model.bias"));
    CHECK_FALSE(offered(draft, "model.kv_heads"));
    draft.edit(changes_for(kind_field(), "hf:qwen2_bias/config.json", draft.reading()));
    CHECK(offered(draft, "model.kv_heads"));
}

TEST_CASE("a fault is chosen by its kind and stands somewhere at once, without a kind it is gone") {
    Draft draft(kFile, "");
    draft.edit(changes_for(field("faults.kind"), "kill", draft.reading()));
    CHECK(draft.mistakes().empty());
    REQUIRE(draft.reading().scenario);
    CHECK(draft.reading().scenario->faults.size() == 1);
    CHECK(offered(draft, "faults.rank"));
    draft.edit(changes_for(field("faults.kind"), "", draft.reading()));
    CHECK(draft.reading().scenario->faults.empty());
    draft.undo();
    draft.undo();
    CHECK(draft.text() == kFile);
}

TEST_CASE("an algorithm that is a file is typed, a built-in one is chosen") {
    const auto kind = [](const std::string& value) {
        const Draft draft(kFile + "algorithm = \"" + value + "\"\n", "");
        for (const FieldGroup& group : fields_of(draft.reading()))
            for (const Field& each : group.fields)
                if (each.key() == "parallel.algorithm") return each.kind;
        FAIL("no field");
        return FieldKind::raw;
    };
    CHECK(kind("ring") == FieldKind::words);
    CHECK(kind("my_ring.toml") == FieldKind::text);
    CHECK(kind("allreduce.xml") == FieldKind::text);
}

TEST_CASE("kernels that only predictions have are marked at their key, and no run of them is offered") {
    const std::string gpt =
        "format = 1\n[model]\nkind = \"gpt\"\ndim = 8\nhidden = 8\nlayers = 1\nvocab = 16\nseq = 4\n"
        "heads = 2\n[train]\nsteps = 1\nglobal_batch = 2\n";
    CHECK_FALSE(offered(Draft(gpt, ""), "memory.ops"));
    Draft draft(gpt + "[memory]\nops = \"pytorch\"\n", "f.toml");
    CHECK(offered(draft, "memory.ops"));
    const auto mistakes = draft.mistakes_at("memory.ops");
    REQUIRE(mistakes.size() == 1);
    CHECK(mistakes[0].diagnostic.message.id == "run.memory_ops");
    CHECK(mistakes[0].diagnostic.position.line == 14);
    CHECK(mistakes[0].diagnostic.position.column == 7);
    CHECK_FALSE(draft.reading().scenario);
    draft.edit(changes_for(field("memory.ops"), "fused", draft.reading()));
    CHECK(draft.mistakes().empty());
    CHECK(draft.reading().scenario);
}
