#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/comm/schedule/step.h"

namespace meshscope::comm {

/// What an algorithm is written with: the facts of one call, seen from one rank, and the steps it says.
///
/// Before an algorithm speaks, all_reduce's input and a broadcast's root's were copied to the output, and a
/// rank's own part of an all_gather, gather, scatter or all_to_all stands in its place; so an algorithm of
/// these ops reads and writes the output (an all_to_all reads the input too).
class Steps {
  public:
    Steps(const ScheduleQuery& query, const StepSink& sink) : query_(query), sink_(sink) {}

    int32_t p() const { return query_.ranks; }
    int32_t me() const { return query_.rank; }
    int32_t root() const { return query_.root; }
    int64_t n() const { return query_.elements; }
    int64_t element_bytes() const { return query_.element_bytes; }
    std::span<const int32_t> node_of() const { return query_.node_of; }
    const Part& in_part(int32_t rank) const { return query_.in_parts[static_cast<std::size_t>(rank)]; }
    const Part& out_part(int32_t rank) const { return query_.out_parts[static_cast<std::size_t>(rank)]; }
    std::span<const Part> in_parts() const { return query_.in_parts; }
    std::span<const Part> out_parts() const { return query_.out_parts; }
    /// A group rank counted around the ring: of(-1) is the last, of(p) the first.
    int32_t of(int32_t place) const { return (place % p() + p()) % p(); }

    Stretch input() const { return {Stretch::kInput, 0, n()}; }
    Stretch output() const { return {Stretch::kOutput, 0, n()}; }
    /// A scratch buffer of `elements`.
    Stretch scratch(int64_t elements);

    /// How many rounds the whole collective has, whoever asks. Said once.
    void rounds(int32_t rounds) { rounds_ = rounds; }
    int32_t rounds() const { return rounds_; }
    /// What a round number means from now on: for an algorithm made of two others.
    void begin_at_round(int32_t round) { first_round_ = round; }
    int32_t first_round() const { return first_round_; }

    void send(int32_t round, int32_t to, const Stretch& what) { send(round, to, std::span(&what, 1)); }
    void send(int32_t round, int32_t to, std::span<const Stretch> what);
    /// The hop is chunk `chunk`, which lies where `into` does.
    void receive(int32_t round, int32_t from, int32_t chunk, const Stretch& into) {
        receive(round, from, chunk, into.first, std::span(&into, 1));
    }
    void receive(int32_t round, int32_t from, int32_t chunk, int64_t offset, std::span<const Stretch> into);
    /// A message of several pieces, as the record names them.
    void receive(int32_t round, int32_t from, std::span<const trace::HopPiece> pieces,
                 std::span<const Stretch> into);
    /// Adds a message to what stands at `into`.
    void reduce(int32_t round, int32_t from, int32_t chunk, const Stretch& into) {
        reduce(round, from, chunk, into.first, into, into);
    }
    /// into = the message ∘ own; own ∘ the message where `peer_first` is off.
    void reduce(int32_t round, int32_t from, int32_t chunk, int64_t offset, const Stretch& into,
                const Stretch& own, bool peer_first = true);
    /// Adds a message of several pieces, as the record names them, to what stands at each of `into`.
    void reduce(int32_t round, int32_t from, std::span<const trace::HopPiece> pieces,
                std::span<const Stretch> into);
    /// into = all members' numbers, in rank order, `own` among them.
    void reduce_many(int32_t round, int32_t chunk, int64_t offset, const Stretch& into, const Stretch& own);
    void copy(const Stretch& to, const Stretch& from);
    void finish(const Stretch& what);
    /// Until all that this rank sent was received.
    void wait_for_sends() { say({.kind = Step::Kind::wait}); }
    /// Messages of no elements that are no hops.
    void send_nothing(int32_t round, int32_t to);
    void receive_nothing(int32_t round, int32_t from);

  private:
    void say(Step step) { sink_(step); }
    const ScheduleQuery& query_;
    const StepSink& sink_;
    int32_t rounds_ = 0, first_round_ = 0, n_scratch_ = 0;
};

}  // namespace meshscope::comm
