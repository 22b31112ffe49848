#include "core/mesh/layout.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace meshscope::mesh {

namespace {

[[noreturn]] void refuse_layout(const char* id, std::vector<MessageArg> args) {
    throw InvalidArgument({id, std::move(args)});
}

std::string tuple_text(const std::vector<int64_t>& values) {
    if (values.size() == 1) return std::to_string(values.front());
    std::string text = "(";
    const char* separator = "";
    for (const int64_t value : values) {
        text += separator + std::to_string(value);
        separator = ",";
    }
    return text + ")";
}

}  // namespace

Layout::Layout(std::vector<int64_t> shape, std::vector<int64_t> stride) {
    if (shape.size() != stride.size()) refuse_layout("mesh.layout_lengths", {{"shape", shape}, {"stride", stride}});
    for (size_t k = 0; k < shape.size(); ++k)
        if (shape[k] < 1 || stride[k] < 0)
            refuse_layout("mesh.layout_values", {{"shape", shape}, {"stride", stride}});

    // From right to left, because the rightmost mode is the innermost one.
    for (size_t k = shape.size(); k-- > 0;) {
        if (shape[k] == 1) continue;
        if (!shape_.empty() && shape_.back() * stride_.back() == stride[k]) {
            shape_.back() *= shape[k];
        } else {
            shape_.push_back(shape[k]);
            stride_.push_back(stride[k]);
        }
    }
    std::reverse(shape_.begin(), shape_.end());
    std::reverse(stride_.begin(), stride_.end());
}

int64_t Layout::numel() const {
    int64_t product = 1;
    for (const int64_t size : shape_) product *= size;
    return product;
}

int64_t Layout::cosize() const {
    int64_t last = 0;
    for (size_t k = 0; k < shape_.size(); ++k) last += (shape_[k] - 1) * stride_[k];
    return last + 1;
}

int64_t Layout::offset(int64_t index) const {
    if (index < 0 || index >= numel())
        refuse_layout("mesh.layout_index", {{"index", index}, {"size", numel()}, {"layout", to_text()}});
    int64_t result = 0;
    for (size_t k = shape_.size(); k-- > 0;) {
        result += index % shape_[k] * stride_[k];
        index /= shape_[k];
    }
    return result;
}

std::vector<int64_t> Layout::offsets() const {
    std::vector<int64_t> result{0};
    result.reserve(static_cast<size_t>(numel()));
    // Grown from the innermost mode outwards: each further mode repeats what is there, shifted by its stride.
    for (size_t k = shape_.size(); k-- > 0;) {
        const size_t count = result.size();
        for (int64_t step = 1; step < shape_[k]; ++step)
            for (size_t i = 0; i < count; ++i) result.push_back(result[i] + step * stride_[k]);
    }
    return result;
}

int64_t Layout::index_at(int64_t position) const {
    int64_t index = 0;
    for (size_t k = 0; k < shape_.size(); ++k) index = index * shape_[k] + position / stride_[k] % shape_[k];
    return index;
}

int64_t Layout::base_of(int64_t position) const {
    int64_t base = position;
    for (size_t k = 0; k < shape_.size(); ++k) base -= position / stride_[k] % shape_[k] * stride_[k];
    return base;
}

