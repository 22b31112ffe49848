#include "app/gui/view/matrices.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>

#include "app/gui/view/operands.h"

namespace meshscope::view {
namespace {

using Kind = MatrixStep::Kind;
using Role = MatrixTile::Role;

/// Finds the chains of one pass, event by event.
class Chains {
  public:
    Chains(const trace::Trace& trace, int32_t rank)
        : trace_(trace), record_(trace.ranks[static_cast<std::size_t>(rank)]), rank_(rank) {
        constexpr std::string_view kWeight = ".weight";
        for (const trace::ParameterRun& run : record_.parameters) {
            std::string_view name = trace_.text(run.parameter);
            if (run.parameter == 0 || !name.ends_with(kWeight) || run.n_rows * run.n_columns <= 0) continue;
            name.remove_suffix(kWeight.size());
            const trace::ParameterRun*& kept = runs_[name];
            if (kept == nullptr || kept->padding != 0) kept = &run;
        }
    }

    void take(const trace::Event& event) {
        std::string_view name = trace_.text(event.name);
        constexpr std::string_view kAgain = ".recompute";
        if (name.ends_with(kAgain)) name.remove_suffix(kAgain.size());
        if (event.kind == trace::EventKind::collective) return collective(event);
        if (name == "linear") return product(event, "x", "y", true);
        if (name == "linear.input_grad") return product(event, "dy", "dx", false);
        if (name == "linear.weight_grad") return weight_grad(event);
        if (name == "gelu_tanh" || name == "gelu" || name == "relu")
            return map(event, std::string(name), "x", "y");
        if (name == "gelu_tanh.backward" || name == "gelu.backward" || name == "relu.backward")
            return map(event, std::string(name.substr(0, name.find('.'))) + "'", "dy", "dx");
        if (name == "silu_mul") return map(event, "silu ⊙", "up", "y");
        if (name == "bias") return map(event, "+ bias", "a", "out");
        if (event.stream == Stream::compute && !moves_numbers(name)) broken_ = true;
    }

    std::vector<MatrixChain> give() {
        name_tiles();
        return std::move(chains_);
    }

  private:
    /// Copies keep a chain together.
    static bool moves_numbers(std::string_view name) {
        return name.starts_with("sp.") || name.find("copy") != std::string_view::npos ||
               name.find("chunk_cat") != std::string_view::npos || name == "bias.backward" ||
               name == "grad_sum" || name.ends_with("weight_grad");
    }

    Operand read(const trace::Event& event, std::string_view which) const {
        return operand_of(trace_, rank_, event.id, which, trace::SnapshotKind::input);
    }
    Operand written(const trace::Event& event, std::string_view which) const {
        return operand_of(trace_, rank_, event.id, which, trace::SnapshotKind::output);
    }

    /// What this rank keeps of a module's weight: the box that tensor parallelism left to it.
    const trace::ParameterRun* run_of(const trace::Event& event) const {
        const auto found = runs_.find(trace_.text(event.unit));
        return found == runs_.end() ? nullptr : found->second;
    }

    /// A weight [out, in] with its box, whole [out, in] and this rank's part.
    struct Weight {
        MatrixTile tile;  ///< as the parameter stands, not transposed
        bool known = false;
    };
    Weight weight(const trace::Event& event, const Operand& held) const {
        const trace::ParameterRun* const run = run_of(event);
        Weight w;
        w.tile.role = Role::weight;
        w.tile.name = last_part(trace_.text(event.unit));
        w.tile.parameter = std::string(trace_.text(event.unit)) + ".weight";
        const bool agrees =
            run != nullptr && (!held.known() || (held.rows == run->n_rows && held.columns == run->n_columns));
        if (agrees) {
            w.tile.rows = run->rows;
            w.tile.columns = run->columns;
            w.tile.own = {run->first_row, run->first_column, run->n_rows, run->n_columns};
        } else if (held.known()) {
            w.tile.rows = held.rows;
            w.tile.columns = held.columns;
            w.tile.own = {0, 0, held.rows, held.columns};
        } else {
            return w;
        }
        w.tile.numbers = held.numbers;
        w.known = true;
        return w;
    }

    static MatrixTile transposed(const MatrixTile& tile) {
        MatrixTile t = tile;
        t.name += "ᵀ";
        t.transposed = !tile.transposed;
        std::swap(t.rows, t.columns);
        t.own = {tile.own.column, tile.own.row, tile.own.columns, tile.own.rows};
        if (!tile.numbers.empty())
            for (int64_t i = 0; i < t.own.rows; ++i)
                for (int64_t k = 0; k < t.own.columns; ++k)
                    t.numbers[static_cast<std::size_t>(i * t.own.columns + k)] =
                        tile.numbers[static_cast<std::size_t>(k * t.own.rows + i)];
        return t;
    }

