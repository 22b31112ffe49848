// Schedules written down: each step's stretches become runs of chunks, and a message that sender and receiver
// cut differently becomes one message a piece.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/comm/schedule/own/whole_schedule.h"

namespace meshscope::comm {
namespace {

using Kind = Step::Kind;

/// A step of one run of chunks.
struct Plain {
    Kind kind = Kind::copy;  ///< send, receive, reduce, copy, add
    int32_t peer = -1, round = 0;
    Stretch to, own;  ///< a send's are `own`
};

/// The lengths of the pieces into which a message is cut on one side.
std::vector<int64_t> cut_of(std::span<const Stretch> stretches) {
    std::vector<int64_t> cut;
    for (const Stretch& each : stretches)
        if (each.elements > 0) cut.push_back(each.elements);
    return cut;
}

std::vector<int64_t> common_cut(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    std::set<int64_t> ends;
    for (const auto& cut : {a, b}) {
        int64_t end = 0;
        for (const int64_t each : cut) ends.insert(end += each);
    }
    std::vector<int64_t> cut;
    int64_t before = 0;
    for (const int64_t end : ends) {
        cut.push_back(end - before);
        before = end;
    }
    return cut;
}

/// The pieces of a list of stretches that are cut at least so finely.
std::vector<Stretch> pieces(std::span<const Stretch> stretches, const std::vector<int64_t>& cut) {
    std::vector<Stretch> found;
    std::size_t at = 0;
    int64_t used = 0;
    for (const int64_t length : cut) {
        while (at < stretches.size() && used == stretches[at].elements) {
            ++at;
            used = 0;
        }
        if (at == stretches.size()) break;
        found.push_back(stretches[at].part(used, length));
        used += length;
    }
    return found;
}

/// All ranks' steps in plain ones.
class Plainly {
  public:
    explicit Plainly(const WholeSchedule& schedule) : schedule_(schedule) {
        for (int32_t r = 0; r < schedule.call.ranks; ++r)
            for (const KeptStep& each : steps(r)) {
                if (each.step.silent) continue;
                if (each.step.kind == Kind::send) sent_[{r, each.step.peer}].push_back(cut_of(each.from));
                if (each.step.kind == Kind::receive || each.step.kind == Kind::reduce)
                    taken_[{each.step.peer, r}].push_back(cut_of(each.to));
                if (each.step.kind == Kind::reduce_many)
                    for (int32_t peer = 0; peer < schedule.call.ranks; ++peer)
                        if (peer != r) taken_[{peer, r}].push_back(cut_of(each.to));
            }
        for (auto& [pair, cuts] : sent_)
            for (std::size_t i = 0; i < cuts.size(); ++i)
                cuts_[pair].push_back(common_cut(cuts[i], taken_[pair][i]));
        for (int32_t r = 0; r < schedule.call.ranks; ++r) rank(r);
    }
    std::vector<std::vector<Plain>> made;
    std::vector<int64_t> scratch;  ///< by rank: chunks

  private:
    const std::vector<KeptStep>& steps(int32_t r) const {
        return schedule_.ranks[static_cast<std::size_t>(r)].steps;
    }

