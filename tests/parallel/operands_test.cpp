// What kernels read and wrote stands in the record: held against the run's own weights, data and collectives.
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/safetensors.h"
#include "tests/folder.h"
#include "tests/parallel/train_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

struct Matrix {
    int64_t rows = 0, columns = 0;
    std::vector<float> numbers;  ///< empty: only the shape is known
    float at(int64_t row, int64_t column) const {
        return numbers[static_cast<std::size_t>(row * columns + column)];
    }
};

Matrix matrix(const trace::RankTrace& rank, const trace::Snapshot& s) {
    Matrix m{s.rows, s.columns, {}};
    if (s.values >= 0)
        m.numbers.assign(rank.values.begin() + s.values, rank.values.begin() + s.values + s.elements);
    return m;
}

/// An operand of the first kernel `name` of `unit`; fails where it was not recorded.
Matrix operand(const trace::Trace& trace, int32_t r, std::string_view name, std::string_view unit,
               std::string_view which, trace::SnapshotKind kind = trace::SnapshotKind::input) {
    const trace::RankTrace& rank = trace.ranks[static_cast<std::size_t>(r)];
    for (const trace::Snapshot& s : rank.snapshots) {
        const trace::Event& event = rank.events[static_cast<std::size_t>(s.event)];
        if (trace.text(event.name) == name && trace.text(event.unit) == unit &&
            trace.text(s.operand) == which && s.kind == kind)
            return matrix(rank, s);
    }
    FAIL(name << " " << unit << " " << which);
    return {};
}
Matrix result(const trace::Trace& trace, int32_t rank, std::string_view name, std::string_view unit,
              std::string_view which) {
    return operand(trace, rank, name, unit, which, trace::SnapshotKind::output);
}

/// What the first collective with this rule took or gave.
std::vector<float> buffer(const trace::Trace& trace, int32_t r, std::string_view rule,
                          trace::SnapshotKind kind) {
    const trace::RankTrace& rank = trace.ranks[static_cast<std::size_t>(r)];
    for (const trace::Snapshot& s : rank.snapshots)
        if (trace.text(rank.events[static_cast<std::size_t>(s.event)].rule) == rule && s.kind == kind)
            return matrix(rank, s).numbers;
    return {};
}

/// x · wᵀ in plain loops.
Matrix product(const Matrix& x, const Matrix& w) {
    REQUIRE(x.columns == w.columns);
    Matrix y{x.rows, w.rows, {}};
    for (int64_t i = 0; i < x.rows; ++i)
        for (int64_t o = 0; o < w.rows; ++o) {
            float sum = 0;
            for (int64_t k = 0; k < x.columns; ++k) sum += x.at(i, k) * w.at(o, k);
            y.numbers.push_back(sum);
        }
    return y;
}

Matrix part(const Matrix& whole, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    Matrix m{rows, columns, {}};
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < columns; ++k) m.numbers.push_back(whole.at(row + i, column + k));
    return m;
}

void check_close(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).margin(1e-5));
}

/// Small whole numbers, so that sums are exact in any order.
Matrix made(int64_t rows, int64_t columns, int64_t seed) {
    Matrix m{rows, columns, {}};
    for (int64_t i = 0; i < rows * columns; ++i)
        m.numbers.push_back(static_cast<float>((i * 7 + seed * 3) % 5 - 2));
    return m;
}

/// An mlp of one layer, 8 to 8 without biases, on 4 samples, from files of this test's own.
struct SmallMlp {
    Folder folder;
    Matrix x = made(4, 8, 1), target = made(4, 8, 2), up = made(8, 8, 3), down = made(8, 8, 4);

    std::string text(const std::string& rest) const {
        const auto save = [&](const char* file, std::vector<data::NamedTensor> tensors) {
            data::write_safetensors(folder.file(file), std::move(tensors));
        };
        save("w.safetensors", {data::named_floats("layers.0.up.weight", {8, 8}, up.numbers),
                               data::named_floats("layers.0.down.weight", {8, 8}, down.numbers)});
        save("d.safetensors",
             {data::named_floats("x0", {4, 8}, x.numbers), data::named_floats("y0", {4, 8}, target.numbers)});
        return "format = 1\n[model]\nkind = \"mlp\"\ndim = 8\nhidden = 8\nlayers = 1\nbias = false\nweights "
               "= \"" +
               folder.file("w.safetensors") + "\"\n[data]\nfile = \"" + folder.file("d.safetensors") +
               "\"\n[train]\nsteps = 1\nglobal_batch = 4\n[optimizer]\nkind = \"sgd\"\nlr = 0.1\n" + rest;
    }
};

}  // namespace

