#include "core/comm/schedule/steps.h"

namespace meshscope::comm {
namespace {

int64_t elements_of(std::span<const Stretch> stretches) {
    int64_t elements = 0;
    for (const Stretch& each : stretches) elements += each.elements;
    return elements;
}

}  // namespace

Stretch Steps::scratch(int64_t elements) {
    say({.kind = Step::Kind::scratch, .elements = elements});
    return {Stretch::kScratch + n_scratch_++, 0, elements};
}

void Steps::send(int32_t round, int32_t to, std::span<const Stretch> what) {
    say({.kind = Step::Kind::send,
         .peer = to,
         .round = first_round_ + round,
         .elements = elements_of(what),
         .from = what});
}

void Steps::receive(int32_t round, int32_t from, int32_t chunk, int64_t offset,
                    std::span<const Stretch> into) {
    say({.kind = Step::Kind::receive,
         .peer = from,
         .round = first_round_ + round,
         .chunk = chunk,
         .offset = offset,
         .elements = elements_of(into),
         .to = into});
}

void Steps::receive(int32_t round, int32_t from, std::span<const trace::HopPiece> pieces,
                    std::span<const Stretch> into) {
    say({.kind = Step::Kind::receive,
         .peer = from,
         .round = first_round_ + round,
         .chunk = pieces.front().chunk,
         .offset = pieces.front().offset,
         .pieces = pieces.size() > 1 ? pieces : std::span<const trace::HopPiece>{},
         .elements = elements_of(into),
         .to = into});
}

void Steps::reduce(int32_t round, int32_t from, int32_t chunk, int64_t offset, const Stretch& into,
                   const Stretch& own, bool peer_first) {
    say({.kind = Step::Kind::reduce,
         .peer = from,
         .round = first_round_ + round,
         .chunk = chunk,
         .offset = offset,
         .elements = into.elements,
         .to = std::span(&into, 1),
         .own = own,
         .peer_first = peer_first});
}

void Steps::reduce(int32_t round, int32_t from, std::span<const trace::HopPiece> pieces,
                   std::span<const Stretch> into) {
    if (into.size() == 1) return reduce(round, from, pieces.front().chunk, into.front());
    say({.kind = Step::Kind::reduce,
         .peer = from,
         .round = first_round_ + round,
         .chunk = pieces.front().chunk,
         .offset = pieces.front().offset,
         .pieces = pieces,
         .elements = elements_of(into),
         .from = into,
         .to = into});
}

void Steps::reduce_many(int32_t round, int32_t chunk, int64_t offset, const Stretch& into,
                        const Stretch& own) {
    say({.kind = Step::Kind::reduce_many,
         .round = first_round_ + round,
         .chunk = chunk,
         .offset = offset,
         .elements = into.elements,
         .to = std::span(&into, 1),
         .own = own});
}

void Steps::copy(const Stretch& to, const Stretch& from) {
    say({.kind = Step::Kind::copy, .elements = to.elements, .to = std::span(&to, 1), .own = from});
}

void Steps::finish(const Stretch& what) {
    say({.kind = Step::Kind::finish, .elements = what.elements, .to = std::span(&what, 1)});
}

void Steps::send_nothing(int32_t round, int32_t to) {
    say({.kind = Step::Kind::send, .peer = to, .round = first_round_ + round, .silent = true});
}

void Steps::receive_nothing(int32_t round, int32_t from) {
    say({.kind = Step::Kind::receive, .peer = from, .round = first_round_ + round, .silent = true});
}

}  // namespace meshscope::comm
