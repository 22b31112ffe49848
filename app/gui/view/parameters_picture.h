#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/view/common.h"
#include "app/gui/view/parameters_view.h"

namespace meshscope::view {

/// What the parameters view and its facts speak of.
struct ParametersScene {
    std::vector<ParameterUnit> units;
    int32_t unit = -1;       ///< of them, the one shown; -1: none was recorded
    std::size_t chosen = 0;  ///< the parameter in it whose life is told
    int64_t row = -1;        ///< of that one; -1: none
    int32_t rank = 0, step = 0;
    const ParameterUnit& shown() const { return units[static_cast<std::size_t>(unit)]; }
    const ShownParameter& parameter() const { return shown().parameters[chosen]; }
};
ParametersScene parameters_scene(const Input& input);

/// Ranks that keep the same of a unit. One rank each where all have room.
struct Holders {
    std::vector<int32_t> ranks;  ///< the first stands for all
    std::string name;            ///< "rank 0", "rank 0–3", "rank 0 +6"
    bool joined = false;         ///< they keep different parts, and share a column for want of room
};
std::vector<Holders> holders_of(const trace::Trace& trace, const ParameterUnit& unit, std::size_t most);

/// True when the rank keeps every number of the unit that tensor parallelism left to it: nothing is sharded.
bool keeps_all(const trace::Trace& trace, int32_t rank, const ParameterUnit& unit);

/// The first all_gather of the unit after set-up on the rank; null where nothing gathers it.
const trace::Event* first_gather(const trace::Trace& trace, int32_t rank, trace::StringId unit);

/// Whose units are one flat array each: cut as one long row of numbers, not each parameter by itself.
enum class FlatArray : uint8_t {
    none,   ///< of a strategy that cuts otherwise, or not at all
    fsdp1,  ///< FlatParameter; frozen parameters beside trained ones in it have gradients, thrown away
    zero3   ///< ZeRO-3's, laid out alike, but frozen and trained parameters are in arrays of their own
};
/// By the rule of a unit's gather or reduction: "fsdp1.unshard.forward".
FlatArray flat_array_of(std::string_view rule);

/// How a state is filled: memory's hues, on its way only tinted.
void style_holding(Shape& shape, Holding holding, bool keeps_all);

/// Draws the parts of the parameters picture from top to bottom.
class ParametersPicture {
  public:
    static constexpr float kPad = 24;
    explicit ParametersPicture(const Input& input);
    Picture draw();

  private:
    enum Layer : int { kBack, kFills, kLines, kWords, kMarks };
    struct Column {
        Holders holders;
        int32_t rank = 0;  ///< whose state is shown: the chosen rank where it is among them
        Rect box;
        std::vector<ParameterLife> lives;  ///< by place in the unit
    };
    float header();
    float legend(float y);
    void grid(Rect box);
    void column(const Column& column);
    void array(const Column& column, std::size_t place, Rect value, Rect gradient);
    void blocks(const std::vector<Block>& blocks, const ShownParameter& p, Rect box, const Shape& like);
    void edges(const Column& column, std::size_t place, Rect box);
    void hits(const Column& column, std::size_t place, Rect box);
    void names(Rect box);
    float shards_height() const;
    void shard_runs(Rect shard, int32_t rank, const trace::Event& event);
    void shards(Rect box);
    void life(Rect box, int32_t rank, const LifeSpan& span, bool all);
    void lives(Rect box);
    void tell();
    std::optional<Block> box_of(int32_t rank, trace::StringId parameter) const;
    const trace::Event* gather() const;
    bool flat() const;  ///< the shown unit is a flat array
    /// Which hue and symbol a rank has: its place among those that it gathers with; -1: it gathers with none,
    /// or with too many.
    int64_t mark_of(int32_t rank) const;

    const Input& in_;
    Painter p_;
    ParametersScene scene_;
    std::vector<Column> columns_;
    std::vector<float> tops_, heights_;  ///< of the arrays, by place in the unit
    float gutter_ = 100;
};

}  // namespace meshscope::view
