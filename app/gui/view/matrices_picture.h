#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/collective_state.h"
#include "app/gui/view/common.h"
#include "app/gui/view/event_times.h"
#include "app/gui/view/matrices.h"
#include "app/gui/view/matrices_view.h"
#include "app/gui/view/parameter_life.h"

namespace meshscope::view {

/// How a matrix is to be drawn.
struct TileLook {
    double most = 0;  ///< m: the scale is −m … m
    float share = 1;  ///< of the part's columns, from the left, that are there yet
    const std::vector<Block>* known =
        nullptr;              ///< where of the whole numbers are there; null: all of the part
    bool figures = false;     ///< numbers in the cells, where there is room
    Token cut = Token::none;  ///< hue of the line where the whole is cut
    Stroke cut_stroke = Stroke::dotted;
    Id id;
};

/// As many rows or columns of cells as are drawn of `n`: all up to 32; beyond, cells are averages.
int64_t cells_of(int64_t n);

/// The largest size of a number, 0 where none is known.
double most_of(const std::vector<float>& numbers);

/// Draws a matrix in `box`: the part here as heat, the rest as ghost cells. Cost: its cells and the numbers
/// that are recorded of it, each by the blocks of `known`; no more where the matrix is larger.
void draw_tile(Painter& painter, const MatrixTile& tile, Rect box, const TileLook& look);

/// Where rows and columns of the whole lie in its box.
Rect place_of(const MatrixTile& tile, Rect box, const Block& block);

/// Rows [first, first + n) of the part, where they lie in the whole: those that lie together as one.
std::vector<Block> blocks_of_part(const MatrixTile& tile, int64_t first, int64_t n);

/// Its name; of a partial sum that it is one.
std::string shown_name(const Painter& painter, const MatrixTile& tile);
/// "[4, 8]".
std::string shape_words(const MatrixTile& tile);
/// "[:, 0:4]" where the part is not the whole, else "".
std::string part_words(const MatrixTile& tile);

/// Why numbers of the scene's matrices are not there; "" where all are.
std::string missing_numbers(const Painter& painter, const trace::Trace& trace, const MatrixScene& scene);

/// How a factor of a product is cut: none, by columns (each rank has some of the results) or by rows (each
/// has a partial sum of all).
enum class FactorCut : uint8_t { none, columns, rows };
FactorCut cut_of(const MatrixStep& product);

/// The collective of a step, and the state of its buffers at the cursor; nothing where it has too many
/// members.
struct AddedUp {
    trace::CollectiveInstance instance;
    CollectiveState state;
};
std::optional<AddedUp> added_up(const Input& input, int32_t rank, int32_t event);

/// Draws the matrices from top to bottom.
class MatricesPicture {
  public:
    static constexpr float kPad = 24;
    explicit MatricesPicture(const Input& input, const MatricesOptions& options);
    Picture draw();

  private:
    static constexpr float kGap = 8;  ///< between the things of a line
    static constexpr float kBandGap = 6, kInside = 12;
    static constexpr float kGutter = 92;   ///< where a rank's name stands beside its lines
    static constexpr float kGoodCell = 6;  ///< from this size on cells can be read
    enum Layer : int { kBack, kCells, kLines, kWords, kMarks, kPointed, kNote };

    /// A piece of a band: a matrix, or what is done between two.
    struct Item {
        const MatrixTile* tile = nullptr;
        std::string sign;                     ///< "×", "gelu"
        const MatrixStep* made_by = nullptr;  ///< null: it was there before
        std::size_t place = 0;                ///< of the tile in its chain
        bool figures = false;
        bool arrow = false;
        float w = 0, h = 0;  ///< of the tile alone, or of the sign
        float wide = 0;      ///< with its words
    };
    struct Line {
        std::size_t first = 0, last = 0;
        float w = 0, h = 0;
    };
    /// What a matrix' cells are drawn with.
    struct Scale {
        float cell = 8;
        bool figures = false;
    };

