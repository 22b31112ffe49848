// The products in words.
#include <algorithm>

#include "app/gui/view/format.h"
#include "app/gui/view/matrices_picture.h"
#include "app/gui/view/sheet.h"
#include "app/gui/view/stepping.h"
#include "core/mesh/roles.h"

namespace meshscope::view {
namespace {

using Kind = MatrixStep::Kind;
using Role = MatrixTile::Role;

/// "X [4, 8]", "upᵀ [8, 8], here [:, 0:4]".
std::string told(const Painter& p, const MatrixTile& tile) {
    const std::string part = part_words(tile), whole = shown_name(p, tile) + " " + shape_words(tile);
    return part.empty() ? whole : p.say("view.matrices.here", {arg("matrix", whole), arg("part", part)});
}

/// "0–3".
std::string range(int64_t first, int64_t n) {
    return n == 1 ? std::to_string(first) : std::to_string(first) + "–" + std::to_string(first + n - 1);
}

class Facts {
  public:
    explicit Facts(const Input& input) : in_(input), list_(input), scene_(matrix_scene(input, 2)) {}

    Picture draw() {
        const Painter& p = list_.p;
        if (scene_.empty()) {
            list_.sentence(p.say(no_event_id(in_.trace, scene_.step < 0 ? "view.matrices.none.setup"
                                                                        : "view.matrices.none"),
                                 {arg("step", scene_.step)}),
                           {"empty"});
            return list_.take();
        }
        list_.head(scene_.unit.empty() ? p.say("view.matrices.model") : scene_.unit,
                   "rank " + std::to_string(scene_.rank));
        const MatrixChain& chain = scene_.chain();
        if (chain.before) gathered(chain);
        const MatrixTile* now = &chain.start;
        for (const MatrixStep& step : chain.steps) {
            switch (step.kind) {
                case Kind::product:
                    product(chain, step, *now);
                    break;
                case Kind::map:
                    list_.sentence(p.say("view.matrices.facts.map", {arg("op", step.words)}), id(step));
                    break;
                case Kind::collective:
                    added(step);
                    break;
            }
            now = &step.result;
        }
        if (const std::string why = missing_numbers(p, in_.trace, scene_); !why.empty()) list_.sentence(why);
        return list_.take();
    }

  private:
    Id id(const MatrixStep& step) const { return {"kernel", scene_.rank, step.event}; }

    void product(const MatrixChain& chain, const MatrixStep& step, const MatrixTile& from) {
        const Painter& p = list_.p;
        list_.space(4);
        list_.sentence(told(p, from) + " × " + told(p, *step.factor) + " = " + told(p, step.result), id(step),
                       Token::text);
        if (step.factor->role != Role::weight) {
            list_.sentence(p.say(
                step.result.cut() ? "view.matrices.facts.gradient_part" : "view.matrices.facts.gradient",
                {arg("rank", chain.rank), arg("rows", from.own.columns)}));
            if (has_data_ranks()) list_.sentence(p.say("view.matrices.facts.other_samples"));
            return;
        }
        const MatrixTile& w = *step.factor;
        const std::vector<MessageArg> args{arg("rank", chain.rank),
                                           arg("weight", w.name),
                                           arg("parameter", w.parameter),
                                           arg("columns", range(w.own.column, w.own.columns)),
                                           arg("rows", range(w.own.row, w.own.rows)),
                                           arg("all", w.rows),
                                           arg("n", w.own.rows)};
        switch (cut_of(step)) {
            case FactorCut::columns:
                list_.sentence(p.say(
                    w.transposed ? "view.matrices.facts.columns" : "view.matrices.facts.columns_back", args));
                break;
            case FactorCut::rows:
                list_.sentence(p.say("view.matrices.facts.rows", args));
                break;
            case FactorCut::none:
                list_.sentence(p.say("view.matrices.facts.whole", args));
                break;
        }
        borrowed(step);
    }