    /// All rows, and of `columns` those of the part.
    static MatrixTile activation(Operand held, int64_t columns, int64_t first, int64_t n) {
        MatrixTile tile;
        tile.rows = held.rows;
        const bool part = held.columns == n;
        tile.columns = part ? columns : held.columns;
        tile.own = {0, part ? first : 0, held.rows, held.columns};
        tile.numbers = std::move(held.numbers);
        return tile;
    }

    /// The rows of a product of which only its operations are known.
    static int64_t rows_of(const trace::Event& event, const Block& own) {
        const int64_t each = 2 * own.rows * own.columns;
        return each > 0 ? event.flops / each : 0;
    }

    /// Does a product that reads this go on with what the chain gave last?
    bool goes_on(const Operand& held) const {
        if (chains_.empty() || !open_ || products_ >= 2) return false;
        const MatrixChain& chain = chains_.back();
        const MatrixStep& last = chain.steps.back();
        if (last.kind == Kind::collective) return false;
        if (last.result.own.rows != held.rows || last.result.own.columns != held.columns) return false;
        if (!held.numbers.empty() && !last.result.numbers.empty()) return held.numbers == last.result.numbers;
        return last.kind == Kind::map && !broken_;
    }

    void product(const trace::Event& event, const char* in, const char* out, bool forward) {
        const Weight w = weight(event, read(event, "weight"));
        if (!w.known) return;
        const MatrixTile factor = forward ? transposed(w.tile) : w.tile;
        Operand x = read(event, in), y = written(event, out);
        if (!x.known()) x = {rows_of(event, factor.own), factor.own.rows, {}};
        if (!y.known()) y = {x.rows, factor.own.columns, {}};
        if (!x.known() || !y.known()) return;
        if (!goes_on(x)) {
            begin(activation(x, factor.rows, factor.own.row, factor.own.rows));
            if (gathered_elements_ == x.elements() && gathered_ >= 0) was_gathered(chains_.back());
        }
        MatrixStep step{Kind::product, event.id, "", factor,
                        activation(std::move(y), factor.columns, factor.own.column, factor.own.columns)};
        if (factor.own.rows < factor.rows) step.result.role = Role::partial_sum;
        const Operand bias = read(event, "bias");
        if (bias.known()) {
            step.words = "+ b";
            step.bias = bias.numbers;
        }
        chains_.back().steps.push_back(std::move(step));
        ++products_;
        broken_ = false;
    }

    /// dW = dYᵀ · X stands alone; the way back goes on beside it.
    void weight_grad(const trace::Event& event) {
        const Weight w = weight(event, written(event, "dw"));
        if (!w.known) return;
        Operand dy = read(event, "dy"), x = read(event, "x");
        if (!dy.known()) dy = {rows_of(event, w.tile.own), w.tile.own.rows, {}};
        if (!x.known()) x = {dy.rows, w.tile.own.columns, {}};
        if (!dy.known() || !x.known()) return;
        MatrixChain chain;
        chain.rank = rank_;
        chain.start = transposed(activation(std::move(dy), w.tile.rows, w.tile.own.row, w.tile.own.rows));
        chain.start.transposed = false;
        chain.start.name = "dYᵀ";
        MatrixStep step{Kind::product, event.id, "",
                        activation(std::move(x), w.tile.columns, w.tile.own.column, w.tile.own.columns),
                        w.tile};
        step.factor->name = "X";
        step.result.name = "d" + w.tile.name;
        step.result.role = Role::activation;
        step.result.parameter.clear();
        chain.steps.push_back(std::move(step));
        // Before the chain that goes on, so that that one stays the last.
        const auto at = open_ && !chains_.empty() ? chains_.end() - 1 : chains_.end();
        chains_.insert(at, std::move(chain));
    }

    void map(const trace::Event& event, std::string words, const char* in, const char* out) {
        // What follows a sum, its bias above all, is no part of why it is needed.
        if (chains_.empty() || !open_ || chains_.back().steps.back().kind == Kind::collective) return;
        const MatrixTile& now = chains_.back().steps.back().result;
        const Operand x = read(event, in);
        const bool same = x.known()
                              ? x.elements() == now.own.rows * now.own.columns &&
                                    (x.numbers.empty() || now.numbers.empty() || x.numbers == now.numbers)
                              : !broken_;
        if (!same) return;
        MatrixTile result = now;
        result.numbers = written(event, out).numbers;
        result.role = Role::activation;
        chains_.back().steps.push_back({Kind::map, event.id, std::move(words), std::nullopt, result});
    }

