#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/session/app_state.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/picture.h"

namespace meshscope::panels {

/// What a lesson's open question asks for, and the one rule by which everything beside the lesson's own text
/// leaves it out until it has been answered. Every text of a picture, of the facts, of the status line and of
/// what is copied goes through mask(); what would answer by its shape asks the other members. One a frame.
class QuizMask {
  public:
    explicit QuizMask(const session::AppState& state);

    /// A question is open: what sums up a step (how often each collective ran) is not told at all.
    bool open() const { return quiz_ != nullptr; }
    /// A "?" may stand anywhere: the facts say what it means.
    bool leaves_out() const { return number_ || groups_ || !list_.empty(); }
    /// It asks for bytes, and for so many or for as many as would be taken for them.
    bool asks_bytes(int64_t number) const {
        return asked_ == session::Asked::bytes && same(static_cast<double>(number), 1, 0);
    }
    /// It asks to whom something is sent: a picture of who sends to whom would answer.
    bool asks_peer() const { return asked_ == session::Asked::peer; }
    /// It asks which rank, in which order or which of several: what each rank does, and how much, may answer.
    bool asks_ranks_or_choice() const { return quiz_ != nullptr && quiz_->kind != "number"; }
    /// It asks for the group of just these ranks: a picture of its members would answer.
    bool asks(const std::vector<int32_t>& ranks) const;
    /// The mesh's groups or the slice would answer: no hull, no sheet, no list of members.
    bool groups() const { return groups_; }

    /// The text with "?" for what is asked, in its own unit: bytes where bytes are asked, elements (any where
    /// `amount` says that they are), calls; of bytes and elements also bare numbers of 100 or more; or the
    /// list of ranks. Other quantities of the same number, times and the numbers of ranks, steps and chunks
    /// stay. The text itself where nothing is open. Cost: linear.
    std::string mask(const std::string& text, bool amount = false) const;
    /// The same for all that this panel's picture shows and tells; takes the hulls out of the mesh's where
    /// groups() says so.
    void mask(view::Picture& picture, std::string_view panel) const;

    /// What the mesh's pictures are drawn of: the state's selection, without the slice where groups() says
    /// so.
    const view::Selection& mesh_selection() const { return selection_; }
    /// What this slice gives is not shown before the question is answered.
    bool hides(const std::string& slice) const;
    view::MeshOptions mesh_options() const;

  private:
    bool same(double value, double unit, double rounding) const;
    std::string without_number(const std::string& text, bool amount) const;

    const session::QuizCard* quiz_ = nullptr;
    view::Selection selection_;
    std::string own_slice_;  ///< the step's
    double answer_ = 0;
    session::Asked asked_ = session::Asked::other;
    bool number_ = false;  ///< it asks for a number that the run recorded
    bool groups_ = false;
    std::vector<std::string> list_;  ///< what a question for ranks or an order asks, two or more
};

}  // namespace meshscope::panels
