#include <algorithm>
#include <unordered_map>

#include "app/gui/view/memory_columns.h"
#include "app/gui/view/parameters_picture.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {
namespace {

/// What a rank keeps of the unit, as one key: equal for ranks that keep the same. "" where it keeps nothing.
std::string signature(const trace::Trace& trace, const ParameterUnit& unit, int32_t rank) {
    std::string key;
    for (const auto& run : trace.ranks[static_cast<std::size_t>(rank)].parameters) {
        if (std::none_of(unit.parameters.begin(), unit.parameters.end(),
                         [&](const ShownParameter& p) { return p.id == run.parameter; }))
            continue;
        for (const int64_t n :
             {int64_t{run.parameter}, int64_t{run.padding}, int64_t{run.updated}, run.first_row, run.n_rows,
              run.first_column, run.n_columns, run.first, run.elements})
            key += std::to_string(n) + ",";
    }
    return key;
}

std::string name_of_ranks(const std::vector<int32_t>& ranks) {
    const std::string first = "rank " + std::to_string(ranks.front());
    if (ranks.size() == 1) return first;
    const bool run = ranks.back() - ranks.front() + 1 == static_cast<int32_t>(ranks.size());
    return run ? first + "–" + std::to_string(ranks.back()) : first + " +" + std::to_string(ranks.size() - 1);
}

}  // namespace

ParametersScene parameters_scene(const Input& input) {
    ParametersScene s;
    s.units = parameter_units(input.trace);
    s.unit = shown_unit(input.trace, s.units, input.selection);
    s.rank = focus_rank(input);
    s.step = std::max(0, step_at(input.trace, input.clock, input.cursor.t_ns, input.memo));
    if (s.unit < 0) return s;
    for (std::size_t i = 0; i < s.shown().parameters.size(); ++i)
        if (s.shown().parameters[i].name == input.selection.parameter) {
            s.chosen = i;
            s.row = std::min(input.selection.row, s.parameter().rows - 1);
        }
    return s;
}

std::vector<Holders> holders_of(const trace::Trace& trace, const ParameterUnit& unit, std::size_t most) {
    std::vector<Holders> each;
    std::vector<std::string> keys;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        std::string key = signature(trace, unit, static_cast<int32_t>(r));
        if (key.empty()) continue;
        each.push_back({{static_cast<int32_t>(r)}, "", false});
        keys.push_back(std::move(key));
    }
    constexpr std::size_t kFew = 8;  // that many stand beside each other even if they are the same
    if (each.size() > kFew) {
        std::vector<Holders> folded;
        std::unordered_map<std::string, std::size_t> places;
        for (std::size_t i = 0; i < each.size(); ++i) {
            const auto [at, is_new] = places.try_emplace(keys[i], folded.size());
            if (is_new)
                folded.push_back(each[i]);
            else
                folded[at->second].ranks.push_back(each[i].ranks.front());
        }
        each = std::move(folded);
    }
    if (each.size() > most && most > 0) {  // neighbours share a column: it shows the parts of all of them
        const std::size_t join = (each.size() + most - 1) / most;
        std::vector<Holders> joined;
        for (std::size_t i = 0; i < each.size(); i += join) {
            joined.push_back({{}, "", join > 1});
            for (std::size_t k = i; k < std::min(each.size(), i + join); ++k)
                joined.back().ranks.insert(joined.back().ranks.end(), each[k].ranks.begin(),
                                           each[k].ranks.end());
            std::sort(joined.back().ranks.begin(), joined.back().ranks.end());
        }
        each = std::move(joined);
    }
    for (Holders& h : each) h.name = name_of_ranks(h.ranks);
    return each;
}

void style_holding(Shape& s, Holding holding, bool keeps_all) {
    switch (holding) {
        case Holding::kept:
        case Holding::updated:
            style_category(s, keeps_all ? MemoryCategory::parameters : MemoryCategory::sharded_parameters);
            s.fill_alpha = 0.85F;  // beside copies in sky it must stay blue
            break;
        case Holding::gathering:
            tint(s, Token::sky);
            break;
        case Holding::whole:
            style_category(s, MemoryCategory::unsharded_parameters);
            break;
        case Holding::gradient:
            s.fill = Token::orange;
            s.fill_alpha = 0.4F;
            s.pattern = Fill::hatch;
            s.hatch = Token::orange;
            break;
        case Holding::reducing:
            tint(s, Token::orange);
            break;
        case Holding::reduced:
            style_category(s, MemoryCategory::gradients);
            break;
        case Holding::updating:
            s.fill = Token::compute;
            s.fill_alpha = 1;
            break;
    }
}

ParametersPicture::ParametersPicture(const Input& input)
    : in_(input), p_(input), scene_(parameters_scene(input)) {}

bool keeps_all(const trace::Trace& trace, int32_t rank, const ParameterUnit& unit) {
    for (const ShownParameter& parameter : unit.parameters) {
        int64_t kept = 0, box = -1;
        for (const auto& run : trace.ranks[static_cast<std::size_t>(rank)].parameters) {
            if (run.parameter != parameter.id || run.padding != 0) continue;
            kept += run.elements;
            box = run.n_rows * run.n_columns;
        }
        if (kept != box) return false;
    }
    return true;
}

}  // namespace meshscope::view
