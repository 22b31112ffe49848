#include <filesystem>
#include <sstream>

#include "app/gui/sandbox/fields.h"
#include "app/gui/sandbox/toml_text.h"
#include "core/base/text_file.h"
#include "tests/folder.h"
#include "tests/sanitizer.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::sandbox;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> lessons() {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(test::source_root() + "/scenarios"))
        if (fs::exists(entry.path() / "scenario.toml")) found.push_back(entry.path() / "scenario.toml");
    return found;
}

/// What a scenario makes happen, as words: two that agree here do the same.
std::string told(const scenario::Scenario& s) {
    std::ostringstream out;
    const auto list = [&](const auto& values) {
        for (const auto& each : values) out << each << ',';
        out << '|';
    };
    const nn::ModelSpec& m = s.model;
    out << m.kind << ' ' << m.dim << ' ' << m.hidden << ' ' << m.layers << ' ' << m.vocab << ' ' << m.seq
        << ' ' << m.heads << ' ' << m.kv_heads << ' ' << m.bias << ' ' << m.tied << ' ' << m.rope_theta << '|'
        << s.model_seed << '|' << fs::path(s.weights).lexically_normal() << '|'
        << fs::path(s.data_file).lexically_normal() << '|' << s.data_kind << ' ' << s.data_samples << ' '
        << s.data_seed << ' ' << s.data_sampler << s.data_shuffle << s.data_drop_last << '|';
    list(s.data_batches);
    out << s.steps << ' ' << s.global_batch << ' ' << s.accumulate << ' ' << s.clip_norm.value_or(-1) << ' '
        << s.micro_batch.value_or(-1) << ' ' << static_cast<int>(s.parallel.recompute) << '|'
        << s.optimizer.kind << ' ' << s.optimizer.lr << ' ' << s.optimizer.momentum << ' '
        << s.optimizer.beta1 << ' ' << s.optimizer.beta2 << ' ' << s.optimizer.eps << ' '
        << s.optimizer.weight_decay << '|';
    list(s.mesh_shape);
    list(s.mesh_names);
    const auto& p = s.parallel;
    out << s.world_size.value_or(-1) << '|' << static_cast<int>(p.data) << ' ' << p.bucket_cap_mb.value_or(-1)
        << ' ' << static_cast<int>(p.algorithm) << ' ' << p.tensor.linear_plan << p.tensor.sequence_parallel
        << p.tensor.loss_parallel << p.zero_redundancy << ' ' << p.fsdp2.cpu_offload
        << p.fsdp2.backward_prefetch_units << '|' << static_cast<int>(p.precision.param)
        << static_cast<int>(p.precision.reduce) << '|' << p.pipeline.shape.has_value() << '|';
    for (const auto& unit : p.units) list(unit);
    list(s.node_of_rank);
    out << s.schedule << '|' << fs::path(s.checkpoint.folder).lexically_normal() << ' ' << s.checkpoint.every
        << ' ' << s.checkpoint.keep << ' ' << s.checkpoint.sharded << ' '
        << fs::path(s.checkpoint.resume).lexically_normal() << '|' << s.evaluation.every << ' '
        << s.evaluation.samples << ' ' << s.evaluation.batch << '|' << s.calls.size() << '|';
    for (const comm::Fault& f : s.faults)
        out << static_cast<int>(f.kind) << ' ' << f.rank << ' ' << f.step << ' ' << f.at.value_or(-1) << ',';
    out << '|' << s.compare.size();
    for (const auto& c : s.compare) out << c.strategy << fs::path(c.path).lexically_normal() << ',';
    return out.str();
}

}  // namespace

TEST_CASE("every lesson's scenario is saved in both forms, and the reader takes it again as the same run") {
    const meshscope::test::Folder folder;
    std::size_t count = 0;
    for (const fs::path& file : lessons()) {
        INFO(file);
        const std::string text = read_text_file(file.string());
        const std::string before = told(scenario::read_scenario(file.string()));
        for (const SaveForm form : {SaveForm::whole, SaveForm::brief}) {
            const std::string saved =
                saved_text(text, form, file.parent_path().string(), folder.path.string());
            const std::string path = folder.write("saved.toml", saved);
            scenario::Scenario again;
            REQUIRE_NOTHROW(again = scenario::read_scenario(path));
            CHECK(told(again) == before);
            CHECK(again.steps_of_lesson.empty());
            CHECK(again.quizzes.empty());
            // Saved once more from there it stays as it is.
            CHECK(saved_text(saved, form, folder.path.string(), folder.path.string()) == saved);
        }
        ++count;
    }
    CHECK(count >= 50);
}

TEST_CASE("every lesson can be edited: its fields hold its values, and an edit and its undo are exact") {
    test::Sample sample(4);
    for (const fs::path& file : lessons()) {
        if (!sample.takes()) continue;
        INFO(file);
        const std::string text = read_text_file(file.string());
        Draft draft(text, file.string());
        CHECK(draft.mistakes().empty());
        for (const FieldGroup& group : fields_of(draft.reading()))
            for (const Field& field : group.fields) {
                INFO(field.key());
                const std::string value = shown(field, draft.reading());
                if (!value.empty()) {
                    const auto same = changes_for(field, value, draft.reading());
                    CHECK(toml::parse(changed_text(text, same)) == toml::parse(text));
                }
                const std::string other =
                    field.kind == FieldKind::words ? std::string(field.words.back()) : "7";
                if (!draft.edit(changes_for(field, other, draft.reading()))) continue;
                // Marked at a key that is on show, or at none.
                for (const Mistake& mistake : draft.mistakes())
                    CHECK(mistake.diagnostic.position.file == file.string());
                CHECK(draft.undo());
                CHECK(draft.text() == text);
            }
    }
}
