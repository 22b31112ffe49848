#include "tests/view/matrices_stage.h"

#include "app/gui/view/matrices_picture.h"

namespace meshscope::test {
namespace {

using view::MatrixChain;
using view::MatrixStep;
using view::MatrixTile;

std::string scenario(const std::string& model, const std::string& mesh_and_parallel,
                     const std::string& rest) {
    const bool tokens = model.find("gpt") != std::string::npos;
    return "format = 1\n[model]\n" + model + "[data]\nkind = \"" + (tokens ? "tokens" : "regression") +
           "\"\nsamples = 8\nseed = 1\n[train]\nsteps = 1\nglobal_batch = 8\n[optimizer]\nkind = \"sgd\"\n"
           "lr = 0.1\n[mesh]\n" +
           mesh_and_parallel + rest;
}

}  // namespace

MatricesRun::MatricesRun(const std::string& model, const std::string& mesh_and_parallel,
                         const std::string& rest)
    : LayerRun(scenario(model, mesh_and_parallel, rest)) {}

int32_t MatricesRun::event(int32_t rank, std::string_view name_or_op, std::string_view unit) const {
    for (const trace::Event& e : trace.ranks[static_cast<std::size_t>(rank)].events) {
        const std::string_view what = e.kind == trace::EventKind::compute ? trace.text(e.name) : name(e.op);
        if (what == name_or_op && trace.text(e.unit) == unit) return e.id;
    }
    FAIL("no " << name_or_op << " " << unit);
    return -1;
}

std::string told(const MatrixTile& tile) {
    return tile.name + " " + view::shape_words(tile) + view::part_words(tile);
}

std::string told(const MatrixChain& chain) {
    std::string words = told(chain.start);
    if (chain.before) words = told(*chain.before) + " ⇉ " + words;
    for (const MatrixStep& step : chain.steps)
        words +=
            (step.factor ? " × " + told(*step.factor) + " = " : " " + step.words + " ") + told(step.result);
    return words;
}

void check_products(const MatrixChain& chain) {
    const MatrixTile* now = &chain.start;
    for (const MatrixStep& step : chain.steps) {
        if (step.factor) {
            const MatrixTile &a = *now, &b = *step.factor, &c = step.result;
            REQUIRE(a.own.columns == b.own.rows);
            REQUIRE(std::cmp_equal(c.numbers.size(), a.own.rows * b.own.columns));
            for (int64_t i = 0; i < a.own.rows; ++i)
                for (int64_t k = 0; k < b.own.columns; ++k) {
                    double sum =
                        step.bias.empty() ? 0 : static_cast<double>(step.bias[static_cast<std::size_t>(k)]);
                    for (int64_t j = 0; j < a.own.columns; ++j)
                        sum +=
                            static_cast<double>(a.numbers[static_cast<std::size_t>(i * a.own.columns + j)]) *
                            static_cast<double>(b.numbers[static_cast<std::size_t>(j * b.own.columns + k)]);
                    CHECK(static_cast<double>(c.numbers[static_cast<std::size_t>(i * b.own.columns + k)]) ==
                          Approx(sum).margin(1e-4));
                }
        }
        now = &step.result;
    }
}

}  // namespace meshscope::test