    void rank(int32_t r) {
        std::map<std::pair<int32_t, int32_t>, std::size_t> next;
        offsets_.clear();
        scratch.push_back(0);
        std::vector<Plain>& plain = made.emplace_back();
        const auto cut = [&](int32_t from, int32_t to) { return cuts_[{from, to}][next[{from, to}]++]; };
        for (const KeptStep& each : steps(r)) {
            const Step& step = each.step;
            if (step.silent) continue;
            switch (step.kind) {
                case Kind::scratch:
                    offsets_.push_back(scratch.back());
                    scratch.back() += step.elements;
                    break;
                case Kind::send:
                    for (const Stretch& piece : pieces(each.from, cut(r, step.peer)))
                        plain.push_back({Kind::send, step.peer, step.round, {}, at(piece)});
                    break;
                case Kind::receive:
                    for (const Stretch& piece : pieces(each.to, cut(step.peer, r)))
                        plain.push_back({Kind::receive, step.peer, step.round, at(piece), {}});
                    break;
                case Kind::reduce:
                    reduce(plain, step, each.to, each.combined(), step.peer, cut(step.peer, r));
                    break;
                case Kind::reduce_many: {
                    std::span<const Stretch> own(&step.own, 1);
                    for (int32_t peer = 0; peer < schedule_.call.ranks; ++peer) {
                        if (peer == r) continue;
                        reduce(plain, step, each.to, own, peer, cut(peer, r));
                        own = each.to;
                    }
                    break;
                }
                case Kind::copy:
                case Kind::add:
                    if (step.elements > 0 && at(each.to.front()) != at(step.own))
                        plain.push_back({step.kind, -1, step.round, at(each.to.front()), at(step.own)});
                    break;
                case Kind::finish:
                case Kind::wait:
                    break;
            }
        }
    }
    void reduce(std::vector<Plain>& plain, const Step& step, std::span<const Stretch> to,
                std::span<const Stretch> own, int32_t peer, const std::vector<int64_t>& cut) const {
        const std::vector<Stretch> targets = pieces(to, cut), sources = pieces(own, cut);
        for (std::size_t i = 0; i < targets.size(); ++i)
            plain.push_back({Kind::reduce, peer, step.round, at(targets[i]), at(sources[i])});
    }
    /// Scratch buffers one behind the other.
    Stretch at(const Stretch& stretch) const {
        if (stretch.buffer < Stretch::kScratch) return stretch;
        return {Stretch::kScratch,
                stretch.first + offsets_[static_cast<std::size_t>(stretch.buffer - Stretch::kScratch)],
                stretch.elements};
    }

    const WholeSchedule& schedule_;
    std::map<std::pair<int32_t, int32_t>, std::vector<std::vector<int64_t>>> sent_, taken_, cuts_;
    std::vector<int64_t> offsets_;
};

/// One rank's steps as threadblocks.
class Blocks {
  public:
    explicit Blocks(const WholeSchedule& schedule) : schedule_(schedule) {}

    void add(const Plain& step) {
        const int side = step.kind == Kind::send ? 1 : step.peer < 0 ? 0 : 2;
        const auto [found, is_new] =
            index_.try_emplace({side, step.peer}, static_cast<int32_t>(blocks_.size()));
        if (is_new) blocks_.push_back({side, step.peer, {}});
        Block& block = blocks_[static_cast<std::size_t>(found->second)];
        const auto number = static_cast<int32_t>(block.steps.size());
        // In the order of the rank: after the step before it, unless that stands in the same threadblock.
        const bool waits = last_.first >= 0 && last_.first != found->second;
        const char* type = step.kind == Kind::send      ? "s"
                           : step.kind == Kind::receive ? "r"
                           : step.kind == Kind::reduce  ? "rrc"
                           : step.kind == Kind::add     ? "re"
                                                        : "cpy";
        const Stretch source = step.kind == Kind::receive ? step.to : step.own;
        const Stretch target = step.kind == Kind::send ? step.own : step.to;
        if (waits) needed_.insert(last_);
        block.steps.push_back("type=\"" + std::string(type) + "\" " + place("src", source) +
                              place("dst", target) + "cnt=\"" + std::to_string(source.elements) +
                              "\" depid=\"" + std::to_string(waits ? last_.first : -1) + "\" deps=\"" +
                              std::to_string(waits ? last_.second : -1) + "\"");
        last_ = {found->second, number};
    }
    std::string text() const {
        std::string text;
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            const Block& block = blocks_[b];
            text += "    <tb id=\"" + std::to_string(b) + "\" send=\"" +
                    std::to_string(block.side == 1 ? block.peer : -1) + "\" recv=\"" +
                    std::to_string(block.side == 2 ? block.peer : -1) + "\" chan=\"0\">\n";
            for (std::size_t s = 0; s < block.steps.size(); ++s)
                text += "      <step s=\"" + std::to_string(s) + "\" " + block.steps[s] + " hasdep=\"" +
                        (needed_.contains({static_cast<int32_t>(b), static_cast<int32_t>(s)}) ? "1" : "0") +
                        "\"/>\n";
            text += "    </tb>\n";
        }
        return text;
    }

