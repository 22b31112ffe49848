#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/view/format.h"
#include "app/gui/view/input.h"

namespace meshscope::view {

/// What a rule or a kernel is for, in words; empty where the catalogue has none.
struct Explanation {
    std::string sentence;
    std::string pytorch;  ///< the PyTorch call that does the same
};

/// The catalogue's words for `id`; "" when it has none (a message without words is told by its id).
std::string words_of(const Texts& texts, const std::string& id, std::vector<MessageArg> args = {});

/// A rule's words. "recompute.R" is rule R done a second time: R's words, and around them why.
Explanation rule_words(const Texts& texts, std::string_view rule);

/// An event by its rank and its id there.
struct EventRef {
    int32_t rank = 0;
    int32_t event = 0;
    friend bool operator==(const EventRef&, const EventRef&) = default;
};

/// The end of the next hop after the cursor, or its beginning when no hop is under way: "one hop on" lands
/// where its chunk has arrived. Collectives without hops count as one. All ranks are looked at. Nothing at
/// the end.
std::optional<Cursor> next_hop(const trace::Trace& trace, const time::Clock& clock, Cursor cursor);
std::optional<Cursor> previous_hop(const trace::Trace& trace, const time::Clock& clock, Cursor cursor);

/// The next (previous) moment at which an event begins on any rank.
std::optional<Cursor> next_event(const trace::Trace& trace, const time::Clock& clock, Cursor cursor);
std::optional<Cursor> previous_event(const trace::Trace& trace, const time::Clock& clock, Cursor cursor);

/// What `rank` is doing at the cursor: of the events under way the latest begun (communication before compute
/// when equal); between events the last that ended; nothing before the first. Cost: O(events of the rank).
std::optional<EventRef> event_at(const trace::Trace& trace, const time::Clock& clock, Cursor cursor,
                                 int32_t rank);

/// One row of the facts column.
struct Fact {
    std::string label;
    std::string value;
    bool mono = true;
};

/// What the facts column says of an event, as data.
struct EventFacts {
    EventRef ref;
    std::string op;  ///< "all_gather", or the kernel
    Token hue = Token::text;
    std::string unit;   ///< "net1"
    std::string badge;  ///< "backward · prefetch"
    std::vector<Fact>
        rows;          ///< group, mesh dim, elements, dtype, algorithm, duration … or kernel, FLOPs, bytes
    std::string how;   ///< the algorithm in a sentence; empty for compute and where nothing moved
    std::string sent;  ///< "220 B"; empty for compute
    std::string formula;    ///< "(n−1)/n·S = 1/2·440 B"; empty where none is known
    std::string predicted;  ///< the formula's figure
    bool agrees = false;    ///< sent == predicted
    std::string rule;       ///< the rule id: "fsdp2.unshard.forward"
    Explanation words;      ///< the rule's
    std::string source;     ///< our own line
};
/// `tells_end`: false where it is not to be told that a call never ended; then neither its end nor what it
/// sent is.
EventFacts describe_event(const Input& input, EventRef ref, bool tells_end = true);

/// Bytes a rank should send, by its collective's formula; nothing where n and S alone do not give it (send
/// and recv, trees, uneven parts). S = bytes of the whole buffer. all_gather, reduce_scatter, all_to_all:
/// (n−1)/n·S; an all_to_all that keeps nothing (a permute): S; all_reduce: 2(n−1)/n·S, direct in one round
/// (n−1)·S.
struct ByteFormula {
    std::string text;         ///< "(n−1)/n·S"
    int64_t whole_bytes = 0;  ///< S
    int64_t bytes = 0;
};
std::optional<ByteFormula> byte_formula(const trace::Trace& trace, const trace::Event& event);

}  // namespace meshscope::view
