// Embedding and cross-entropy on a vocabulary cut into parts give what the whole vocabulary gives.
#include <cmath>

#include "core/base/random.h"
#include "core/tensor/kernels.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

constexpr int64_t kRows = 7, kClasses = 11, kWidth = 3;

struct Bench {
    std::unique_ptr<Device> device = make_cpu_device();
    Allocator allocator{*device};
    const Kernels& kernels = device->kernels();
    uint64_t stream = 0;

    Tensor random(Shape shape) {
        const Tensor t = empty(std::move(shape));
        uint64_t position = 0;
        for (float& x : t.data<float>()) x = static_cast<float>(3.0 * normal(5, stream, position++));
        ++stream;
        return t;
    }
    Tensor empty(Shape shape, DType dtype = DType::float32) {
        return allocator.empty(std::move(shape), dtype, MemoryCategory::temporaries, "t");
    }
    Tensor classes() {
        const Tensor t = empty({kRows}, DType::int64);
        for (int64_t r = 0; r < kRows; ++r)
            t.data<int64_t>()[static_cast<std::size_t>(r)] = (r * 5 + 3) % kClasses;
        return t;
    }
    /// Columns [first, first + n) of a (kRows, kClasses) array.
    Tensor columns(const Tensor& whole, int64_t first, int64_t n) {
        const Tensor part = empty({kRows, n});
        for (int64_t r = 0; r < kRows; ++r)
            kernels.copy(part.slice(r * n, n), whole.slice(r * kClasses + first, n));
        return part;
    }
};

void check_close(const Tensor& a, const Tensor& b) {
    REQUIRE(a.n_elements() == b.n_elements());
    for (std::size_t i = 0; i < a.data<float>().size(); ++i)
        CHECK(double(a.data<float>()[i]) == Approx(double(b.data<float>()[i])).margin(1e-6));
}

/// Where parts begin; the last one is empty, as torch.chunk leaves it.
const std::vector<int64_t> kFirst{0, 4, 8, 11, 11};

}  // namespace

TEST_CASE("cross-entropy of parts is cross-entropy of the whole: loss, log-sum-exp, gradient") {
    Bench b;
    const Tensor logits = b.random({kRows, kClasses}), targets = b.classes();
    const Tensor loss = b.empty({1}), lse = b.empty({kRows}), grad = b.empty({kRows, kClasses});
    const auto divisor = static_cast<double>(kRows) - 1;  // of the rows that count
    targets.data<int64_t>()[0] = tensor::kIgnoredTarget;
    b.kernels.cross_entropy_forward(loss, lse, logits, targets, divisor);
    const Tensor dloss = b.empty({1});
    b.kernels.fill(dloss, 0.5F);
    b.kernels.cross_entropy_backward(grad, dloss, logits, lse, targets, divisor);

    const Tensor largest = b.empty({kRows}), sums = b.empty({kRows}), picked = b.empty({kRows});
    const Tensor one = b.empty({kRows});
    b.kernels.fill(largest, -INFINITY);
    b.kernels.fill(sums, 0.0F);
    b.kernels.fill(picked, 0.0F);
    std::vector<Tensor> parts;
    for (std::size_t p = 0; p + 1 < kFirst.size(); ++p)
        parts.push_back(b.columns(logits, kFirst[p], kFirst[p + 1] - kFirst[p]));
    for (const Tensor& part : parts) {
        b.kernels.row_max(one, part);
        for (std::size_t r = 0; r < kRows; ++r)
            largest.data<float>()[r] = std::max(largest.data<float>()[r], one.data<float>()[r]);
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
        b.kernels.row_sum_exp(one, parts[p], largest);
        b.kernels.add(sums, sums, one);
        b.kernels.pick_targets(one, parts[p], targets, kFirst[p]);
        b.kernels.add(picked, picked, one);
    }
    const Tensor loss_of_parts = b.empty({1}), lse_of_parts = b.empty({kRows});
    b.kernels.cross_entropy_of_parts(loss_of_parts, lse_of_parts, largest, sums, picked, targets, divisor);
    check_close(loss_of_parts, loss);
    check_close(lse_of_parts, lse);
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const Tensor part_grad = b.empty(parts[p].shape());
        b.kernels.cross_entropy_part_backward(part_grad, dloss, parts[p], lse_of_parts, targets, kFirst[p],
                                              divisor);
        check_close(part_grad, b.columns(grad, kFirst[p], kFirst[p + 1] - kFirst[p]));
    }
}

TEST_CASE("embeddings of the parts of a table add up: each row's gradient goes to the part that holds it") {
    Bench b;
    const Tensor table = b.random({kClasses, kWidth}), indices = b.classes();
    const Tensor y = b.empty({kRows, kWidth}), dy = b.random({kRows, kWidth});
    const Tensor dtable = b.empty({kClasses, kWidth});
    b.kernels.embedding_forward(y, table, indices);
    b.kernels.embedding_backward(dtable, dy, indices, false);

    const Tensor sum = b.empty({kRows, kWidth}), one = b.empty({kRows, kWidth});
    b.kernels.fill(sum, 0.0F);
    for (std::size_t p = 0; p + 1 < kFirst.size(); ++p) {
        const int64_t n = kFirst[p + 1] - kFirst[p];
        b.kernels.embedding_part_forward(one, table.narrow(kFirst[p], n), indices, kFirst[p]);
        b.kernels.add(sum, sum, one);
        const Tensor part_grad = b.empty({n, kWidth});
        b.kernels.embedding_part_backward(part_grad, dy, indices, kFirst[p], false);
        check_close(part_grad, dtable.narrow(kFirst[p], n));
        b.kernels.embedding_part_backward(part_grad, dy, indices, kFirst[p], true);
        for (std::size_t i = 0; i < part_grad.data<float>().size(); ++i)
            CHECK(part_grad.data<float>()[i] ==
                  Approx(2 * dtable.narrow(kFirst[p], n).data<float>()[i]).margin(1e-6));
    }
    check_close(sum, y);
}

TEST_CASE("a NaN among the logits is the row's maximum") {
    Bench b;
    const Tensor x = b.allocator.of(std::vector<float>{1, NAN, 2}, {1, 3}, MemoryCategory::temporaries, "x");
    const Tensor largest = b.empty({1});
    b.kernels.row_max(largest, x);
    CHECK(std::isnan(largest.data<float>()[0]));
}