Layout Layout::composition(const Layout& inner) const {
    if (inner.cosize() > numel())
        refuse_layout("mesh.layout_too_small",
               {{"layout", to_text()}, {"inner", inner.to_text()}, {"size", numel()}});
    std::vector<int64_t> shape, stride;
    for (size_t mode = 0; mode < inner.shape_.size(); ++mode) {
        int64_t rest_shape = inner.shape_[mode];
        int64_t rest_stride = inner.stride_[mode];
        if (rest_stride == 0) {
            shape.push_back(rest_shape);
            stride.push_back(0);
            continue;
        }
        // Walk self from its innermost mode: step over the first rest_stride elements, then keep rest_shape
        // of what is left; what does not fit into this mode goes on in the next one.
        std::vector<std::pair<int64_t, int64_t>> kept;
        for (size_t k = shape_.size(); k-- > 1;) {
            if (shape_[k] % rest_stride != 0 && rest_stride % shape_[k] != 0)
                refuse_layout("mesh.layout_cut_across", {{"layout", to_text()}, {"inner", inner.to_text()}});
            const int64_t keep = std::min(std::max<int64_t>(1, shape_[k] / rest_stride), rest_shape);
            if (rest_shape % keep != 0)
                refuse_layout("mesh.layout_cut_across", {{"layout", to_text()}, {"inner", inner.to_text()}});
            if (keep != 1) kept.emplace_back(keep, rest_stride * stride_[k]);
            rest_shape /= keep;
            rest_stride = (rest_stride + shape_[k] - 1) / shape_[k];
        }
        if (rest_shape != 1)
            kept.emplace_back(rest_shape, rest_stride * (stride_.empty() ? 0 : stride_.front()));
        for (size_t k = kept.size(); k-- > 0;) {
            shape.push_back(kept[k].first);
            stride.push_back(kept[k].second);
        }
    }
    return {std::move(shape), std::move(stride)};
}

Layout Layout::complement(int64_t world) const {
    std::vector<std::pair<int64_t, int64_t>> modes;  // stride, size; rising
    for (size_t k = 0; k < shape_.size(); ++k)
        if (stride_[k] != 0) modes.emplace_back(stride_[k], shape_[k]);
    std::sort(modes.begin(), modes.end());

    std::vector<int64_t> shape, stride;
    int64_t covered = 1;  // offsets 0 … covered-1 are reached by what has been placed so far
    for (const auto& [mode_stride, mode_size] : modes) {
        if (covered > mode_stride * mode_size || mode_stride < covered)
            refuse_layout("mesh.layout_overlaps", {{"layout", to_text()}});
        shape.push_back(mode_stride / covered);
        stride.push_back(covered);
        covered = mode_size * mode_stride;
    }
    shape.push_back((world + covered - 1) / covered);
    stride.push_back(covered);
    std::reverse(shape.begin(), shape.end());
    std::reverse(stride.begin(), stride.end());
    return {std::move(shape), std::move(stride)};
}

std::vector<std::vector<int64_t>> Layout::rows(int64_t world) const {
    const std::vector<int64_t> row = offsets();
    std::vector<std::vector<int64_t>> result;
    for (const int64_t start : complement(world).offsets()) {
        std::vector<int64_t>& shifted = result.emplace_back(row);
        for (int64_t& value : shifted) value += start;
    }
    return result;
}

bool Layout::check_sorted() const {
    return std::is_sorted(stride_.rbegin(), stride_.rend());
}

bool Layout::check_orthogonal() const {
    std::vector<std::pair<int64_t, int64_t>> modes;  // stride, size
    for (size_t k = 0; k < shape_.size(); ++k) modes.emplace_back(stride_[k], shape_[k]);
    std::sort(modes.rbegin(), modes.rend());
    for (size_t i = 0; i + 1 < modes.size(); ++i) {
        const int64_t span = modes[i + 1].first * modes[i + 1].second;
        if (span == 0 || modes[i].first % span != 0) return false;
    }
    return true;
}

std::string Layout::to_text() const {
    return tuple_text(shape_) + ":" + tuple_text(stride_);
}

std::vector<Layout> row_major(std::span<const int64_t> shape) {
    std::vector<Layout> dims(shape.size());
    int64_t stride = 1;
    for (size_t k = shape.size(); k-- > 0;) {
        dims[k] = Layout({shape[k]}, {stride});
        stride *= shape[k];
    }
    return dims;
}

Layout collapse(std::span<const Layout> dims) {
    std::vector<int64_t> shape, stride;
    for (const Layout& dim : dims) {
        shape.insert(shape.end(), dim.shape().begin(), dim.shape().end());
        stride.insert(stride.end(), dim.stride().begin(), dim.stride().end());
    }
    return {std::move(shape), std::move(stride)};
}

}  // namespace meshscope::mesh
