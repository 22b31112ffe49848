#include <algorithm>
#include <map>

#include "core/comm/schedule/own/mistakes.h"
#include "core/comm/schedule/own/toml_form.h"

namespace meshscope::comm::own {
namespace {

[[noreturn]] void refuse(const std::string& file, int line, int column, Message message) {
    throw InputError({{std::move(message), {file, line, column, -1}, {}}});
}

/// Its value; an expression that has none is refused with the numbers for which it has none.
int64_t value(const Written& written, const Names& names, const std::string& file) {
    try {
        return written.expression.value(names);
    } catch (const ExpressionError& error) {
        refuse(file, written.line, written.column + static_cast<int>(error.at),
               {error.id, {{"r", names.r}, {"p", names.p}, {"s", names.s}, {"i", names.i}}});
    }
}

int64_t within(int64_t n, int64_t size) {
    return (n % size + size) % size;
}

class Expansion {
  public:
    Expansion(const TomlForm& form, int32_t ranks, const std::string& file, int64_t most_values)
        : form_(form), file_(file), most_values_(most_values) {
        names_.p = ranks;
        program_.op = form.op;
        program_.ranks = ranks;
        program_.chunks = bounded(form.chunks, ranks, 1, "chunks");
        program_.scratch = bounded(form.scratch, 0, 0, "scratch");
        const bool parts = form.op == CollectiveOp::all_gather || form.op == CollectiveOp::reduce_scatter ||
                           form.op == CollectiveOp::all_to_all;
        if (parts && program_.chunks % ranks != 0)
            refuse(file, form.chunks ? form.chunks->line : form.line, form.chunks ? form.chunks->column : 1,
                   {"algorithm.uneven_chunks",
                    {{"collective", std::string(name(form.op))},
                     {"chunks", int64_t{program_.chunks}},
                     {"ranks", int64_t{ranks}}}});
        program_.result_in_data = form.op != CollectiveOp::all_to_all;
        if (int64_t{ranks} * (program_.chunks + program_.scratch) > kMostCarried)
            refuse(file, form.chunks ? form.chunks->line : form.line, 0,
                   {"algorithm.too_many_chunks", {{"most", kMostCarried}}});
    }

    Program program() {
        ProgramBuilder builder(program_);
        builder_ = &builder;
        for (const Phase& each : form_.phases) phase(each);
        std::map<int64_t, std::vector<const ExplicitStep*>> rounds;
        for (const ExplicitStep& each : form_.steps) rounds[each.round].push_back(&each);
        for (const auto& [round, steps] : rounds) explicit_round(steps);
        builder.finish(ProgramBuilder::Pack::before_writes_of_the_round);
        return std::move(program_);
    }

  private:
    struct Sending {
        int32_t from, to;
        Chunks chunks;
        bool adds;
        int line;
    };

    int32_t bounded(const std::optional<Written>& written, int64_t otherwise, int64_t least,
                    const char* key) {
        if (!written) return static_cast<int32_t>(otherwise);
        const int64_t found = value(*written, names_, file_);
        if (found < least || found > kMostChunks)
            refuse(file_, written->line, written->column,
                   {"algorithm.value",
                    {{"key", std::string(key)},
                     {"found", found},
                     {"least", least},
                     {"most", int64_t{kMostChunks}},
                     {"ranks", names_.p}}});
        return static_cast<int32_t>(found);
    }

    int64_t valued(const Written& written) {
        if (++values_ > most_values_)
            refuse(file_, written.line, written.column, {"algorithm.too_many_steps", {{"most", kMostSteps}}});
        return value(written, names_, file_);
    }
    bool is_true(const std::optional<Written>& written) { return !written || valued(*written) != 0; }

    int32_t size_of(Place place) const {
        return place == Place::scratch ? program_.scratch : program_.chunks;
    }
    Place read_from(const std::optional<Place>& given) const {
        return given.value_or(form_.op == CollectiveOp::all_to_all ? Place::input : Place::data);
    }
    Place written_to(const std::optional<Place>& given) const {
        return given.value_or(form_.op == CollectiveOp::all_to_all ? Place::output : Place::data);
    }

    Chunks checked(Place place, int64_t first, int64_t count, int line, int column, bool around) {
        const int32_t size = size_of(place);
        if (around && size > 0) first = within(first, size);
        if (count < 1 || count > size || first < 0 || first > size - count)
            refuse(file_, line, column,
                   {"algorithm.outside",
                    {{"rank", names_.r},
                     {"buffer", std::string(place == Place::scratch  ? "scratch"
                                            : place == Place::input  ? "input"
                                            : place == Place::output ? "output"
                                                                     : "data")},
                     {"chunks", int64_t{size}},
                     {"first", first},
                     {"last", first + count - 1}}});
        return {place, static_cast<int32_t>(first), static_cast<int32_t>(count)};
    }
    void check_room(int line) {
        if (builder_->is_full()) refuse(file_, line, 0, {"algorithm.too_many_steps", {{"most", kMostSteps}}});
    }

