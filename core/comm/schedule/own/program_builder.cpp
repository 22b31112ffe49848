#include <algorithm>

#include "core/comm/schedule/own/program.h"

namespace meshscope::comm::own {

ProgramBuilder::ProgramBuilder(Program& program) : program_(program) {
    const auto p = static_cast<std::size_t>(program.ranks);
    program.by_rank.assign(p, {});
    holds_.assign(p,
                  std::vector<int32_t>(static_cast<std::size_t>(3 * program.chunks + program.scratch), -1));
    for (int32_t r = 0; r < program.ranks; ++r) fill(r);
}

/// What stands where before the first step.
void ProgramBuilder::fill(int32_t rank) {
    const int32_t c = program_.chunks, each = std::max(1, c / program_.ranks);
    const auto all = [&](Place place, int32_t first) {
        for (int32_t i = 0; i < c; ++i)
            holds_[static_cast<std::size_t>(rank)][slot({place, i, 1}, 0)] = first + i;
    };
    switch (program_.op) {
        case CollectiveOp::all_gather:
            for (int32_t i = rank * each; i < (rank + 1) * each; ++i)
                holds_[static_cast<std::size_t>(rank)][slot({Place::data, i, 1}, 0)] = i;
            return;
        case CollectiveOp::broadcast:
            if (rank == 0) all(Place::data, 0);
            return;
        case CollectiveOp::all_to_all:
            return all(program_.result_in_data ? Place::data : Place::input, rank * c);
        case CollectiveOp::all_reduce:
            return all(program_.input_is_kept ? Place::input : Place::data, 0);
        default:
            return all(Place::data, 0);
    }
}

std::size_t ProgramBuilder::slot(const Chunks& chunks, int32_t i) const {
    return static_cast<std::size_t>(static_cast<int32_t>(chunks.place) * program_.chunks + chunks.first + i);
}

void ProgramBuilder::note(const Slip& slip) {
    if (!program_.slip) program_.slip = slip;
}

std::vector<int32_t> ProgramBuilder::read(int32_t rank, int32_t line, const Chunks& chunks) {
    std::vector<int32_t> found;
    for (int32_t i = 0; i < chunks.count; ++i) {
        found.push_back(holds_[static_cast<std::size_t>(rank)][slot(chunks, i)]);
        if (found.back() < 0) note({Slip::Kind::unwritten, rank, line, chunks.first + i, 0});
    }
    return found;
}

void ProgramBuilder::write(int32_t rank, const Chunks& chunks, const std::vector<int32_t>& what) {
    for (int32_t i = 0; i < chunks.count; ++i)
        holds_[static_cast<std::size_t>(rank)][slot(chunks, i)] = what[static_cast<std::size_t>(i)];
}

std::vector<int32_t> ProgramBuilder::summed(int32_t rank, int32_t line, std::vector<int32_t> comes,
                                            const std::vector<int32_t>& own) {
    for (std::size_t i = 0; i < comes.size(); ++i)
        if (comes[i] != own[i] && comes[i] >= 0 && own[i] >= 0)
            note({Slip::Kind::mixed, rank, line, comes[i], own[i]});
    return comes;
}

void ProgramBuilder::add(int32_t rank, FileStep step, const std::vector<int32_t>& carried) {
    RankSteps& mine = program_.by_rank[static_cast<std::size_t>(rank)];
    step.carried = mine.carried.size();
    mine.carried.insert(mine.carried.end(), carried.begin(), carried.end());
    mine.steps.push_back(step);
    ++steps_;
    carried_ += static_cast<int64_t>(carried.size());
}

void ProgramBuilder::send(int32_t rank, int32_t peer, int32_t round, int32_t line, const Chunks& chunks) {
    std::vector<int32_t> carried = read(rank, line, chunks);
    add(rank,
        {.kind = Step::Kind::send, .peer = peer, .round = round, .line = line, .chunks = chunks, .own = {}},
        carried);
    under_way_[{rank, peer}].push_back({std::move(carried)});
}

void ProgramBuilder::receive(int32_t rank, int32_t peer, int32_t round, int32_t line, const Chunks& chunks,
                             const std::optional<Chunks>& own) {
    std::deque<Sent>& messages = under_way_[{peer, rank}];
    std::vector<int32_t> carried = std::move(messages.front().chunks);
    messages.pop_front();
    if (std::ssize(carried) != chunks.count)
        note({Slip::Kind::count, rank, line, chunks.count, static_cast<int32_t>(carried.size())});
    carried.resize(static_cast<std::size_t>(chunks.count), -1);
    program_.rounds = std::max(program_.rounds, round + 1);
    if (own) carried = summed(rank, line, std::move(carried), read(rank, line, *own));
    write(rank, chunks, carried);
    add(rank,
        {.kind = own ? Step::Kind::reduce : Step::Kind::receive,
         .peer = peer,
         .round = round,
         .line = line,
         .chunks = chunks,
         .own = own.value_or(Chunks{})},
        carried);
}

void ProgramBuilder::copy(int32_t rank, int32_t round, int32_t line, const Chunks& chunks, const Chunks& own,
                          bool adds) {
    std::vector<int32_t> carried = read(rank, line, own);
    if (adds) carried = summed(rank, line, std::move(carried), read(rank, line, chunks));
    write(rank, chunks, carried);
    add(rank,
        {.kind = adds ? Step::Kind::add : Step::Kind::copy,
         .round = round,
         .line = line,
         .chunks = chunks,
         .own = own},
        carried);
}

/// A message that lands in scratch and is added from there is one that reduces.
void ProgramBuilder::mark_sums(RankSteps& rank) const {
    std::map<int32_t, FileStep*> arrived;  // by slot of scratch
    for (FileStep& step : rank.steps) {
        if (step.kind == Step::Kind::add && step.own.place == Place::scratch &&
            step.chunks.place != Place::scratch)
            for (int32_t i = 0; i < step.own.count; ++i)
                if (const auto at = arrived.find(step.own.first + i); at != arrived.end())
                    at->second->is_added = true;
        if (step.kind == Step::Kind::send || step.chunks.place != Place::scratch) continue;
        for (int32_t i = 0; i < step.chunks.count; ++i) {
            arrived.erase(step.chunks.first + i);
            if (step.kind == Step::Kind::receive) arrived[step.chunks.first + i] = &step;
        }
    }
}

void ProgramBuilder::pack(RankSteps& rank, Pack pack) const {
    std::vector<int32_t> written(static_cast<std::size_t>(3 * program_.chunks + program_.scratch), -1);
    // From the end: in which round (or at all) each slot is written later.
    for (auto step = rank.steps.rbegin(); step != rank.steps.rend(); ++step) {
        if (step->kind != Step::Kind::send) {
            for (int32_t i = 0; i < step->chunks.count; ++i) written[slot(step->chunks, i)] = step->round;
            continue;
        }
        for (int32_t i = 0; i < step->chunks.count; ++i) {
            const int32_t round = written[slot(step->chunks, i)];
            if (round >= 0 && (pack == Pack::before_any_write || round <= step->round)) step->packed = true;
        }
    }
}

/// Where the engine puts a rank's own numbers in place before the first step and the file says that it does
/// itself, it must.
void ProgramBuilder::check_written() {
    if (program_.op != CollectiveOp::all_reduce || !program_.input_is_kept) return;
    for (int32_t r = 0; r < program_.ranks; ++r)
        for (int32_t i = 0; i < program_.chunks; ++i)
            if (holds_[static_cast<std::size_t>(r)][slot({Place::data, i, 1}, 0)] < 0)
                note({Slip::Kind::unwritten, r, 0, i, 0});
}

void ProgramBuilder::finish(Pack how) {
    for (RankSteps& rank : program_.by_rank) {
        mark_sums(rank);
        pack(rank, how);
    }
    check_written();
}

}  // namespace meshscope::comm::own