TEST_CASE("under tensor parallelism each rank's products are recorded: columns, then rows, then one sum") {
    const SmallMlp c;
    const auto run = run_text(c.text("[mesh]\nshape = [2]\nnames = [\"tp\"]\n"));
    const trace::Trace& t = *run.trace;
    for (int32_t rank = 0; rank < 2; ++rank) {
        INFO(rank);
        // The columns of what X is multiplied by are rows of up.weight [out, in].
        const Matrix up = operand(t, rank, "linear", "layers.0.up", "weight");
        CHECK(up.numbers == part(c.up, 4 * rank, 4, 0, 8).numbers);
        CHECK(operand(t, rank, "linear", "layers.0.up", "x").numbers == c.x.numbers);
        const Matrix h = result(t, rank, "linear", "layers.0.up", "y");
        CHECK(h.rows == 4);
        CHECK(h.columns == 4);
        CHECK(h.numbers == product(c.x, up).numbers);

        const Matrix g = operand(t, rank, "linear", "layers.0.down", "x");
        std::vector<float> gelu;
        for (const float v : h.numbers)
            gelu.push_back(v / 2 * (1 + std::tanh(0.7978845608F * (v + 0.044715F * v * v * v))));
        check_close(g.numbers, gelu);
        const Matrix down = operand(t, rank, "linear", "layers.0.down", "weight");
        CHECK(down.numbers == part(c.down, 0, 8, 4 * rank, 4).numbers);
        const Matrix summand = result(t, rank, "linear", "layers.0.down", "y");
        check_close(summand.numbers, product(g, down).numbers);
        CHECK(buffer(t, rank, "tp.rowwise.partial_sum", trace::SnapshotKind::input) == summand.numbers);
    }
    std::vector<float> sum = result(t, 0, "linear", "layers.0.down", "y").numbers;
    const Matrix other = result(t, 1, "linear", "layers.0.down", "y");
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other.numbers[i];
    CHECK(buffer(t, 0, "tp.rowwise.partial_sum", trace::SnapshotKind::output) == sum);
    CHECK(buffer(t, 1, "tp.rowwise.partial_sum", trace::SnapshotKind::output) == sum);
}

TEST_CASE("the way back is recorded too: dW = dyᵀ · x and dx = dy · W") {
    const SmallMlp c;
    const auto run =
        run_text(c.text("[mesh]\nshape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"));
    const trace::Trace& t = *run.trace;
    for (int32_t rank = 0; rank < 2; ++rank) {
        INFO(rank);
        // Whole weights, its own samples.
        CHECK(operand(t, rank, "linear", "layers.0.up", "weight").numbers == c.up.numbers);
        CHECK(operand(t, rank, "linear", "layers.0.up", "x").numbers == part(c.x, 2 * rank, 2, 0, 8).numbers);
        const Matrix dy = operand(t, rank, "linear.weight_grad", "layers.0.down", "dy");
        const Matrix g = operand(t, rank, "linear.weight_grad", "layers.0.down", "x");
        const Matrix dw = result(t, rank, "linear.weight_grad", "layers.0.down", "dw");
        REQUIRE(dw.rows == 8);
        REQUIRE(dw.columns == 8);
        for (int64_t o = 0; o < 8; ++o)
            for (int64_t i = 0; i < 8; ++i)
                CHECK(dw.at(o, i) ==
                      Approx(dy.at(0, o) * g.at(0, i) + dy.at(1, o) * g.at(1, i)).margin(1e-5));
        const Matrix dg = result(t, rank, "linear.input_grad", "layers.0.down", "dx");
        for (int64_t b = 0; b < 2; ++b)
            for (int64_t i = 0; i < 8; ++i) {
                float sum = 0;
                for (int64_t o = 0; o < 8; ++o) sum += dy.at(b, o) * c.down.at(o, i);
                CHECK(dg.at(b, i) == Approx(sum).margin(1e-5));
            }
    }
}

TEST_CASE("of large operands the shape alone is recorded, and below the level values nothing is") {
    const auto text = [](const std::string& level) {
        return "format = 1\n[model]\nkind = \"mlp\"\ndim = 16\nhidden = 128\nlayers = 1\n[data]\n"
               "kind = \"regression\"\nsamples = 4\n[train]\nsteps = 1\nglobal_batch = 4\n[optimizer]\n"
               "kind = \"sgd\"\nlr = 0.1\n[record]\nlevel = \"" +
               level + "\"\n";
    };
    const auto values = run_text(text("values"));
    const Matrix weight = operand(*values.trace, 0, "linear", "layers.0.up", "weight");
    CHECK(weight.rows == 128);
    CHECK(weight.columns == 16);
    CHECK(weight.numbers.empty());
    CHECK(operand(*values.trace, 0, "linear", "layers.0.up", "x").numbers.size() == 64);
    const auto hops = run_text(text("hops"));
    CHECK(hops.trace->ranks[0].snapshots.empty());
    CHECK(hops.trace->ranks[0].values.empty());
}

TEST_CASE("bfloat16 operands are recorded as the numbers they are") {
    const SmallMlp c;
    const auto run =
        run_text(c.text("[mesh]\nshape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"
                        "[parallel.mixed_precision]\nparam = \"bfloat16\"\n"));
    CHECK(operand(*run.trace, 1, "linear", "layers.0.up", "weight").numbers == c.up.numbers);
}