    void phase(const Phase& phase) {
        names_.r = names_.s = names_.i = 0;
        const int64_t rounds = phase.rounds ? value(*phase.rounds, names_, file_) : 1;
        if (rounds < 0 || rounds > kMostChunks)
            refuse(file_, phase.rounds->line, phase.rounds->column,
                   {"algorithm.value",
                    {{"key", std::string("rounds")},
                     {"found", rounds},
                     {"least", int64_t{0}},
                     {"most", int64_t{kMostChunks}},
                     {"ranks", names_.p}}});
        for (names_.s = 0; names_.s < rounds; ++names_.s) {
            for (const Move& each : phase.copies) moves(phase, each, false);
            for (const Move& each : phase.sends) moves(phase, each, true);
            deliver();
        }
    }

    /// What one entry says, for every rank.
    void moves(const Phase& phase, const Move& move, bool sends) {
        for (names_.r = 0; names_.r < names_.p; ++names_.r) {
            names_.i = 0;
            if (!is_true(phase.when)) continue;
            const int64_t times = move.each ? valued(*move.each) : 1;
            for (; names_.i < times; ++names_.i) {
                if (!is_true(move.when)) continue;
                check_room(move.line);
                const int64_t count = move.count ? valued(*move.count) : 1;
                const int64_t chunk = valued(*move.chunk);
                const Chunks from = checked(read_from(move.from_buffer), chunk, count, move.chunk->line,
                                            move.chunk->column, true);
                const Written& at = move.at ? *move.at : *move.chunk;
                const Chunks to = checked(written_to(move.to_buffer), move.at ? valued(at) : chunk, count,
                                          at.line, at.column, true);
                const auto r = static_cast<int32_t>(names_.r);
                if (!sends) {
                    builder_->copy(r, round_, move.line, to, from, move.adds);
                    continue;
                }
                const auto peer = static_cast<int32_t>(within(valued(*move.to), names_.p));
                if (peer == r)
                    refuse(file_, move.to->line, move.to->column,
                           {"algorithm.self_send", {{"rank", names_.r}, {"round", names_.s}}});
                builder_->send(r, peer, round_, move.line, from);
                sending_.push_back({r, peer, to, move.adds, move.line});
            }
        }
    }

    /// All that was sent in this round lands.
    void deliver() {
        for (const Sending& each : sending_)
            builder_->receive(each.to, each.from, round_, each.line, each.chunks,
                              each.adds ? std::optional(each.chunks) : std::nullopt);
        if (!sending_.empty()) ++round_;
        sending_.clear();
    }

    void explicit_round(const std::vector<const ExplicitStep*>& steps) {
        const auto rank = [&](int64_t n, const ExplicitStep& step) {
            if (n >= names_.p)
                refuse(file_, step.line, step.column,
                       {"algorithm.no_such_rank", {{"rank", n}, {"ranks", names_.p}}});
            return static_cast<int32_t>(n);
        };
        for (const bool sends : {false, true})
            for (const ExplicitStep* step : steps) {
                if ((step->rank < 0) != sends) continue;
                check_room(step->line);
                const int32_t from = rank(sends ? step->from : step->rank, *step);
                names_.r = from;
                const Chunks source = checked(read_from(step->from_buffer), step->chunk, step->count,
                                              step->line, step->column, false);
                const Chunks target = checked(written_to(step->to_buffer), step->at, step->count, step->line,
                                              step->column, false);
                if (!sends) {
                    builder_->copy(from, round_, step->line, target, source, step->adds);
                    continue;
                }
                const int32_t to = rank(step->to, *step);
                if (from == to)
                    refuse(file_, step->line, step->column,
                           {"algorithm.self_send", {{"rank", int64_t{from}}, {"round", step->round}}});
                builder_->send(from, to, round_, step->line, source);
                sending_.push_back({from, to, target, step->adds, step->line});
            }
        deliver();
    }

    const TomlForm& form_;
    const std::string& file_;
    int64_t most_values_;
    Program program_;
    ProgramBuilder* builder_ = nullptr;
    Names names_;
    std::vector<Sending> sending_;
    int32_t round_ = 0;
    int64_t values_ = 0;
};

}  // namespace

bool holds(const TomlForm& form, int32_t ranks, const std::string& file) {
    return !form.require || value(*form.require, {0, ranks, 0, 0}, file) != 0;
}

Program expanded(const TomlForm& form, int32_t ranks, const std::string& file, int64_t most_values) {
    return Expansion(form, ranks, file, most_values).program();
}

}  // namespace meshscope::comm::own
