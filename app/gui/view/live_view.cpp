#include "app/gui/view/live_view.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/paint.h"
#include "core/base/rank_set.h"

namespace meshscope::view {
namespace {

constexpr float kPad = 24, kLeastBetween = 30, kMost = 20;

bool among(const std::vector<int32_t>& ranks, int32_t rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

class Live {
  public:
    Live(const Input& input, const LiveWorld& world) : in_(input), p_(input), world_(world) {}

    Picture draw() {
        const auto count = static_cast<float>(std::max<std::size_t>(1, world_.ranks.size()));
        const float width = in_.size.width - 2 * kPad;
        // A ring on which neighbours do not touch, as large as there is room for.
        const float most = width / 2 - kMost - 2;
        const float need = count * kLeastBetween / (2 * std::numbers::pi_v<float>);
        ring_ = std::clamp(need, std::min(64.0F, most), most);
        circle_ = std::clamp(std::numbers::pi_v<float> * ring_ / count - 3, 3.0F, kMost);
        centre_ = {in_.size.width / 2, ring_ + circle_ + 10};
        for (const LiveRank& rank : world_.ranks) arrow(rank);
        for (const LiveRank& rank : world_.ranks) dot(rank);
        for (const LiveRank& rank : world_.ranks)
            p_.tell("rank " + std::to_string(rank.rank) + ": " + words(live_sentence(rank)) +
                    (rank.call.op.empty() ? "" : " · " + call_words(rank.call)));
        if (world_.diagnosis) p_.tell(words(sentence(*world_.diagnosis)));
        Picture picture = p_.take();
        picture.height = picture.content_height = 2 * (ring_ + circle_ + 10);
        return picture;
    }

  private:
    std::string words(const Message& message) const { return p_.say(message.id, message.args); }
    std::string call_words(const CallReport& call) const {
        return live_call(call, [this](const std::string& id, std::vector<MessageArg> args) {
            return p_.say(id, std::move(args));
        });
    }

    Point at(int32_t rank, float radius) const {
        const double angle =
            2 * std::numbers::pi * rank / std::max<double>(1, static_cast<double>(world_.ranks.size())) -
            std::numbers::pi / 2;
        return {centre_.x + radius * static_cast<float>(std::cos(angle)),
                centre_.y + radius * static_cast<float>(std::sin(angle))};
    }

    bool in_ring(int32_t rank) const { return world_.diagnosis && among(world_.diagnosis->cycle, rank); }
    bool is_culprit(int32_t rank) const {
        return world_.diagnosis && among(world_.diagnosis->culprits, rank);
    }

    /// From who waits to whom it waits for, bent towards the middle so that two that wait for each other are
    /// told apart.
    void arrow(const LiveRank& rank) {
        const bool peer = rank.peer >= 0 && static_cast<std::size_t>(rank.peer) < world_.ranks.size();
        if (rank.stands != LiveRank::Stands::waiting || !peer || rank.peer == rank.rank) return;
        const Point a = at(rank.rank, ring_), b = at(rank.peer, ring_);
        const float dx = b.x - a.x, dy = b.y - a.y, length = std::max(1.0F, std::hypot(dx, dy));
        const Point from{a.x + dx / length * (circle_ + 2), a.y + dy / length * (circle_ + 2)};
        const Point to{b.x - dx / length * (circle_ + 3), b.y - dy / length * (circle_ + 3)};
        const float bend = std::min(16.0F, length / 6);
        const Point middle{(from.x + to.x) / 2 - dy / length * bend,
                           (from.y + to.y) / 2 + dx / length * bend};
        const bool bad = in_ring(rank.rank) && in_ring(rank.peer);
        p_.layer = 1;
        Shape& line = p_.bezier(from, middle, middle, to, bad ? Token::err : Token::soft, bad ? 2.5F : 1.4F);
        line.arrow = true;
        if (!bad) line.stroke_style = Stroke::dotted;
    }

    void broken_ring(Point middle) {
        constexpr int kParts = 10;
        for (int k = 0; k < kParts; ++k) {
            const auto at_angle = [&](float turn) {
                const float angle = 2 * std::numbers::pi_v<float> * (static_cast<float>(k) + turn) / kParts;
                return Point{middle.x + circle_ * std::cos(angle), middle.y + circle_ * std::sin(angle)};
            };
            p_.line(at_angle(0), at_angle(0.55F), Token::mute, 1.4F);
        }
    }

    void cross(Point c) {
        p_.layer = 4;
        p_.circle(c, 6, Token::panel);
        p_.cross(c, 3, Token::err, 1.8F);
    }

    void dot(const LiveRank& rank) {
        const Point middle = at(rank.rank, ring_);
        const bool bad = in_ring(rank.rank) || is_culprit(rank.rank);
        const bool held = rank.stands == LiveRank::Stands::held && !world_.ended;
        const Id id{"live_rank", rank.rank};
        p_.layer = 2;
        const bool stopped = rank.stands == LiveRank::Stands::stopped;
        const bool failed = rank.stands == LiveRank::Stands::failed;
        Shape& shape = p_.circle(middle, circle_,
                                 rank.stands == LiveRank::Stands::gone ? Token::ghost
                                 : held                                ? Token::accentbg
                                                                       : Token::raised,
                                 id);
        shape.stroke = bad || failed ? Token::err
                       : held        ? Token::accent
                       : stopped     ? Token::mute
                                     : Token::line2;
        shape.width = bad || failed || held ? 2 : 1;
        if (stopped) {  // a broken outline
            shape.stroke = Token::none;
            broken_ring(middle);
        }
        if (failed) cross({middle.x + circle_ * 0.75F, middle.y - circle_ * 0.75F});
        if (in_.selection.rank == rank.rank) {
            Shape& chosen = p_.circle(middle, circle_ + 4, Token::none);
            chosen.pattern = Fill::none;
            chosen.stroke = Token::sel;
            chosen.width = 2;
        }
        const std::string number = std::to_string(rank.rank);
        p_.layer = 3;
        if (p_.width(number, Face::mono_small) <= 2 * circle_ - 4)
            p_.label({middle.x - circle_, middle.y - circle_, 2 * circle_, 2 * circle_}, number,
                     Face::mono_small, rank.stands == LiveRank::Stands::gone ? Token::mute : Token::text,
                     Token::none, id);
    }

    const Input& in_;
    Painter p_;
    const LiveWorld& world_;
    float ring_ = 0, circle_ = 0;
    Point centre_;
};

}  // namespace

bool broke_off(const LiveWorld& world) {
    return std::any_of(world.ranks.begin(), world.ranks.end(), [](const LiveRank& rank) {
        return rank.stands == LiveRank::Stands::failed || rank.stands == LiveRank::Stands::stopped;
    });
}

Message live_sentence(const LiveRank& rank) {
    const MessageArg peer{"peer", int64_t{rank.peer}}, bytes{"bytes", format_exact_bytes(rank.bytes)};
    // Beside tensors travel the descriptions of calls and checksums, whose bytes are no tensor's.
    const std::string what = rank.carries == LiveRank::Carries::fingerprint ? ".fingerprint"
                             : rank.carries == LiveRank::Carries::checksum  ? ".checksum"
                                                                            : "";
    if (rank.stands == LiveRank::Stands::gone) return {"live.gone", {}};
    if (rank.stands == LiveRank::Stands::failed) return {"live.failed", {}};
    if (rank.stands == LiveRank::Stands::stopped) return {"live.stopped", {}};
    if (rank.stands == LiveRank::Stands::waiting) {
        if (rank.peer < 0) return {"live.waits", {}};
        if (rank.next == "wait") return {"live.waits.read", {peer}};
        return {"live.waits.message" + what, {peer}};
    }
    if (rank.next == "post") return {"live.post" + what, {bytes, peer}};
    if (rank.next == "receive") return {"live.receive" + what, {bytes, peer}};
    if (rank.next == "wait") return {"live.look", {peer}};
    return {"live.start", {}};
}

std::string live_call(
    const CallReport& call,
    const std::function<std::string(const std::string& id, std::vector<MessageArg> args)>& say) {
    const std::vector<MessageArg> of_group{{"call", signature(call)},
                                           {"sequence", int64_t{call.sequence}},
                                           {"group", call.group},
                                           {"ranks", rank_list(call.group_ranks)}};
    // A group of no mesh dim is named by its ranks, each of them: those are told once, and folded.
    const bool named_by_ranks = call.group == to_text(rank_list(call.group_ranks));
    std::string text = say(named_by_ranks ? "live.at.ranks" : "live.at", of_group);
    if (!call.phase.empty())
        text = say(
            "live.at.step",
            {{"what", text}, {"step", int64_t{call.step}}, {"phase", say("view.phase." + call.phase, {})}});
    return call.source.empty() ? text : text + ", " + call.source;
}

Picture live_view(const Input& input, const LiveWorld& world) {
    return Live(input, world).draw();
}

}  // namespace meshscope::view