  private:
    struct Block {
        int side = 0;  ///< 0: copies, 1: sends, 2: receives
        int32_t peer = -1;
        std::vector<std::string> steps;
    };
    std::string place(const std::string& which, const Stretch& stretch) const {
        const CollectiveOp op = schedule_.call.op;
        char buffer = stretch.buffer == Stretch::kInput    ? 'i'
                      : stretch.buffer == Stretch::kOutput ? 'o'
                                                           : 's';
        if (buffer == 'o' &&
            (op == CollectiveOp::all_reduce || op == CollectiveOp::broadcast || op == CollectiveOp::reduce))
            buffer = 'i';
        return which + "buf=\"" + buffer + "\" " + which + "off=\"" + std::to_string(stretch.first) + "\" ";
    }

    const WholeSchedule& schedule_;
    std::vector<Block> blocks_;
    std::map<std::pair<int, int32_t>, int32_t> index_;
    std::set<std::pair<int32_t, int32_t>> needed_;
    std::pair<int32_t, int32_t> last_{-1, -1};
};

bool is_apart(CollectiveOp op) {
    return op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_to_all;
}

/// One [[step]] of the TOML form.
std::string toml_step(const WholeSchedule& schedule, const std::string& head, int32_t sender,
                      int32_t receiver, const Stretch& from, const Stretch& to, bool adds) {
    const bool exchange = schedule.call.op == CollectiveOp::all_to_all;
    const int64_t part = schedule.call.elements / schedule.call.ranks;
    const auto first = [&](const Stretch& at, int32_t owner) {
        const bool own_part =
            schedule.call.op == CollectiveOp::reduce_scatter && at.buffer == Stretch::kOutput;
        const bool own_input = schedule.call.op == CollectiveOp::all_gather && at.buffer == Stretch::kInput;
        return at.first + (own_part || own_input ? owner * part : 0);
    };
    const auto buffer = [&](const Stretch& at) -> std::string {
        if (at.buffer >= Stretch::kScratch) return "scratch";
        if (!exchange) return "data";
        return at.buffer == Stretch::kInput ? "input" : "output";
    };
    const int64_t chunk = first(from, sender), at = first(to, receiver);
    std::string text = "[[step]]\n" + head + "chunk = " + std::to_string(chunk) + "\n";
    if (at != chunk) text += "at = " + std::to_string(at) + "\n";
    if (from.elements > 1) text += "count = " + std::to_string(from.elements) + "\n";
    if (adds) text += "then = \"add\"\n";
    if (buffer(from) != (exchange ? "input" : "data")) text += "from_buffer = \"" + buffer(from) + "\"\n";
    if (buffer(to) != (exchange ? "output" : "data")) text += "to_buffer = \"" + buffer(to) + "\"\n";
    return text + "\n";
}

std::string toml_xml_text(const std::string& text) {
    std::string safe = "\"";
    for (const char c : text)
        if (c == '"' || c == '\\')
            safe += std::string("\\") + c;
        else if (static_cast<unsigned char>(c) >= 0x20)
            safe += c;
    return safe + "\"";
}

/// The steps in the rounds of the form: a copy stands in the round of the message that follows it on its
/// rank.
std::string toml_steps(const WholeSchedule& schedule, const Plainly& plainly) {
    struct Receipt {
        Stretch to, own;
        bool adds = false;
    };
    std::map<std::pair<int32_t, int32_t>, std::deque<Receipt>> receipts;
    for (std::size_t r = 0; r < plainly.made.size(); ++r)
        for (const Plain& step : plainly.made[r])
            if (step.kind == Kind::receive || step.kind == Kind::reduce)
                receipts[{step.peer, static_cast<int32_t>(r)}].push_back(
                    {step.to, step.own, step.kind == Kind::reduce});
    std::map<int32_t, std::string> rounds;
    for (std::size_t at = 0; at < plainly.made.size(); ++at) {
        const auto r = static_cast<int32_t>(at);
        int32_t next = 0;  // the round of copies that stand here
        const auto copy = [&](int32_t round, const Stretch& to, const Stretch& from, bool adds) {
            if (schedule.call.op != CollectiveOp::all_to_all &&
                std::max(to.buffer, from.buffer) < Stretch::kScratch &&
                schedule.call.op != CollectiveOp::reduce_scatter)
                return;  // one buffer in this form
            rounds[round] += toml_step(
                schedule, "round = " + std::to_string(round) + "\nrank = " + std::to_string(r) + "\n", r, r,
                from, to, adds);
        };
        for (const Plain& step : plainly.made[at]) {
            switch (step.kind) {
                case Kind::send: {
                    const auto to = receipts[{r, step.peer}].front();
                    receipts[{r, step.peer}].pop_front();
                    rounds[step.round] +=
                        toml_step(schedule,
                                  "round = " + std::to_string(step.round) + "\nfrom = " + std::to_string(r) +
                                      "\nto = " + std::to_string(step.peer) + "\n",
                                  r, step.peer, step.own, to.to, to.adds);
                    break;
                }
                case Kind::receive:
                    next = std::max(next, step.round + 1);
                    break;
                case Kind::reduce:
                    if (step.to != step.own) copy(step.round, step.to, step.own, false);
                    next = std::max(next, step.round + 1);
                    break;
                default:
                    copy(next, step.to, step.own, step.kind == Kind::add);
                    break;
            }
        }
    }
    std::string text;
    for (const auto& [round, steps] : rounds) text += steps;
    return text;
}

}  // namespace

