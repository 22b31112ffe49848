// What the threadblocks of an MSCCL algorithm do at the same time, in one order a rank.
//
// Played as the interpreter plays it: a threadblock takes its steps in order, each when the step it depends
// on is done and, where it receives, when its channel has a message; sends never wait. Of all that could go
// on the one that can begin first does, counted in rounds of messages, so that the order is that of a run in
// which every message takes one round. Cost: O(steps · log threadblocks).
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <queue>
#include <set>

#include "core/comm/schedule/own/mistakes.h"
#include "core/comm/schedule/own/msccl.h"

namespace meshscope::comm::own {
namespace {

using Type = Msccl::Type;
using Pair = std::pair<int32_t, int32_t>;  ///< sender, receiver
using Channel = std::array<int32_t, 3>;    ///< and the channel

/// What a rank does, in the order of the play.
struct Played {
    enum class Kind : uint8_t { send, receive, copy };
    Kind kind = Kind::send;
    int32_t rank = 0, peer = -1, round = 0, line = 0;
    Chunks chunks;
    std::optional<Chunks> own;
    bool adds = false;
};

class Play {
  public:
    Play(const Msccl& msccl, const std::string& file) : msccl_(msccl), mistakes_(file) {
        for (std::size_t g = 0; g < msccl.gpus.size(); ++g) {
            blocks_.emplace_back(msccl.gpus[g].blocks.size());
            // What is received only to be sent on needs room of its own, behind the file's scratch.
            int32_t room = 0;
            for (const Msccl::Threadblock& block : msccl.gpus[g].blocks)
                for (const Msccl::Line& step : block.steps)
                    if (step.type == Type::rrs) room = std::max(room, step.count);
            room_.push_back(msccl.gpus[g].scratch);
            scratch_.push_back(msccl.gpus[g].scratch + room);
        }
    }

    Program program() {
        for (int32_t g = 0; g < std::ssize(msccl_.gpus); ++g)
            for (int32_t b = 0; b < std::ssize(msccl_.gpus[static_cast<std::size_t>(g)].blocks); ++b)
                look(g, b);
        while (!ready_.empty() || !early_.empty()) {
            if (ready_.empty()) {
                set_aside(*early_.begin());
                continue;
            }
            const Ready next = ready_.top();
            ready_.pop();
            take(next.gpu, next.block, next.clock);
        }
        check_ended();
        return built();
    }

  private:
    struct BlockState {
        int32_t at = 0;
        int32_t clock = 0;          ///< the round in which it is
        std::vector<int32_t> done;  ///< by step: the round in which it ended
    };
    struct Ready {
        int32_t clock, gpu, block;
        bool operator<(const Ready& other) const {  // the queue's top is the largest
            return std::tie(clock, gpu, block) > std::tie(other.clock, other.gpu, other.block);
        }
    };
    struct Posted {
        int64_t number = 0;  ///< of its pair
        int32_t round = 0, count = 0, line = 0;
    };

    const Msccl::Threadblock& file_block(int32_t g, int32_t b) const {
        return msccl_.gpus[static_cast<std::size_t>(g)].blocks[static_cast<std::size_t>(b)];
    }
    BlockState& state(int32_t g, int32_t b) {
        return blocks_[static_cast<std::size_t>(g)][static_cast<std::size_t>(b)];
    }
    bool ended(int32_t g, int32_t b) { return state(g, b).at == std::ssize(file_block(g, b).steps); }
    const Msccl::Line& now(int32_t g, int32_t b) {
        return file_block(g, b).steps[static_cast<std::size_t>(state(g, b).at)];
    }

