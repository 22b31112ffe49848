#include "core/scenario/readers.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/error.h"
#include "core/base/one_process.h"
#include "core/comm/interleaving_scheduler.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

constexpr int64_t kMostCalls = int64_t{1} << 20;
constexpr int64_t kMostMs = 600'000;
constexpr int64_t kMostBit = int64_t{1} << 40;
constexpr std::array<std::string_view, 1> kExpected{"divergence"};
constexpr std::array<std::string_view, 5> kPhases{"setup", "forward", "backward", "optimizer", "evaluation"};

void read_run(const Section& root, Scenario& s) {
    const Section run = root.section("run");
    s.checked = run.boolean("checked");
    s.expects_divergence = run.word("expect", kExpected).has_value();
    if (s.expects_divergence && root.has("call"))
        run.report("expect", {"scenario.expect_without_training", {}});
    s.backend = run.word("backend", kOneProcessBackends).value_or("");
    const auto schedule = run.text("schedule");
    if (!schedule) return;
    try {
        comm::make_scheduler(*schedule);
        s.schedule = *schedule;
    } catch (const InvalidArgument& error) {
        run.report("schedule", error.message());
    }
}

/// Keys that mean something for some kinds only.
void refuse_foreign_keys(const Section& section, comm::FaultKind kind) {
    using comm::FaultKind;
    const std::string word(name(kind));
    if (kind != FaultKind::delay) refuse_for_kind(section, {"ms"}, word);
    if (kind != FaultKind::mismatch) refuse_for_kind(section, {"field"}, word);
    if (kind != FaultKind::corrupt) refuse_for_kind(section, {"bit"}, word);
    if (kind == FaultKind::mismatch || kind == FaultKind::skip || kind == FaultKind::repeat)
        refuse_for_kind(section, {"hop"}, word);
}

/// The restart round that a fault belongs to; nothing: every one.
std::optional<int32_t> read_round(const Section& section) {
    constexpr int64_t kMostRounds = 1'000'000;
    const toml::node* const node = section.node("round");
    if (node == nullptr || node->is_integer())
        return static_cast<int32_t>(section.integer("round", {0, kMostRounds}).value_or(0));
    if (node->value<std::string_view>() == "every") return std::nullopt;
    section.wrong_type("round", "integer or \"every\"", *node);
    return 0;
}

void read_fault(const Section& section, bool mesh_known, bool steps_known, Scenario& s) {
    comm::Fault fault;
    int64_t ranks = 1;
    for (const int64_t n : s.mesh_shape) ranks *= n;
    section.require("kind");
    section.require("rank");
    section.require("step");
    const auto kind = section.word("kind", fault_kinds());
    if (kind) {
        fault.kind = enumerator<comm::FaultKind>(fault_kinds(), *kind);
        refuse_foreign_keys(section, fault.kind);
    }
    const int64_t last_rank = mesh_known ? ranks - 1 : kMostRanks - 1;
    fault.rank = static_cast<int32_t>(section.integer("rank", {0, last_rank}).value_or(0));
    const int64_t last_step = steps_known ? s.steps - 1 : std::numeric_limits<int32_t>::max();
    fault.step = static_cast<int32_t>(section.integer("step", {-1, last_step}).value_or(0));
    fault.round = read_round(section);
    if (const auto phase = section.word("phase", kPhases)) {
        fault.phase = enumerator<Phase>(kPhases, *phase);
        // Set-up is no step, and every step's phases are those of a step.
        if (section.sure("step") && (*fault.phase == Phase::setup) != (fault.step == -1))
            section.report("phase", {"scenario.fault_setup", {{"step", int64_t{fault.step}}}});
    }
    if (const auto at = section.integer("at", {0, kMostCalls})) fault.at = static_cast<int32_t>(*at);
    if (const auto hop = section.integer("hop", {0, kMostCalls})) fault.hop = static_cast<int32_t>(*hop);
    fault.unit = section.text("unit").value_or("");
    fault.rule = section.text("rule").value_or("");
    fault.ms = section.integer("ms", {1, kMostMs}).value_or(fault.ms);
    fault.bit = section.integer("bit", {0, kMostBit});
    if (fault.kind == comm::FaultKind::mismatch && kind) section.require("field");
    if (const auto field = section.word("field", fault_fields()))
        fault.field = enumerator<comm::FaultField>(fault_fields(), *field);
    if (mesh_known && ranks == 1 && kind && fault.kind != comm::FaultKind::kill &&
        fault.kind != comm::FaultKind::delay)
        section.report("kind", {"scenario.fault_alone", {{"kind", *kind}}});
    s.faults.push_back(std::move(fault));
    s.fault_positions.push_back(section.position_of("kind"));
}

}  // namespace

void read_faults(const Section& root, bool mesh_known, Scenario& s) {
    read_run(root, s);
    const bool steps_known = root.section("train").sure("steps");
    for (const Section& section : root.sections("faults")) read_fault(section, mesh_known, steps_known, s);
}

}  // namespace meshscope::scenario
