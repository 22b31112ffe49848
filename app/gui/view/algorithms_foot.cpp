// Below the algorithms: their order, the size that times are predicted for, and what else can be run.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "app/gui/view/algorithms_picture.h"
#include "app/gui/view/common.h"

namespace meshscope::view {
namespace {

constexpr float kBetween = 22, kLine = kChip + 8;

}  // namespace

std::vector<std::size_t> AlgorithmsPicture::order() const {
    std::vector<std::size_t> order(rows_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto amount = [&](std::size_t i) -> std::tuple<bool, int64_t> {
        const AlgorithmRow& row = rows_[i];
        const bool last = !row.done || !row.comparable;  // what does not compare stands below
        switch (options_.choice.order) {
            case AlgorithmOrder::time:
                return {last, row.landings->length_ns};
            case AlgorithmOrder::bytes:
                return {last || row.sent_bytes < 0, row.sent_bytes};
            case AlgorithmOrder::rounds:
                return {last || row.landings->rounds == 0, row.landings->rounds};
            case AlgorithmOrder::opened:
                break;
        }
        return {false, 0};
    };
    if (options_.sums) std::ranges::stable_sort(order, {}, amount);
    return order;
}

std::vector<AlgorithmsPicture::Choices> AlgorithmsPicture::choices() const {
    std::vector<Choices> all;
    if (!options_.sums) return all;
    if (rows_.size() > 1) {
        Choices& line = all.emplace_back(Choices{p_.say("view.algorithms.order"), {}});
        for (const auto& [order, id] : {std::pair{AlgorithmOrder::opened, "view.algorithms.order.opened"},
                                        std::pair{AlgorithmOrder::time, "view.algorithms.order.time"},
                                        std::pair{AlgorithmOrder::bytes, "view.algorithms.order.bytes"},
                                        std::pair{AlgorithmOrder::rounds, "view.algorithms.order.rounds"}})
            line.chips.push_back(
                {p_.say(id), {"order", static_cast<int64_t>(order)}, options_.choice.order == order});
    }
    const PredictedSize* chosen = nullptr;
    if (options_.profile != nullptr) {
        Choices& line = all.emplace_back(Choices{p_.say("view.algorithms.predict"), {}});
        for (const PredictedSize& size : kPredictedSizes) {
            const bool on = size.bytes == options_.choice.predicted_bytes;
            if (on) chosen = &size;
            line.chips.push_back({size.words, {"predict", on ? 0 : size.bytes}, on});
        }
    }
    if (chosen != nullptr && options_.can_run_size) {
        Choices& line =
            all.emplace_back(Choices{p_.say("view.algorithms.run_size", {arg("size", chosen->words)}), {}});
        for (const AlgorithmRow& row : rows_) {
            const auto algorithm = static_cast<int64_t>(row.landings->algorithm);
            const Id id{"run_size", algorithm, chosen->bytes};
            const auto there =
                std::ranges::find(line.chips, id, &Chip::id);  // rows of another size have it, too
            if (row.landings->algorithm != Algorithm::none &&
                row.landings->algorithm < Algorithm::automatic && there == line.chips.end())
                line.chips.push_back({std::string(name(row.landings->algorithm)), id, false});
        }
    }
    if (!options_.offers.empty()) {
        Choices& line = all.emplace_back(Choices{p_.say("view.algorithms.run_with"), {}});
        for (const AlgorithmOffer& offer : options_.offers)
            line.chips.push_back({std::string(name(offer.algorithm)) + (offer.running ? " …" : ""),
                                  {"run_algorithm", static_cast<int64_t>(offer.algorithm)},
                                  offer.running});
    }
    return all;
}

/// Short choices share a line; so many lines, where each fits into one.
float AlgorithmsPicture::foot_height() const {
    float lines = 0, x = in_.size.width;
    if (in_.watched) return 0;
    for (const Choices& choice : choices()) {
        const float w = p_.width(choice.words, Face::caption) + 12 + chips_width(p_, choice.chips);
        if (x + w > in_.size.width - kPad) {
            x = kPad;
            ++lines;
        }
        x += w + kBetween;
    }
    return lines > 0 ? lines * kLine + 6 : 0;
}

float AlgorithmsPicture::foot(float y) {
    p_.layer = 5;
    const float right = in_.size.width - kPad;
    for (const std::string& name : without_) {
        const std::string words = p_.say("view.algorithms.no_call", {arg("run", name)});
        y = p_.paragraph(words, {kPad, y}, Face::caption, Token::mute, right - kPad) + 4;
        p_.tell(words);
    }
    float x = kPad, below = y;
    if (in_.watched) return below;
    for (const Choices& choice : choices()) {
        const float head = p_.width(choice.words, Face::caption) + 12;
        const float w = head + chips_width(p_, choice.chips);
        if (x > kPad && x + w > right) {
            x = kPad;
            y = below;
        }
        p_.text(choice.words, {x, y + (kChip - p_.line_height(Face::caption)) / 2}, Face::caption,
                Token::soft);
        below = std::max(below, draw_chips(p_, choice.chips, {x + head, y}, right) + 8);
        x += w + kBetween;
    }
    return below;
}

}  // namespace meshscope::view