    /// Whether the block's next step can begin: then it is ready; else it is looked at again when what it
    /// waits for has come.
    void look(int32_t g, int32_t b) {
        if (ended(g, b)) return;
        const Msccl::Line& step = now(g, b);
        int32_t clock = state(g, b).clock;
        if (step.after.step >= 0) {
            const BlockState& other = state(g, step.after.block);
            if (other.at <= step.after.step) {
                waiting_for_block_[{g, step.after.block}].push_back({g, b});
                return;
            }
            clock = std::max(clock, other.done[static_cast<std::size_t>(step.after.step)]);
        }
        if (receives(step.type)) {
            const Channel channel = channel_to(g, b);
            std::deque<Posted>& messages = under_way_[channel];
            if (messages.empty()) {
                waiting_for_message_[channel] = {g, b};
                return;
            }
            const Pair pair{channel[0], channel[1]};
            if (!is_next(pair, messages.front())) {
                early_.insert({pair, g, b});
                return;
            }
            clock = std::max(clock, messages.front().round + 1);
        }
        ready_.push({clock, g, b});
    }
    Channel channel_to(int32_t g, int32_t b) const {
        return {file_block(g, b).receive, g, file_block(g, b).channel};
    }
    /// Whether no earlier message of the pair waits on another channel; one that was set aside was received.
    bool is_next(Pair pair, const Posted& message) {
        return aside_.contains({pair, message.number}) || message.number == received_[pair];
    }

    /// A message that came before others of its pair which nobody can take yet: those are received into
    /// scratch, and stand there until their threadblocks come to them.
    struct Early {
        Pair pair;
        int32_t gpu, block;
        bool operator<(const Early& other) const {
            return std::tie(pair, gpu, block) < std::tie(other.pair, other.gpu, other.block);
        }
    };
    void set_aside(Early early) {
        const int64_t until = under_way_[channel_to(early.gpu, early.block)].front().number;
        int64_t& next = received_[early.pair];
        for (; next < until; ++next) {
            if (aside_.contains({early.pair, next})) continue;
            const Posted& message = sent_[early.pair][static_cast<std::size_t>(next)];
            int32_t& scratch = scratch_[static_cast<std::size_t>(early.gpu)];
            const Chunks place{Place::scratch, scratch, message.count};
            scratch += message.count;
            if (scratch > kMostChunks)
                fail(message.line, {"algorithm.too_many_chunks", {{"most", int64_t{kMostChunks}}}});
            played_.push_back({Played::Kind::receive, early.gpu, early.pair.first, message.round,
                               message.line, place, std::nullopt, false});
            aside_.insert({{early.pair, next}, place});
        }
        look_again(early.pair);
    }
    void look_again(Pair pair) {
        std::vector<Early> again;
        for (auto at = early_.lower_bound({pair, -1, -1}); at != early_.end() && at->pair == pair;
             at = early_.erase(at))
            again.push_back(*at);
        for (const Early& each : again) look(each.gpu, each.block);
    }

    void take(int32_t g, int32_t b, int32_t clock) {
        const Msccl::Line& step = now(g, b);
        BlockState& mine = state(g, b);
        if (++taken_ + static_cast<int64_t>(played_.size()) > 4 * kMostSteps)
            fail(step.line, {"algorithm.too_many_steps", {{"most", kMostSteps}}});
        mine.clock = clock;
        const Chunks target = place_of(g, step.dst_buffer, step.dst, step.count);
        const Chunks source = place_of(g, step.src_buffer, step.src, step.count);
        std::optional<Pair> moved;
        switch (step.type) {
            case Type::nop:
                break;
            case Type::cpy:
            case Type::re:
                played_.push_back(
                    {Played::Kind::copy, g, -1, clock, step.line, target, source, step.type == Type::re});
                break;
            case Type::s:
                post(g, b, source, step);
                break;
            case Type::r:
                moved = receive(g, b, step, target, std::nullopt);
                break;
            case Type::rcs:
                moved = receive(g, b, step, target, std::nullopt);
                post(g, b, target, step);
                break;
            case Type::rrc:
                moved = receive(g, b, step, target, source);
                break;
            case Type::rrcs:
                moved = receive(g, b, step, target, source);
                post(g, b, target, step);
                break;
            case Type::rrs: {
                const Chunks room{Place::scratch, room_[static_cast<std::size_t>(g)], step.count};
                moved = receive(g, b, step, room, source);
                post(g, b, room, step);
                break;
            }
        }
        mine.done.push_back(mine.clock);
        ++mine.at;
        look(g, b);
        if (moved) look_again(*moved);
        const auto waiting = waiting_for_block_.find({g, b});
        if (waiting == waiting_for_block_.end()) return;
        const std::vector<Pair> them = std::move(waiting->second);
        waiting_for_block_.erase(waiting);
        for (const Pair& each : them) look(each.first, each.second);
    }