    void collective(const trace::Event& event) {
        const std::string_view rule = trace_.text(event.rule);
        const bool of_activations = rule.starts_with("tp.") || rule.starts_with("sp.") ||
                                    rule.starts_with("recompute.tp.") || rule.starts_with("recompute.sp.");
        if (!of_activations) return;
        if (event.op == CollectiveOp::all_gather) {
            gathered_ = event.id;
            gathered_elements_ = event.out_elements;
            return;
        }
        if (event.op != CollectiveOp::all_reduce && event.op != CollectiveOp::reduce_scatter) return;
        if (chains_.empty() || !open_) return;
        const MatrixTile& now = chains_.back().steps.back().result;
        const int64_t columns = now.own.columns;
        if (now.own.rows * columns != event.in_elements || columns <= 0) return;
        MatrixTile result;
        result.role = Role::sum;
        result.rows = now.own.rows;
        result.columns = columns;
        result.own = {0, 0, now.own.rows, columns};
        if (event.op == CollectiveOp::reduce_scatter) {
            result.first_in_buffer = place_in_group(event) * event.out_elements;
            result.own.rows = event.out_elements / columns;
            // Its numbers tell which rows of the partial sum the rank's piece of the buffer was made of; else
            // the rows that it gave to the all_gather before are those it gets back.
            MatrixTile piece = result;
            piece.numbers = given_to(event, result.first_in_buffer, event.out_elements);
            find_rows(piece, now);
            const auto& before = chains_.back().before;
            if (piece.rows_in_all == 0) {
                result.row_places = piece.row_places;
                result.own.row = piece.own.row;
            } else if (before && before->rows == result.rows && before->own.rows == result.own.rows &&
                       before->rows_in_all == 0) {
                result.row_places = before->row_places;
                result.own.row = before->own.row;
            } else {
                part_alone(result);
            }
        }
        const auto range = std::ranges::equal_range(record_.snapshots, event.id, {}, &trace::Snapshot::event);
        for (const trace::Snapshot& s : range)
            if (s.kind == trace::SnapshotKind::output && s.values >= 0)
                result.numbers.assign(record_.values.begin() + s.values,
                                      record_.values.begin() + s.values + s.elements);
        chains_.back().steps.push_back(
            {Kind::collective, event.id, std::string(name(event.op)), std::nullopt, std::move(result)});
    }

    /// Numbers [first, first + n) of what the rank put into a collective; none where they were not kept.
    std::vector<float> given_to(const trace::Event& event, int64_t first, int64_t n) const {
        const auto range = std::ranges::equal_range(record_.snapshots, event.id, {}, &trace::Snapshot::event);
        for (const trace::Snapshot& s : range)
            if (s.kind == trace::SnapshotKind::input && s.values >= 0 && first + n <= s.elements)
                return {record_.values.begin() + s.values + first,
                        record_.values.begin() + s.values + first + n};
        return {};
    }

    int64_t place_in_group(const trace::Event& event) const {
        const auto& ranks = trace_.groups[static_cast<std::size_t>(event.group)].ranks;
        return std::ranges::find(ranks, rank_) - ranks.begin();
    }

    /// What this rank gave to the all_gather that made the chain's first matrix.
    void was_gathered(MatrixChain& chain) {
        const trace::Event& event = record_.events[static_cast<std::size_t>(gathered_)];
        const int64_t columns = chain.start.own.columns;
        gathered_elements_ = -1;
        if (columns <= 0 || event.in_elements % columns != 0) return;
        chain.gather = gathered_;
        MatrixTile part = chain.start;
        const int64_t rows = event.in_elements / columns;
        part.own = {0, chain.start.own.column, rows, columns};
        part.numbers = given_to(event, 0, event.in_elements);
        find_rows(part, chain.start);
        chain.before = std::move(part);
    }

    static void part_alone(MatrixTile& tile) {
        tile.rows_in_all = tile.rows;
        tile.rows = tile.own.rows;
        tile.own.row = 0;
    }

