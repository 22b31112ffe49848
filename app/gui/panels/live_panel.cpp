#include <algorithm>

#include "app/gui/panels/panels.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/view/live_view.h"

namespace meshscope::panels {
namespace {

using Stands = view::LiveRank::Stands;

constexpr float kLiveFoot = 60;

/// What stands in the panel's head: how to go on, or how it ended.
float state_of(Ui& ui, const view::LiveWorld& world, float x, float y, float w) {
    if (world.diagnosis) {
        const Message words = sentence(*world.diagnosis);
        ui.cross({x + 8, y + 14}, Token::err);
        return paragraph(ui, x + 24, y + 2, w - 24, ui.say(words.id, words.args), Face::body, Token::err) + 8;
    }
    if (world.ended && view::broke_off(world))
        return paragraph(ui, x, y, w, ui.say("live.ended.broke"), Face::body, Token::err) + 8;
    const char* id = world.ended ? "live.ended" : world.going ? "live.going" : "live.what";
    return paragraph(ui, x, y, w, ui.say(id), Face::body, Token::soft) + 8;
}

/// One rank: how it stands, and how far it can be let go.
float rank_row(Ui& ui, Memory& memory, const view::LiveWorld& world, const view::LiveRank& rank, float x,
               float y, float w) {
    const std::string name = "rank " + std::to_string(rank.rank), number = std::to_string(rank.rank);
    ui.hairline(x, y, w);
    y += 8;
    ui.text({x, y, ui.width(name, Face::body), 26}, name, Face::body, Token::text);
    const bool free = rank.stands == Stands::held && !world.going && !world.ended;
    const std::string hop = ui.say("live.hop"), call = ui.say("live.call");
    const float hop_w = button_width(ui, hop, false), call_w = button_width(ui, call, false);
    const bool beside = ui.width(name, Face::body) + 16 + hop_w + 8 + call_w <= w;
    if (!beside) y += 28;
    const float right = beside ? x + w : x + hop_w + 8 + call_w;
    if (rank.stands == Stands::held && !world.ended) {
        if (button(ui, memory, "live.at.hop." + number, {right - call_w - 8 - hop_w, y, hop_w, 32}, hop,
                   ButtonLook::plain, free, Icon::none, ui.say("live.hop.what")))
            ui.act(session::LetGo{rank.rank, session::LetGoHow::hop});
        if (button(ui, memory, "live.at.call." + number, {right - call_w, y, call_w, 32}, call,
                   ButtonLook::plain, free, Icon::none, ui.say("live.call.what")))
            ui.act(session::LetGo{rank.rank, session::LetGoHow::collective});
        y += 36;
    } else {
        y += 28;
    }
    const Message stands = view::live_sentence(rank);
    y = paragraph(ui, x, y, w, ui.say(stands.id, stands.args), Face::caption,
                  rank.stands == Stands::failed    ? Token::err
                  : rank.stands == Stands::waiting ? Token::warn
                                                   : Token::soft);
    if (!rank.call.op.empty()) {
        const auto say = [&ui](const std::string& id, std::vector<MessageArg> args) {
            return ui.say(id, std::move(args));
        };
        y = paragraph(ui, x, y, w, view::live_call(rank.call, say), Face::mono_small, Token::mute);
    }
    return y + 8;
}

}  // namespace

void live_panel(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "live";
    const session::LiveState& live = *ui.state.live;
    const view::LiveWorld& world = live.world;
    ui.fill(box, Token::panel);
    const float x = box.x + 24, w = box.w - 48;
    const float head = std::max(0.0F, back_to_lesson(ui, memory, x, box.y + 12, w) - box.y - 12);
    {
        Region region(ui, "live", {box.x, box.y + head, box.w, box.h - kLiveFoot - head});
        float y = region.top() + 16;
        y = paragraph(ui, x, y, w, ui.say("live.title"), Face::lesson_title, Token::text) + 4;
        y = paragraph(ui, x, y, w, live.name, Face::mono_small, Token::mute) + 8;
        y = state_of(ui, world, x, y, w);
        if (!world.ranks.empty()) {
            const view::Picture picture = view::live_view(view_input(ui, box.w - 8, box.h), world);
            picture_panel(ui, memory, "live", picture, {box.x, y});
            y += picture.height + 12;
        }
        // The chosen rank stands next to the ring, where its buttons are at hand.
        const auto chosen = ui.state.selection.rank;
        for (const bool first : {true, false})
            for (const view::LiveRank& rank : world.ranks)
                if ((chosen == rank.rank) == first) y = rank_row(ui, memory, world, rank, x, y, w);
        region.content_ends(y + 8);
    }
    const float y = box.y + box.h - kLiveFoot;
    ui.hairline(box.x, y, box.w);
    const std::string all = ui.say("live.all"), stop = ui.say(world.ended ? "ui.close" : "live.stop");
    const float all_w = button_width(ui, all, false), stop_w = button_width(ui, stop, false);
    float at = x;
    if (!world.ended) {
        if (button(ui, memory, "live.at.all", {at, y + 11, all_w, 38}, all, ButtonLook::primary,
                   !world.going))
            ui.act(session::LetGo{0, session::LetGoHow::all});
        at += all_w + 8;
    }
    if (button(ui, memory, "live.at.stop", {at, y + 11, stop_w, 38}, stop)) ui.act(session::StopLive{});
}

}  // namespace meshscope::panels