    void post(int32_t g, int32_t b, const Chunks& what, const Msccl::Line& step) {
        const Msccl::Threadblock& block = file_block(g, b);
        const Pair pair{g, block.send};
        std::vector<Posted>& all = sent_[pair];
        const Posted message{static_cast<int64_t>(all.size()), state(g, b).clock, step.count, step.line};
        all.push_back(message);
        const Channel channel{g, block.send, block.channel};
        under_way_[channel].push_back(message);
        played_.push_back(
            {Played::Kind::send, g, block.send, message.round, step.line, what, std::nullopt, false});
        if (const auto waiting = waiting_for_message_.find(channel); waiting != waiting_for_message_.end()) {
            const Pair who = waiting->second;
            waiting_for_message_.erase(waiting);
            look(who.first, who.second);
        }
    }

    Pair receive(int32_t g, int32_t b, const Msccl::Line& step, const Chunks& target,
                 const std::optional<Chunks>& own) {
        const Channel channel = channel_to(g, b);
        const Pair pair{channel[0], channel[1]};
        const Posted message = under_way_[channel].front();
        under_way_[channel].pop_front();
        state(g, b).clock = std::max(state(g, b).clock, message.round + 1);
        const auto aside = aside_.find({pair, message.number});
        if (aside == aside_.end()) {
            played_.push_back(
                {Played::Kind::receive, g, pair.first, message.round, step.line, target, own, false});
            ++received_[pair];
        } else {
            const Chunks place = aside->second;
            aside_.erase(aside);
            if (own && !(*own == target))
                played_.push_back({Played::Kind::copy, g, -1, message.round, step.line, target, own, false});
            played_.push_back(
                {Played::Kind::copy, g, -1, message.round, step.line, target, place, own.has_value()});
        }
        return pair;
    }

    Chunks place_of(int32_t gpu, char buffer, int32_t first, int32_t count) const {
        if (buffer == 's') return {Place::scratch, first, count};
        const int32_t part = msccl_.chunks / static_cast<int32_t>(msccl_.gpus.size()) * gpu;
        const bool input = buffer == 'i';
        switch (msccl_.op) {
            case CollectiveOp::all_gather:
                return {Place::data, first + (input ? part : 0), count};
            case CollectiveOp::reduce_scatter:
                if (input) return {Place::data, first, count};
                return msccl_.in_place ? Chunks{Place::data, first + part, count}
                                       : Chunks{Place::output, first, count};
            case CollectiveOp::all_to_all:
                if (msccl_.in_place) return {Place::data, first, count};
                return {input ? Place::input : Place::output, first, count};
            case CollectiveOp::all_reduce:
                return {input && !msccl_.in_place ? Place::input : Place::data, first, count};
            default:
                return {Place::data, first, count};
        }
    }

    // Who waits for ever ------------------------------------------------------------------------------------

    [[noreturn]] void fail(int line, Message message) {
        mistakes_.add(line, 0, std::move(message));
        mistakes_.raise();
        throw InvalidArgument({"algorithm.too_many_steps", {{"most", kMostSteps}}});  // not reached
    }

    static std::string said(Pair block, const Msccl& msccl, int32_t step) {
        const Msccl::Threadblock& tb =
            msccl.gpus[static_cast<std::size_t>(block.first)].blocks[static_cast<std::size_t>(block.second)];
        return "gpu " + std::to_string(block.first) + " tb " + std::to_string(tb.id) + " step " +
               std::to_string(step);
    }
    std::string said(Pair block) { return said(block, msccl_, now(block.first, block.second).number); }

