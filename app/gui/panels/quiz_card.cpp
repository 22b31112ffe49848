#include <algorithm>
#include <cstdlib>

#include "app/gui/panels/inline_text.h"
#include "app/gui/panels/panels.h"
#include "app/gui/panels/rich_text.h"
#include "core/scenario/evaluate.h"

namespace meshscope::panels {
namespace {

using session::QuizCard;
using session::QuizState;
using Told = Memory::Told;

std::vector<int> listed(const std::string& guess) {
    std::vector<int> ranks;
    for (const char* at = guess.c_str(); *at != '\0';) {
        char* end = nullptr;
        const long value = std::strtol(at, &end, 10);
        if (end == at) {
            ++at;
        } else {
            ranks.push_back(static_cast<int>(value));
            at = end;
        }
    }
    return ranks;
}

std::string join(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
    return text;
}

/// What an answer reads like: a choice's words, a list in brackets, a number.
std::string in_words(const Ui& ui, const QuizCard& quiz, const std::string& answer) {
    if (quiz.kind == "choice") {
        const auto index = static_cast<size_t>(std::atoi(answer.c_str()));
        if (index >= quiz.choices.size()) return answer;
        return (ui.chinese() ? "“" : "\"") + ui.pick(quiz.choices[index].text) + (ui.chinese() ? "”" : "\"");
    }
    if (quiz.kind == "ranks" || quiz.kind == "order") {
        std::string text;
        for (const std::string& item : scenario::list_items(answer))
            text += (text.empty() ? "" : ", ") + item;
        return "[" + text + "]";
    }
    return answer == quiz.answer ? scenario::rounded_answer(answer, quiz.tolerance) : answer;
}

/// Whether the chips of the ranks can spell the answer: ranks of the run, each once.
bool of_ranks(const Ui& ui, const QuizCard& quiz) {
    if (quiz.kind == "ranks") return true;
    std::vector<std::string> left;
    for (int r = 0; r < ui.state.document->trace->info.world_size; ++r) left.push_back(std::to_string(r));
    for (const std::string& item : scenario::list_items(quiz.answer)) {
        const auto found = std::find(left.begin(), left.end(), item);
        if (found == left.end()) return false;
        left.erase(found);
    }
    return true;
}

float choices(Ui& ui, Memory& memory, const QuizCard& quiz, const QuizState& state, float x, float y,
              float w) {
    for (size_t i = 0; i < quiz.choices.size(); ++i) {
        const std::string index = std::to_string(i);
        const bool right = session::right_answer(quiz, index), chosen = state.guess == index;
        const bool wrong = !right && chosen && (state.revealed || index == state.missed);
        const int verdict = wrong ? -1 : state.revealed && right ? 1 : 0;
        float height = 0;
        if (choice_row(ui, memory, quiz.id + ".choice" + index, x, y, w, ui.pick(quiz.choices[i].text),
                       chosen, verdict, !state.revealed, height)) {
            ui.act(session::Guess{quiz.id, index});
        }
        y += height + 6;
    }
    return y + 2;
}

/// Chips of every rank: any of them (ranks), or in the order they are pressed (order).
float rank_chips(Ui& ui, Memory& memory, const QuizCard& quiz, const QuizState& state, float x, float y,
                 float w) {
    const int count = ui.state.document->trace->info.world_size;
    std::vector<int> picked = listed(state.guess);
    const float side = 36, gap = 6;
    const int a_row = std::max(1, static_cast<int>((w + gap) / (side + gap)));
    for (int rank = 0; rank < count; ++rank) {
        const Rect box{x + static_cast<float>(rank % a_row) * (side + gap),
                       y + static_cast<float>(rank / a_row) * (side + gap), side, side};
        const auto found = std::find(picked.begin(), picked.end(), rank);
        if (chip(ui, memory, quiz.id + ".rank" + std::to_string(rank), box, std::to_string(rank),
                 found != picked.end(), !state.revealed)) {
            if (found != picked.end()) {
                picked.erase(found);
            } else {
                picked.push_back(rank);
            }
            if (quiz.kind == "ranks") std::sort(picked.begin(), picked.end());
            ui.act(session::Guess{quiz.id, join(picked)});
            break;
        }
    }
    y += static_cast<float>((count + a_row - 1) / a_row) * (side + gap);
    if (quiz.kind == "order" && !state.guess.empty()) {
        y = paragraph(ui, x, y + 2, w, in_words(ui, quiz, state.guess), Face::mono, Token::text);
    }
    return y + 4;
}

/// A field for a number, or for a list of what the chips cannot spell.
float typed_answer(Ui& ui, Memory& memory, const QuizCard& quiz, const QuizState& state, float x, float y,
                   float w) {
    if (state.revealed) return y;
    const std::string id = quiz.id + ".number";
    const std::string wanted = quiz.kind == "number" ? "ui.quiz.number_hint" : "ui.quiz.list_hint";
    const bool entered = text_field(ui, memory, id, {x, y, w, 42}, ui.say(wanted));
    const std::string& typed = memory.fields[id];
    if (typed != state.guess) ui.act(session::Guess{quiz.id, typed});
    if (entered) {
        memory.entered[quiz.id] = typed;
        if (!typed.empty()) ui.act(session::Check{quiz.id});
        type_over(memory, id);
    }
    return y + 42 + 10;
}

std::string verdict_words(const Ui& ui, const QuizCard& quiz, const QuizState& state) {
    return ui.say(quiz.kind == "choice" ? "ui.quiz.verdict.choice" : "ui.quiz.verdict",
                  {{"guess", in_words(ui, quiz, state.guess)}, {"answer", in_words(ui, quiz, quiz.answer)}});
}

float verdict(Ui& ui, const QuizCard& quiz, const QuizState& state, float x, float y, float w) {
    const bool right = session::right_answer(quiz, state.guess);
    if (right) {
        ui.tick({x + 8, y + ui.line(Face::body) / 2}, Token::ok);
    } else {
        ui.cross({x + 8, y + ui.line(Face::body) / 2}, Token::err);
    }
    return paragraph(ui, x + 26, y, w - 26, verdict_words(ui, quiz, state), Face::body, Token::text);
}

/// The hint for this wrong guess, where the lesson has one.
std::string hint_for(const Ui& ui, const QuizCard& quiz, const std::string& guess) {
    if (quiz.kind == "choice" && !guess.empty()) {
        const auto index = static_cast<size_t>(std::atoi(guess.c_str()));
        if (index < quiz.choices.size()) return ui.pick(quiz.choices[index].hint);
    }
    QuizCard as_answer = quiz;
    for (const QuizCard::Hint& hint : quiz.hints) {
        as_answer.answer = hint.when;
        if (session::right_answer(as_answer, guess)) return ui.pick(hint.text);
    }
    return {};
}

/// What stands there of the hint: once a guess was checked and was wrong it stands there unasked.
std::string shown_hint(const Ui& ui, const QuizCard& quiz, const QuizState& state) {
    if (state.guess.empty()) return {};
    const bool is_wrong =
        state.revealed ? !session::right_answer(quiz, state.guess) : state.guess == state.missed;
    return is_wrong || (state.hint_shown && !state.revealed) ? hint_for(ui, quiz, state.guess)
                                                             : std::string();
}

/// A link beside a button that is `first_wide`, or below it where there is no room. Gives the y of its row.
float second_button(Ui& ui, Memory& memory, const std::string& id, const std::string& words, float left,
                    float y, float first_wide, float room, bool& pressed) {
    const float wide = ui.width(words, Face::body) + 8;
    const bool beside = first_wide + 12 + wide <= room;
    if (!beside) y += 44;
    pressed = button(ui, memory, id, {beside ? left + first_wide + 12 : left, y, wide, 40}, words,
                     ButtonLook::link);
    return y;
}

/// What the card says of the answer that was given.
Told told_of(const Memory& memory, const QuizCard& quiz, const QuizState& state) {
    if (state.revealed) return {Told::What::answer, {}};
    if (state.guess.empty()) return {};
    if (state.guess == state.missed) return {Told::What::missed, state.guess};
    const auto entered = memory.entered.find(quiz.id);
    const bool was_entered = entered != memory.entered.end() && entered->second == state.guess;
    if (was_entered && !session::readable_answer(quiz, state.guess))
        return {Told::What::unreadable, state.guess};
    return {};
}

/// Scrolls to what became of an answer in the frame that says it first: from `top` to `bottom`, only as far
/// as needed.
void bring_into_view(const Ui& ui, Memory& memory, const std::string& quiz, const Told& told, float top,
                     float bottom) {
    const auto [before, first_seen] = memory.answered.try_emplace(quiz, told);
    if (first_seen || before->second == told) return;
    before->second = told;
    if (told.what == Told::What::nothing) return;
    const float window_top = ImGui::GetWindowPos().y, window_bottom = window_top + ImGui::GetWindowHeight();
    const float down = std::min(ui.px(bottom) - window_bottom, ui.px(top) - window_top);
    if (down > 0) ImGui::SetScrollY(ImGui::GetScrollY() + down);
}

/// Below a question that is open: what became of the guess, its hint, and what can be done.
float unanswered(Ui& ui, Memory& memory, const QuizCard& quiz, const QuizState& state, float left, float y,
                 float room) {
    const bool missed = !state.missed.empty();
    const bool is_missed = missed && state.guess == state.missed;
    if (is_missed) {
        ui.cross({left + 8, y + ui.line(Face::body) / 2}, Token::err);
        y = paragraph(ui, left + 26, y, room - 26,
                      ui.say("ui.quiz.missed", {{"guess", in_words(ui, quiz, state.missed)}}), Face::body,
                      Token::text) +
            6;
    }
    const std::string hint = shown_hint(ui, quiz, state);
    if (!hint.empty()) y = rich_text(ui, memory, quiz.id + ".h", left, y, room, hint) + 10;
    const std::string check = ui.say("ui.quiz.check");
    const float wide = std::min(room, button_width(ui, check, false));
    // Of an answer that was wrong it stands above what to do next.
    const std::string why = is_missed                                      ? "ui.quiz.guess_anew"
                            : state.guess.empty()                          ? "ui.quiz.guess_needed"
                            : !session::readable_answer(quiz, state.guess) ? "lesson.unreadable." + quiz.kind
                                                                           : "";
    if (told_of(memory, quiz, state).what == Told::What::unreadable)
        y = paragraph(ui, left, y, room, ui.say(why), Face::body, Token::err) + 8;
    if (button(ui, memory, quiz.id + ".check", {left, y, wide, 40}, check, ButtonLook::primary, why.empty(),
               Icon::none, why.empty() || is_missed ? "" : ui.say(why)))
        ui.act(session::Check{quiz.id});
    bool pressed = false;
    if (missed) {
        y = second_button(ui, memory, quiz.id + ".reveal", ui.say("ui.quiz.reveal"), left, y, wide, room,
                          pressed);
        if (pressed) ui.act(session::Reveal{quiz.id});
    } else if (hint.empty() && !state.guess.empty() && !hint_for(ui, quiz, state.guess).empty()) {
        y = second_button(ui, memory, quiz.id + ".hint", ui.say("ui.quiz.hint"), left, y, wide, room,
                          pressed);
        if (pressed) ui.act(session::ShowHint{quiz.id});
    }
    return y + 40;
}

QuizState state_of(const Ui& ui, const QuizCard& quiz) {
    const auto found = ui.state.quizzes.find(quiz.id);
    return found != ui.state.quizzes.end() ? found->second : QuizState{};
}

}  // namespace

std::string quiz_told(const Ui& ui, const Memory& memory, const QuizCard& quiz) {
    const QuizState state = state_of(ui, quiz);
    std::string text;
    const auto line = [&](const std::string& words) {
        if (!words.empty()) text += without_marks(words) + '\n';
    };
    line(ui.say(state.revealed ? "ui.quiz.revealed" : "ui.quiz.guess_first"));
    line(ui.pick(quiz.question));
    for (std::size_t i = 0; i < quiz.choices.size(); ++i)
        line(std::to_string(i + 1) + ". " + ui.pick(quiz.choices[i].text));
    const Told told = told_of(memory, quiz, state);
    if (told.what == Told::What::missed)
        line(ui.say("ui.quiz.missed", {{"guess", in_words(ui, quiz, state.missed)}}));
    if (told.what == Told::What::unreadable) line(ui.say("lesson.unreadable." + quiz.kind));
    if (told.what == Told::What::answer) line(verdict_words(ui, quiz, state));
    line(shown_hint(ui, quiz, state));
    if (state.revealed) line(ui.pick(quiz.reveal));
    return text;
}

float quiz_card(Ui& ui, Memory& memory, const QuizCard& quiz, float x, float y, float w) {
    const QuizState state = state_of(ui, quiz);
    // The card's height is known after its content, so the frame is drawn below in a channel of its own.
    ImDrawListSplitter layers;
    layers.Split(ui.draw, 2);
    layers.SetCurrentChannel(ui.draw, 1);

    const float top = y, left = x + 16, room = w - 32;
    y += 14;
    y = paragraph(ui, left, y, room, ui.say(state.revealed ? "ui.quiz.revealed" : "ui.quiz.guess_first"),
                  Face::title, Token::text) +
        4;
    y = rich_text(ui, memory, quiz.id + ".q", left, y, room, ui.pick(quiz.question)) + 10;
    if (quiz.kind == "choice") {
        y = choices(ui, memory, quiz, state, left - 4, y, room + 8);
    } else if (quiz.kind == "number" || !of_ranks(ui, quiz)) {
        y = typed_answer(ui, memory, quiz, state, left, y, room);
    } else {
        y = rank_chips(ui, memory, quiz, state, left, y, room);
    }
    const float answer_y = y;
    if (state.revealed) {
        y = verdict(ui, quiz, state, left, y, room) + 6;
        const std::string why = shown_hint(ui, quiz, state);
        if (!why.empty()) y = rich_text(ui, memory, quiz.id + ".h", left, y, room, why) + 6;
        y = rich_text(ui, memory, quiz.id + ".r", left, y, room, ui.pick(quiz.reveal)) + 4;
    } else {
        y = unanswered(ui, memory, quiz, state, left, y, room);
    }
    y += 16;
    bring_into_view(ui, memory, quiz.id, told_of(memory, quiz, state), answer_y, y + 4);

    layers.SetCurrentChannel(ui.draw, 0);
    ui.fill({x, top, w, y - top}, Token::raised, 12);
    ui.outline({x, top, w, y - top}, Token::line, 12);
    const bool solved = state.revealed && session::right_answer(quiz, state.guess);
    ui.fill({x, top + 14, 4, 26}, solved ? Token::ok : Token::accent, 2);
    layers.Merge(ui.draw);
    return y;
}

}  // namespace meshscope::panels