    float header();
    float scale_ramp(float right, float chips);
    std::string operations_in_words() const;
    float strip(float y);
    float bands(float y, float room);
    std::vector<Item> items(const MatrixChain& chain, Scale scale) const;
    std::vector<Line> flow(const std::vector<Item>& items, float room) const;
    float head_height() const;
    float inside_width() const;
    float band_height(const MatrixChain& chain, Scale scale, float room) const;
    Scale choose(float room_w, float room_h) const;
    void band(const MatrixChain& chain, Rect box, Scale scale);
    void item(const MatrixChain& chain, const Item& item, Point at, float line_h);
    void tile_words(const MatrixChain& chain, const Item& item, Rect box, Point at, float line_h);
    void sum(const MatrixChain& chain, const Item& item, Rect box);
    void travelling();
    /// A number of a product under the pointer: row and column of the part, in a chain of the scene.
    struct Pointed {
        std::size_t chain = 0, step = 0;
        int64_t row = 0, column = 0;
    };
    std::optional<Pointed> pointed() const;
    void light_up();
    void note_at(Point at, const std::vector<std::string>& lines);
    std::string coordinate(int32_t rank) const;
    Token cut_hue() const;
    double most(std::size_t place, const MatrixTile& tile) const;
    std::vector<Block> kept_of(const MatrixChain& chain, const MatrixTile& tile) const;
    float cards_height() const;
    void cards(Rect box);
    void tell();

    /// The life of a weight around the products: when it is gathered, whole and freed.
    struct Borrowed {
        std::size_t step = 0;  ///< of the chain, whose factor it is
        trace::StringId parameter = 0;
        int32_t gather = -1;
        int64_t gather_begin = 0, gather_end = 0, freed = 0;
    };
    std::vector<Borrowed> borrowed(const MatrixChain& chain) const;
    /// What is there of a weight that is gathered for its product and is not whole at the cursor.
    struct NotWhole {
        std::vector<Block> blocks;  ///< what the rank keeps, and what has come in
        bool coming = false;        ///< it is being gathered
    };
    std::optional<NotWhole> not_whole(const MatrixChain& chain, const Item& item) const;
    std::vector<Block> arrived_of(const MatrixChain& chain, const MatrixTile& tile, int32_t gather) const;
    /// Who keeps which rows of the weight.
    std::vector<OwnedRows> owners_of(const MatrixChain& chain, const Borrowed& life) const;
    /// Beside a weight's rows (above them where it stands transposed) the hue of the rank that keeps them,
    /// pale where they are not `here`.
    void edges(const std::vector<OwnedRows>& owned, const MatrixTile& tile, Rect box,
               const std::function<bool(int32_t)>& here);
    void owners_legend(Rect box, int32_t gather);
    void find_members();
    /// Which of the hues and symbols a rank has, everywhere in the picture.
    int64_t mark_of(int32_t rank) const;
    struct Card;
    void card(const Card& card);
    int32_t shown_gather(const std::vector<Borrowed>& lives) const;
    void cards_title(Rect box, const std::vector<Borrowed>& own, int32_t shown_gather);
    void card_frame(Rect card, const Borrowed& first, std::size_t state, std::size_t now);
    void card_words(const MatrixChain& chain, const std::vector<Borrowed>& lives, std::size_t state, Rect at);
    float card_cell(const std::vector<Borrowed>& lives) const;

    const Input& in_;
    const MatricesOptions& options_;
    Painter p_;
    MatrixScene scene_;
    std::vector<std::vector<Borrowed>> borrowed_;  ///< a chain of the scene
    std::vector<int32_t> members_;                 ///< of the groups that the picture speaks of, ascending
    std::vector<std::optional<AddedUp>> added_;    ///< of the chain's collective, a chain
    std::vector<std::map<std::size_t, Rect>> placed_;  ///< where each matrix stands, by its place, a chain
    std::vector<Rect> sums_;                       ///< where the sum stands, a chain; no width: none
};

}  // namespace meshscope::view