    /// The block that this one waits for; -1 where nobody sends on its channel.
    Pair waits_for(Pair block) {
        const Msccl::Line& step = now(block.first, block.second);
        if (step.after.step >= 0 && state(block.first, step.after.block).at <= step.after.step)
            return {block.first, step.after.block};
        const int32_t peer = file_block(block.first, block.second).receive;
        for (int32_t b = 0; b < std::ssize(msccl_.gpus[static_cast<std::size_t>(peer)].blocks); ++b)
            if (file_block(peer, b).send == block.first &&
                file_block(peer, b).channel == file_block(block.first, block.second).channel)
                return {peer, b};
        return {peer, -1};
    }

    void check_ended() {
        for (int32_t g = 0; g < std::ssize(msccl_.gpus); ++g)
            for (int32_t b = 0; b < std::ssize(msccl_.gpus[static_cast<std::size_t>(g)].blocks); ++b)
                if (!ended(g, b)) stuck({g, b});
    }

    void stuck(Pair first) {
        std::vector<Pair> way;
        Pair block = first;
        while (std::ranges::find(way, block) == way.end()) {
            way.push_back(block);
            const Pair next = waits_for(block);
            if (next.second < 0 || ended(next.first, next.second)) {
                const Msccl::Line& step = now(block.first, block.second);
                int64_t messages = 0;
                if (next.second >= 0)
                    for (const Msccl::Line& each : file_block(next.first, next.second).steps)
                        messages += sends(each.type) ? 1 : 0;
                fail(step.line, {"algorithm.never_sent",
                                 {{"who", said(block)},
                                  {"peer", int64_t{next.first}},
                                  {"rank", int64_t{block.first}},
                                  {"channel", int64_t{file_block(block.first, block.second).channel}},
                                  {"messages", messages}}});
            }
            block = next;
        }
        way.erase(way.begin(), std::ranges::find(way, block));
        std::ranges::rotate(way, std::ranges::min_element(way));
        std::string circle;
        for (const Pair& each : way)
            circle += said(each) + " (" + std::string(msccl_word(now(each.first, each.second).type)) + ", " +
                      std::to_string(now(each.first, each.second).line) + ") → ";
        circle += said(way.front());
        fail(now(way.front().first, way.front().second).line, {"algorithm.circle", {{"circle", circle}}});
    }

    Program built() {
        Program program;
        program.op = msccl_.op;
        program.ranks = static_cast<int32_t>(msccl_.gpus.size());
        program.chunks = msccl_.chunks;
        program.scratch = *std::ranges::max_element(scratch_);
        program.result_in_data = msccl_.in_place;
        program.input_is_kept = !msccl_.in_place && (msccl_.op == CollectiveOp::all_reduce ||
                                                     msccl_.op == CollectiveOp::all_to_all);
        ProgramBuilder builder(program);
        for (const Played& each : played_) {
            if (builder.is_full()) fail(each.line, {"algorithm.too_many_steps", {{"most", kMostSteps}}});
            if (each.kind == Played::Kind::send)
                builder.send(each.rank, each.peer, each.round, each.line, each.chunks);
            else if (each.kind == Played::Kind::receive)
                builder.receive(each.rank, each.peer, each.round, each.line, each.chunks, each.own);
            else
                builder.copy(each.rank, each.round, each.line, each.chunks, *each.own, each.adds);
        }
        builder.finish(ProgramBuilder::Pack::before_any_write);
        return program;
    }

    const Msccl& msccl_;
    Mistakes mistakes_;
    std::vector<std::vector<BlockState>> blocks_;  ///< by gpu, block
    std::vector<int32_t> room_, scratch_;          ///< by gpu: where rrs works; all chunks of scratch
    std::priority_queue<Ready> ready_;
    std::map<Channel, std::deque<Posted>> under_way_;
    std::map<Pair, std::vector<Posted>> sent_;
    std::map<Pair, int64_t> received_;  ///< how many of the pair's messages, in the order sent
    std::map<std::pair<Pair, int64_t>, Chunks> aside_;
    std::set<Early> early_;
    std::map<Pair, std::vector<Pair>> waiting_for_block_;
    std::map<Channel, Pair> waiting_for_message_;
    std::vector<Played> played_;
    int64_t taken_ = 0;
};

}  // namespace

Program ordered(const Msccl& msccl, const std::string& file) {
    return Play(msccl, file).program();
}

}  // namespace meshscope::comm::own