    /// Where the rank keeps less than it computed with: what it keeps, and what brought the rest.
    void borrowed(const MatrixStep& step) {
        const auto& record = in_.trace.ranks[static_cast<std::size_t>(scene_.rank)];
        const std::string& parameter = step.factor->parameter;
        int64_t kept = 0;
        trace::StringId unit = 0;
        std::string rows;
        for (const auto& run : record.parameters) {
            if (run.parameter == 0 || in_.trace.text(run.parameter) != parameter) continue;
            unit = run.unit;
            for (const Block& block : blocks_of(run)) {
                kept += block.rows * block.columns;
                rows += (rows.empty() ? "" : ", ") + range(block.row, block.rows);
            }
        }
        if (unit == 0 || kept >= step.factor->own.rows * step.factor->own.columns) return;
        const trace::Event* gather = nullptr;
        for (auto event = record.events.begin() + step.event;
             event != record.events.begin() && gather == nullptr; --event)
            if (event->op == CollectiveOp::all_gather && event->unit == unit &&
                event->kind == trace::EventKind::collective)
                gather = &*event;
        if (gather == nullptr || gather->step != scene_.step) return;
        collective_row(*gather);
        list_.sentence(list_.p.say(
            rows.empty() ? "view.matrices.facts.borrowed_all" : "view.matrices.facts.borrowed",
            {arg("rank", scene_.rank), arg("rows", rows), arg("parameter", parameter),
             arg("in", format_count(gather->in_elements)), arg("out", format_count(gather->out_elements))}));
    }

    void collective_row(const trace::Event& event) {
        std::vector<int64_t> ranks;
        for (const int32_t rank : in_.trace.groups[static_cast<std::size_t>(event.group)].ranks)
            ranks.push_back(rank);
        list_.row(
            op_hue(event.op), std::string(name(event.op)), std::string(name(event.op)),
            format_bytes(event.sent_bytes),
            in_.trace.groups[static_cast<std::size_t>(event.group)].mesh_dim + " " + format_ranks(ranks),
            {"kernel", scene_.rank, event.id});
    }

    void added(const MatrixStep& step) {
        const trace::Event& event = in_.trace.event(scene_.rank, step.event);
        const Painter& p = list_.p;
        const auto members =
            static_cast<int64_t>(in_.trace.groups[static_cast<std::size_t>(event.group)].ranks.size());
        const std::vector<MessageArg> args{
            arg("numbers", format_count(event.in_elements)), arg("ranks", members),
            arg("rows", range(step.result.own.row, step.result.own.rows)), arg("rank", scene_.rank)};
        list_.space(4);
        collective_row(event);
        list_.sentence(p.say(event.op == CollectiveOp::all_reduce ? "view.matrices.facts.all_reduce"
                             : sends_as_formula(event)            ? "view.matrices.facts.reduce_scatter_half"
                                                                  : "view.matrices.facts.reduce_scatter",
                             args));
    }

    /// Whether it sent (n−1)/n of the whole buffer, as a ring does: an all_gather or a reduce_scatter.
    bool sends_as_formula(const trace::Event& event) const {
        const auto formula = byte_formula(in_.trace, event);
        return formula && formula->bytes == event.sent_bytes;
    }

    /// Whether other ranks work on other samples.
    bool has_data_ranks() const {
        const auto& info = in_.trace.info;
        for (std::size_t d = 0; d < info.mesh_names.size() && d < info.mesh_shape.size(); ++d)
            if (const auto role = mesh::role_of(info.mesh_names[d]);
                role && mesh::is_data(*role) && info.mesh_shape[d] > 1)
                return true;
        return false;
    }

    void gathered(const MatrixChain& chain) {
        const trace::Event& event = in_.trace.event(scene_.rank, chain.gather);
        collective_row(event);
        const trace::Event& end = in_.trace.event(scene_.rank, chain.steps.back().event);
        const bool scatters =
            end.kind == trace::EventKind::collective && end.op == CollectiveOp::reduce_scatter;
        const bool half = scatters && end.in_elements == event.out_elements && end.dtype == event.dtype &&
                          sends_as_formula(event) && sends_as_formula(end);
        list_.sentence(list_.p.say(
            half ? "view.matrices.facts.all_gather_half" : "view.matrices.facts.all_gather",
            {arg("rank", scene_.rank), arg("rows", chain.before->own.rows), arg("all", chain.start.rows)}));
    }

    const Input& in_;
    FactList list_;
    MatrixScene scene_;
};

}  // namespace

Picture matrices_facts(const Input& input) {
    return Facts(input).draw();
}

}  // namespace meshscope::view
