#pragma once

#include <string>
#include <vector>

#include "app/gui/view/attention/scene.h"
#include "app/gui/view/attention/view.h"
#include "app/gui/view/common.h"

namespace meshscope::view {

/// "0–3", "0–1, 14–15": neighbouring tokens as ranges.
std::string token_ranges(const std::vector<int64_t>& tokens);

/// How a scene shares out the work, in a word: "neighbours", "head + tail", "tokens for heads".
std::string attention_cut(const Painter& painter, const AttentionScene& scene);

/// What the record lacks for this picture; "" where nothing is.
std::string attention_lacks(const Painter& painter, const trace::Trace& trace, const AttentionScene& scene);

/// Draws the attention from top to bottom.
class AttentionPicture {
  public:
    static constexpr std::size_t kMostRows = 16;  ///< from 17 ranks on they are one matrix
    AttentionPicture(const Input& input, const AttentionOptions& options);
    Picture draw();

  private:
    static constexpr float kPad = 24, kInside = 12, kGap = 18, kRowGap = 8;
    static constexpr std::size_t kMostWithCells = 8;
    enum Layer : int { kBack, kCells, kLines, kWords, kMarks };

    /// Where a row's parts begin and how wide they are; no width: left out.
    struct Part {
        float x = 0, w = 0;
    };
    struct Columns {
        Part name, queries, keys, ways, mask, softmax, work;
        float block = 0;  ///< side of a block of the mask
        float row = 0;    ///< height of a row
    };

    float header();
    float strip(float y);
    std::vector<std::string> strip_words(const trace::Event& event) const;
    std::string title() const;
    float notes(float y);
    Columns columns(float room) const;
    void heads(const Columns& c, float y);
    float rows(float y, float room);
    void row(std::size_t place, const Columns& c, float y);
    void frame(std::size_t place, Rect box);
    void name_of(std::size_t place, Part part, Rect box);
    void tokens(const AttentionRank& rank, Rect box, Token hue, bool filled);
    void keys_here(std::size_t place, Part part, Rect box);
    void keys_gathered(std::size_t place, Part part, Rect box);
    void mask_row(std::size_t place, const Columns& c, float y);
    void softmax(std::size_t place, Part part, Rect box);
    void gradients(std::size_t place, Part part, Rect box);
    void work(std::size_t place, Part part, Rect box);
    void flights(const Columns& c, float y);
    void flight(const AttentionFlight& flight, const Columns& c, float y);

    void block(std::size_t queries, std::size_t keys, Rect box);
    void block_cells(std::size_t queries, std::size_t keys, Rect box, float share);
    void coarse_cells(std::size_t queries, std::size_t keys, Rect box, float share);

    float many(float y, float room);
    void matrix(Rect box);

    float swap_rows(float y, float room);
    void swap_tokens(const Columns& c, float y);
    void swap_row(std::size_t place, const Columns& c, float y);
    /// A message of Ulysses' swap, from one place to another.
    struct Swap {
        std::size_t from = 0, to = 0;
        float share = 0;    ///< of its way
        bool home = false;  ///< the output, or gradients, on the way back
        float height = 0;   ///< of its call's line in the receiver's grid, as a share
    };
    void swap_flights(const Columns& c, float y);
    void swap_flight(const Swap& swap, const Columns& c, float y);
    Columns swap_columns(float room) const;
    Rect tokens_grid(const Columns& c, float y) const;
    Rect heads_grid(const Columns& c, float y) const;

    float cards_height() const;
    void cards(Rect box);
    void card(Rect box, const Input& input, const AttentionScene& scene, const std::string& name);
    std::string comparison_words(const std::string& gap) const;
    void comparison(Rect box);

    void tell();
    bool with_cells() const { return scene_.n() <= kMostWithCells; }
    int64_t most_work() const;
    std::size_t last_token(std::size_t place) const;

    const Input& in_;
    const AttentionOptions& options_;
    Painter p_;
    AttentionScene scene_;
    std::vector<AttentionNow> now_;
    std::vector<bool> gone_;              ///< ranks that had died or stopped
    std::vector<AttentionScene> beside_;  ///< of options_.beside; empty where a run has no such layer
};

}  // namespace meshscope::view
