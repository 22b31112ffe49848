#include "core/comm/schedule/run_schedule.h"

#include "core/comm/schedule/card.h"

namespace meshscope::comm {

const std::byte* ScheduleRun::at(const Stretch& stretch) const {
    const std::byte* const begin =
        stretch.buffer == Stretch::kInput    ? input_
        : stretch.buffer == Stretch::kOutput ? output_
                                             : scratch_[static_cast<std::size_t>(stretch.buffer - Stretch::kScratch)];
    return begin == nullptr ? nullptr : begin + wire_.bytes(stretch.first);
}

std::byte* ScheduleRun::to_write(const Stretch& stretch) {
    std::byte* const begin = const_cast<std::byte*>(at(stretch));  // no algorithm writes to the input
    const std::byte* const end = begin == nullptr ? nullptr : begin + wire_.bytes(stretch.elements);
    std::erase_if(leaving_, [&](const Leaving& each) {
        if (each.end <= begin || end <= each.begin) return false;
        wire_.wait(each.post);
        return true;
    });
    return begin;
}

void ScheduleRun::send(const Step& step) {
    if (step.from.empty() || (step.from.size() == 1 && !step.packed)) {
        const std::byte* const data = step.from.empty() ? nullptr : at(step.from.front());
        const Wire::Post post = wire_.post(step.peer, data, step.elements);
        if (step.elements > 0) leaving_.push_back({data, data + wire_.bytes(step.elements), post});
        return;
    }
    std::byte* const packed = wire_.scratch(step.elements);
    std::byte* end = packed;
    for (const Stretch& each : step.from) {
        wire_.copy(end, at(each), wire_.bytes(each.elements));
        end += wire_.bytes(each.elements);
    }
    wire_.post(step.peer, packed, step.elements);
}

void ScheduleRun::unpack(const std::byte* message, std::span<const Stretch> to) {
    for (const Stretch& each : to) {
        wire_.copy(const_cast<std::byte*>(at(each)), message, wire_.bytes(each.elements));
        message += wire_.bytes(each.elements);
    }
}

void ScheduleRun::receive(const Step& step) {
    const Piece hop{step.round, step.chunk, step.offset, step.elements, step.is_added, step.pieces};
    if (step.silent)
        wire_.receive_nothing(step.peer);
    else if (step.to.size() == 1)
        wire_.receive_copy(step.peer, hop, to_write(step.to.front()));
    else {
        for (const Stretch& each : step.to) to_write(each);  // here, because who is handed a message may not wait
        wire_.receive(step.peer, hop, [&](const std::byte* message) { unpack(message, step.to); });
    }
}

void ScheduleRun::reduce_pieces(const Step& step) {
    const Piece hop{step.round, step.chunk, step.offset, step.elements, true, step.pieces};
    for (const Stretch& each : step.to) to_write(each);  // here, as above
    wire_.receive(step.peer, hop, [&](const std::byte* message) {
        for (std::size_t i = 0; i < step.to.size(); ++i) {
            const int64_t n = step.to[i].elements;
            std::byte* const to = const_cast<std::byte*>(at(step.to[i]));
            const std::byte* const own = at(step.from[i]);
            if (to == own)
                wire_.reduce_into(op_, to, message, n);
            else
                wire_.reduce_pair(op_, to, message, own, n);
            message += wire_.bytes(n);
        }
    });
}

void ScheduleRun::step(const Step& step) {
    const Piece hop{step.round, step.chunk, step.offset, step.elements, true, step.pieces};
    switch (step.kind) {
        case Step::Kind::scratch:
            scratch_.push_back(wire_.scratch(step.elements));
            return;
        case Step::Kind::send:
            return send(step);
        case Step::Kind::receive:
            return receive(step);
        case Step::Kind::reduce: {
            if (step.to.size() > 1) return reduce_pieces(step);
            std::byte* const to = to_write(step.to.front());
            const std::byte* const own = at(step.own);
            return wire_.receive(step.peer, hop, [&](const std::byte* message) {
                if (to == own && step.peer_first)
                    wire_.reduce_into(op_, to, message, step.elements);
                else if (step.peer_first)
                    wire_.reduce_pair(op_, to, message, own, step.elements);
                else
                    wire_.reduce_pair(op_, to, own, message, step.elements);
            });
        }
        case Step::Kind::reduce_many:
            return wire_.reduce_from_all(op_, hop, to_write(step.to.front()), at(step.own));
        case Step::Kind::copy:
            return wire_.copy(to_write(step.to.front()), at(step.own), wire_.bytes(step.elements));
        case Step::Kind::add:
            return wire_.reduce_into(op_, to_write(step.to.front()), at(step.own), step.elements);
        case Step::Kind::finish:
            return wire_.finish_reduce(op_, to_write(step.to.front()), step.elements, wire_.size());
        case Step::Kind::wait:
            leaving_.clear();
            return wire_.wait_all();
    }
}

void run_schedule(Wire& wire, Algorithm algorithm, ScheduleQuery call, ReduceOp op, const std::byte* input,
                  std::byte* output) {
    call.ranks = wire.size();
    call.rank = wire.me();
    call.element_bytes = wire.bytes(1);
    ScheduleRun run(wire, op, input, output);
    say_steps(algorithm, call, [&run](const Step& step) { run.step(step); });
    run.finish();
}

}  // namespace meshscope::comm
