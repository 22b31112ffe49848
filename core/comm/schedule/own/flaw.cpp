// What a proof found, told at the line of the step that is wrong.
#include <algorithm>

#include "core/comm/schedule/own/own_algorithm.h"

namespace meshscope::comm::own {
namespace {

using Kind = ScheduleFlaw::Kind;

std::vector<int64_t> numbers(const std::vector<int32_t>& ranks) {
    return {ranks.begin(), ranks.end()};
}

class FlawText {
  public:
    FlawText(const Program& program, const ScheduleCall& call, const ScheduleFlaw& flaw)
        : program_(program), call_(call), flaw_(flaw) {}

    /// The line of a rank's step; -1 where the file does not name it.
    int line(int32_t rank, int32_t step) const {
        if (rank < 0 || step < 0) return -1;
        std::vector<int32_t> lines;
        std::vector<Part> parts;
        set_even_parts(parts, call_.elements / call_.ranks, call_.ranks);
        const ScheduleQuery query{.op = call_.op,
                                  .ranks = call_.ranks,
                                  .rank = rank,
                                  .elements = call_.elements,
                                  .in_parts = parts,
                                  .out_parts = parts};
        program_.say(
            query, [](const Step&) {}, &lines);
        return step < std::ssize(lines) ? lines[static_cast<std::size_t>(step)] : -1;
    }

    int line() const {
        if (flaw_.kind == Kind::missing && flaw_.lost_rank >= 0) {
            const int lost = line(flaw_.lost_rank, flaw_.lost_step);
            if (lost > 0) return lost;
        }
        return line(flaw_.rank, flaw_.step);
    }

    Message message() const {
        std::vector<MessageArg> args{{"rank", int64_t{flaw_.rank}},   {"peer", int64_t{flaw_.peer}},
                                     {"round", int64_t{flaw_.round}}, {"chunk", flaw_.element},
                                     {"found", flaw_.found},          {"wanted", flaw_.elements},
                                     {"ranks", numbers(flaw_.ranks)}, {"by", int64_t{flaw_.lost_rank}}};
        return {"algorithm.flaw." + word(), std::move(args)};
    }

  private:
    /// A number that no other rank had a hand in came from none in no round.
    std::string word() const {
        if (flaw_.peer < 0) {
            if (flaw_.kind == Kind::missing && flaw_.lost_rank < 0) return "missing_own";
            if (flaw_.kind == Kind::twice) return "twice_own";
            if (flaw_.kind == Kind::wrong_place) return "wrong_place_own";
        }
        switch (flaw_.kind) {
            case Kind::missing:
                return flaw_.lost_rank >= 0 ? "lost" : "missing";
            case Kind::twice:
                return "twice";
            case Kind::wrong_place:
                return "wrong_place";
            case Kind::unwritten:
                return "unwritten";
            case Kind::not_divided:
                return "not_divided";
            case Kind::mixed:
                return "mixed";
            case Kind::message_size:
                return "message_size";
            case Kind::never_sent:
                return "never_sent";
            case Kind::never_received:
                return "never_received";
            case Kind::circle:
                return "circle";
            case Kind::outside:
                return "outside";
            case Kind::rounds:
                return "rounds";
        }
        return "outside";
    }

    const Program& program_;
    const ScheduleCall& call_;
    const ScheduleFlaw& flaw_;
};

Message slip_message(const Slip& slip) {
    const char* id = slip.kind == Slip::Kind::unwritten ? "algorithm.slip.unwritten"
                     : slip.kind == Slip::Kind::mixed   ? "algorithm.slip.mixed"
                                                        : "algorithm.slip.count";
    return {id,
            {{"rank", int64_t{slip.rank}}, {"chunk", int64_t{slip.chunk}}, {"other", int64_t{slip.other}}}};
}

}  // namespace

ScheduleCall call_of(const Program& program) {
    return {.op = program.op, .ranks = program.ranks, .elements = program.chunks};
}

std::optional<Diagnostic> flaw_of(const Program& program, const std::string& file, int line) {
    const ScheduleCall call = call_of(program);
    const auto flaw = verify(
        call, [&](const ScheduleQuery& query, const StepSink& sink) { return program.say(query, sink); });
    // A slip says more than what comes of it.
    const bool slipped = program.slip && (program.slip->kind != Slip::Kind::mixed || !flaw ||
                                          flaw->kind == Kind::mixed || flaw->kind == Kind::message_size);
    if (flaw && !slipped) {
        const FlawText text(program, call, *flaw);
        const int at = text.line();
        return Diagnostic{text.message(), {file, at > 0 ? at : line, 0, -1}, {}};
    }
    if (!program.slip) return std::nullopt;
    return Diagnostic{
        slip_message(*program.slip), {file, program.slip->line > 0 ? program.slip->line : line, 0, -1}, {}};
}

}  // namespace meshscope::comm::own
