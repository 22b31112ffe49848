#pragma once

#include <string>
#include <vector>

#include "app/gui/view/algorithm_matrix.h"
#include "app/gui/view/algorithms_view.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/sheet.h"

namespace meshscope::view {

/// Draws algorithms side by side: a row each, on one clock.
class AlgorithmsPicture {
  public:
    AlgorithmsPicture(const Input& input, const AlgorithmsOptions& options);
    Picture draw();

  private:
    static constexpr float kPad = 16, kBar = 16, kIcon = 30;
    static constexpr float kRanks = 18;  ///< beside the matrix of the start, a rank's symbol a row

    const CallLandings& front() const { return *rows_.front().landings; }
    Picture nothing();
    float header();
    float legend(float y);
    /// The column that is followed, where one is.
    int64_t followed() const;
    /// Parts of one number each, which the record kept: they are written.
    bool values() const;
    bool in_cells(const CallLandings& call) const;
    /// How wide and high everything is.
    void measure(float top);
    /// The width at which every landing of every row has its matrix; less where that is too narrow for some.
    void fit_columns();
    double axis_length() const;
    void axis();
    float x(int64_t at_ns) const;
    bool leaves_axis(const CallLandings& call) const;
    void ruler(float y);
    /// The cursor's time on the ruler; the ruler's own keep off it.
    void cursor_time(float y);
    void cursor(float top, float bottom);
    /// The rows as they are ordered.
    std::vector<std::size_t> order() const;
    /// What can be chosen below the rows, line by line: a head and its chips.
    struct Choices {
        std::string words;
        std::vector<Chip> chips;
    };
    std::vector<Choices> choices() const;
    float foot_height() const;
    float foot(float y);

    void row(std::size_t i, float y);
    std::vector<std::string> head_words(const AlgorithmRow& row) const;
    std::string why_not(const AlgorithmRow& row) const;
    void head(const AlgorithmRow& row, float y);
    /// What the call would take for another size, dashed: it did not run.
    void prediction(const AlgorithmRow& row, Point at, float right);
    float prediction_width(const std::string& words) const;
    std::string predicted_words(const AlgorithmRow& row) const;
    /// Matrices at their landings, right ends there.
    void matrices(std::size_t i, float y);
    /// Left of the matrix of the start: whose row is whose.
    void row_names(const CallLandings& call, Rect matrix);
    float pulse(const Landing& landing) const;
    void coming(const Rect& box, const Landing& landing, bool next);
    /// How many parts are complete, from hop to hop: full height is all of them.
    void curve(const CallLandings& call, const Rect& box);
    std::vector<std::string> bar_words(const CallLandings& call, const Landing& landing) const;
    void bars(std::size_t i, float y);
    void end(const AlgorithmRow& row, float y, bool over);
    void tell(const AlgorithmRow& row, const std::string& reason);

    const Input& in_;
    const AlgorithmsOptions& options_;
    Painter p_;
    std::vector<std::string> without_;
    std::vector<AlgorithmRow> rows_;
    MatrixLook look_;
    int64_t now_ = 0;  ///< of the cursor, since the call began
    double length_ = 1;
    float gutter_ = 0, matrix_w_ = 0, ranks_w_ = 0, row_ = 100, x0_ = 0, x1_ = 1, bottom_ = 0;
};

}  // namespace meshscope::view