    /// Finds the part's rows among those of the whole by their numbers: how a sequence lies in the buffer
    /// that was gathered no record tells. They stand in the order of the whole; where rows are alike, so that
    /// there is more than one way to place them, nothing is proved and the part stands alone.
    static void find_rows(MatrixTile& part, const MatrixTile& whole) {
        const int64_t columns = part.own.columns;
        const auto row = [&](const MatrixTile& tile, int64_t i) {
            return std::span(tile.numbers)
                .subspan(static_cast<std::size_t>(i * columns), static_cast<std::size_t>(columns));
        };
        if (part.numbers.empty() || whole.numbers.empty()) return part_alone(part);
        const auto n = static_cast<std::size_t>(part.own.rows);
        // In how many ways the rows up to each can be met in their order, counted up to two.
        std::vector<int> ways(n + 1, 0);
        ways[0] = 1;
        std::vector<int64_t> places;
        for (int64_t r = 0; r < whole.own.rows; ++r) {
            for (std::size_t i = n; i-- > 0;)
                if (std::ranges::equal(row(part, static_cast<int64_t>(i)), row(whole, r)))
                    ways[i + 1] = std::min(2, ways[i + 1] + ways[i]);
            if (places.size() < n &&
                std::ranges::equal(row(part, static_cast<int64_t>(places.size())), row(whole, r)))
                places.push_back(r);
        }
        if (ways[n] != 1) return part_alone(part);
        part.own.row = places.empty() ? 0 : places.front();
        if (!places.empty() && places.back() - places.front() + 1 != part.own.rows)
            part.row_places = std::move(places);
    }

    void begin(MatrixTile start) {
        chains_.emplace_back();
        chains_.back().rank = rank_;
        chains_.back().start = std::move(start);
        open_ = true;
        products_ = 0;
    }

    void name_tiles() {
        for (MatrixChain& chain : chains_) {
            const bool back = chain.steps.front().factor &&
                              chain.steps.front().factor->role == Role::weight &&
                              !chain.steps.front().factor->transposed;
            if (chain.start.name.empty()) chain.start.name = back ? "dY" : "X";
            if (chain.before) chain.before->name = chain.start.name;
            // X · W = H, gelu gives G, · W = Y; on the way back dY · W = dG, gelu' gives dH, · W = dX.
            auto last = chain.steps.begin();
            for (auto step = chain.steps.begin(); step != chain.steps.end(); ++step)
                if (step->kind == Kind::product) last = step;
            for (auto step = chain.steps.begin(); step != chain.steps.end(); ++step) {
                if (!step->result.name.empty()) continue;
                const bool mapped = step + 1 != chain.steps.end() && (step + 1)->kind == Kind::map;
                const char* letter = step->kind == Kind::map ? (back ? "dH" : "G")
                                     : mapped || step < last ? (back ? "dG" : "H")
                                                             : (back ? "dX" : "Y");
                step->result.name = letter;
            }
        }
    }

    const trace::Trace& trace_;
    const trace::RankTrace& record_;
    int32_t rank_;
    std::unordered_map<std::string_view, const trace::ParameterRun*> runs_;  ///< by the module of the weight
    std::vector<MatrixChain> chains_;
    bool open_ = false, broken_ = false;
    int products_ = 0;
    int32_t gathered_ = -1;
    int64_t gathered_elements_ = -1;
};

}  // namespace

std::pair<int64_t, int64_t> MatrixTile::own_rows_in(int64_t first, int64_t last) const {
    if (row_places.empty()) {
        const int64_t from = std::clamp<int64_t>(first - own.row, 0, own.rows);
        return {from, std::clamp<int64_t>(last - own.row, from, own.rows)};
    }
    const auto place = [&](int64_t row) {
        return std::ranges::lower_bound(row_places, row) - row_places.begin();
    };
    return {place(first), place(last)};
}

std::string last_part(std::string_view name) {
    return std::string(name.substr(name.rfind('.') + 1));
}

const MatrixStep* MatrixChain::first_product() const {
    const auto at = std::ranges::find(steps, Kind::product, &MatrixStep::kind);
    return at == steps.end() ? nullptr : &*at;
}

std::vector<MatrixChain> matrix_chains(const trace::Trace& trace, int32_t rank, int32_t step, Phase phase,
                                       int32_t microbatch, Memo* memo) {
    Chains chains(trace, rank);
    const auto& events = trace.ranks[static_cast<std::size_t>(rank)].events;
    for (const StepRun& run : step_runs(trace, rank, step, memo))
        for (std::size_t i = run.first; i < run.last; ++i)
            if (events[i].phase == phase && events[i].microbatch == microbatch) chains.take(events[i]);
    return chains.give();
}

}  // namespace meshscope::view
