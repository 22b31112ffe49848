#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/base/kinds.h"
#include "core/comm/parts.h"
#include "core/trace/event.h"

namespace meshscope::comm {

class OwnAlgorithm;

/// A stretch of one of a rank's buffers, in elements.
struct Stretch {
    static constexpr int32_t kInput = 0;
    static constexpr int32_t kOutput = 1;
    static constexpr int32_t kScratch = 2;  ///< and from here on: scratch buffers in the order of their steps

    int32_t buffer = kOutput;
    int64_t first = 0;
    int64_t elements = 0;

    /// `count` elements from this one's element `at` on.
    Stretch part(int64_t at, int64_t count) const { return {buffer, first + at, count}; }
    Stretch part(const Part& part) const { return {buffer, first + part.first, part.elements}; }
    friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// One thing that a rank does in a collective. A rank takes its steps in order; a message is matched with the
/// step that receives it by sender and receiver alone: the n-th that goes is the n-th that comes.
///
/// What is sent stays as it is until it was received: a step that writes where a message of one stretch still
/// leaves from waits for its receiver first. (A message of several, or a packed one, leaves as a copy.)
struct Step {
    enum class Kind : uint8_t {
        scratch,  ///< makes a scratch buffer of `elements`, uninitialised, the next of its number
        send,     ///< `from`, one after the other, in one message to `peer`
        receive,  ///< a message of `peer` into `to`, one stretch after the other
        reduce,   ///< a message of `peer`, combined with `own`, into `to` (each one stretch; of several in
                  ///< `to`, with as many in `from`, one after the other)
        reduce_many,  ///< a message of each other member, combined with `own` in rank order, into `to`; AVG
                      ///< is divided here, and rounded once
        copy,         ///< `own` into `to`
        add,          ///< `own`, combined with what stands at `to`, into `to`
        finish,       ///< AVG: divides `to` by the number of members
        wait,         ///< until all that this rank sent was received
    };
    Kind kind = Kind::copy;
    int32_t peer = -1;  ///< group rank
    int32_t round = 0;  ///< of the whole collective, from 0; messages of one round travel at the same time
    /// How the record names the hop: the chunk, and where it lies in the buffer that trace::Hop counts in; of
    /// a message with several, all of them, in its order.
    int32_t chunk = 0;
    int64_t offset = 0;
    std::span<const trace::HopPiece> pieces{};
    int64_t elements = 0;  ///< of the message, or of the scratch buffer
    std::span<const Stretch> from{};
    std::span<const Stretch> to{};
    Stretch own{};
    /// The peer's numbers stand first when two are combined; else this rank's. Only of 0 and -0 does it matter.
    bool peer_first = true;
    /// Of a send: a copy leaves, so that what it was made from may be written at once.
    bool packed = false;
    /// Of a receive into scratch: it is added to a sum from there, and the record's hop is one that reduces.
    bool is_added = false;
    /// Not a hop: the message has no elements, and only keeps the two in step.
    bool silent = false;
};

/// Takes a rank's steps, in order. What a step's spans show is there during the call only.
using StepSink = std::function<void(const Step&)>;

/// What an algorithm may know: the same on all members but for `rank` and, of an all_to_all, the parts.
struct ScheduleQuery {
    CollectiveOp op = CollectiveOp::all_reduce;
    int32_t ranks = 1;
    int32_t rank = 0;  ///< whose steps
    int32_t root = 0;  ///< or the other side of a send or recv
    int64_t elements = 0;  ///< of the full buffer, as CostQuery counts it
    int64_t element_bytes = 4;
    std::span<const Part> in_parts{};   ///< by group rank: reduce_scatter, scatter, all_to_all
    std::span<const Part> out_parts{};  ///< by group rank: all_gather, gather, all_to_all
    std::span<const int32_t> node_of{};  ///< by group rank, as NodeLevels takes it
    const OwnAlgorithm* own = nullptr;   ///< Algorithm::own: the one that is meant
};

}  // namespace meshscope::comm