std::string msccl_of(const WholeSchedule& schedule, const std::string& name) {
    const Plainly plainly(schedule);
    const CollectiveOp op = schedule.call.op;
    const int64_t part = schedule.call.elements / schedule.call.ranks;
    const auto number = [](int64_t n) { return std::to_string(n); };
    std::string text =
        "<algo name=\"" + xml_text(name) + "\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"" +
        number(schedule.chunks()) + "\" ngpus=\"" + number(schedule.call.ranks) + "\" coll=\"" +
        std::string(own::msccl_word(op)) + "\" inplace=\"" + (is_apart(op) ? "0" : "1") + "\">\n";
    for (int32_t r = 0; r < schedule.call.ranks; ++r) {
        Blocks blocks(schedule);
        if (op == CollectiveOp::all_to_all)  // a rank's own part, which the engine puts in place itself
            blocks.add(
                {Kind::copy, -1, 0, {Stretch::kOutput, r * part, part}, {Stretch::kInput, r * part, part}});
        for (const Plain& step : plainly.made[static_cast<std::size_t>(r)]) blocks.add(step);
        const bool gathers = op == CollectiveOp::all_gather;
        text += "  <gpu id=\"" + number(r) + "\" i_chunks=\"" + number(gathers ? 0 : schedule.chunks()) +
                "\" o_chunks=\"" +
                number(gathers || op == CollectiveOp::all_to_all ? schedule.chunks()
                       : op == CollectiveOp::reduce_scatter      ? part
                                                                 : 0) +
                "\" s_chunks=\"" + number(plainly.scratch[static_cast<std::size_t>(r)]) + "\">\n" +
                blocks.text() + "  </gpu>\n";
    }
    return text + "</algo>\n";
}

std::string toml_of(const WholeSchedule& schedule, const std::string& name) {
    const Plainly plainly(schedule);
    std::string text = "name = " + toml_xml_text(name) + "\ncollective = \"" +
                       std::string(meshscope::name(schedule.call.op)) +
                       "\"\nranks = " + std::to_string(schedule.call.ranks) +
                       "\nchunks = " + std::to_string(schedule.chunks()) + "\n";
    if (const int64_t scratch = *std::ranges::max_element(plainly.scratch); scratch > 0)
        text += "scratch = " + std::to_string(scratch) + "\n";
    text += "\n" + toml_steps(schedule, plainly);
    try {
        OwnAlgorithm::parse(text, name)->proved(schedule.call.ranks);
    } catch (const InputError&) {
        return "";
    }
    return text;
}

}  // namespace meshscope::comm
