#pragma once

#include <string>
#include <string_view>

#include "app/gui/view/matrices.h"
#include "tests/view/layer_run.h"

namespace meshscope::test {

inline const std::string kMlp = "kind = \"mlp\"\ndim = 8\nhidden = 12\nlayers = 2\nseed = 3\n";
inline const std::string kGpt =
    "kind = \"gpt\"\nvocab = 8\nseq = 4\ndim = 8\nheads = 2\nhidden = 8\nlayers = 1\nseed = 3\n";
inline const std::string kToy = "kind = \"toy\"\nseed = 1\n";
inline const std::string kTp = "shape = [2]\nnames = [\"tp\"]\n";
inline const std::string kNoBias = "bias = false\n";

/// A layer's products, ready for the view.
struct MatricesRun : LayerRun {
    MatricesRun(const std::string& model, const std::string& mesh_and_parallel, const std::string& rest = "");
    /// The first event of a rank with this kernel (or op) and unit.
    int32_t event(int32_t rank, std::string_view name_or_op, std::string_view unit) const;
    view::Input within(int32_t rank, int32_t id, double part = 0.5, view::Size size = {656, 668}) {
        return into(rank, id, part, size);
    }
    view::MatrixScene scene(int32_t rank, int32_t id, std::size_t most = 4) {
        return view::matrix_scene(within(rank, id), most);
    }
};

/// "X [4, 8]", "upᵀ [8, 12][:, 0:6]".
std::string told(const view::MatrixTile& tile);
/// "X [4, 8] × upᵀ [8, 12][:, 0:6] = H …".
std::string told(const view::MatrixChain& chain);

/// Each product's numbers are those of its matrices.
void check_products(const view::MatrixChain& chain);

}  // namespace meshscope::test
