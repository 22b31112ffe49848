// A cut parameter knows which box of the whole it is: every element is read from and written to its own
// place.
#include "core/parallel/tensor/placement.h"

#include <numeric>

#include "core/base/error.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::parallel;

namespace {

/// Element i of any parameter is i.
class Counted final : public InitialValues {
  public:
    void read(const nn::Parameter&, int64_t first, std::span<float> numbers) const override {
        std::iota(numbers.begin(), numbers.end(), static_cast<float>(first));
    }
};

nn::Parameter parameter(nn::Shape shape) {
    nn::Parameter p;
    p.name = "p";
    p.shape = std::move(shape);
    return p;
}

std::vector<float> part_of(const nn::Parameter& p) {
    std::vector<float> numbers(static_cast<std::size_t>(tensor::count(p.shape)));
    PartValues(Counted()).read(p, 0, numbers);
    return numbers;
}

}  // namespace

TEST_CASE("cut by rows, a part is a run of the whole: cut by columns, a run a row") {
    nn::Parameter rows = parameter({4, 3});
    cut_parameter(rows, 0, 2, 1);
    CHECK(rows.shape == nn::Shape{2, 3});
    CHECK(whole_shape(rows) == nn::Shape{4, 3});
    CHECK(part_of(rows) == std::vector<float>{6, 7, 8, 9, 10, 11});

    nn::Parameter columns = parameter({2, 4});
    cut_parameter(columns, 1, 2, 1);
    CHECK(columns.shape == nn::Shape{2, 2});
    CHECK(part_of(columns) == std::vector<float>{2, 3, 6, 7});
}

TEST_CASE("torch.chunk's rule: five columns on four ranks are 2, 2, 1 and none") {
    const std::vector<std::vector<float>> wanted{{0, 1, 5, 6}, {2, 3, 7, 8}, {4, 9}, {}};
    for (int64_t rank = 0; rank < 4; ++rank) {
        nn::Parameter p = parameter({2, 5});
        cut_parameter(p, 1, 4, rank);
        CHECK(part_of(p) == wanted[static_cast<std::size_t>(rank)]);
    }
}

TEST_CASE("the parts of all ranks, read from anywhere and written back, are the whole") {
    for (const nn::Shape& shape : {nn::Shape{7, 5}, nn::Shape{3, 8}, nn::Shape{9}, nn::Shape{2, 3, 5}})
        for (int32_t dim = 0; dim < static_cast<int32_t>(shape.size()); ++dim)
            for (int64_t ranks = 1; ranks <= 4; ++ranks) {
                std::vector<float> whole(static_cast<std::size_t>(tensor::count(shape)), -1.0F);
                for (int64_t rank = 0; rank < ranks; ++rank) {
                    nn::Parameter p = parameter(shape);
                    cut_parameter(p, dim, ranks, rank);
                    const int64_t n = tensor::count(p.shape);
                    for (int64_t first = 0; first < n; first += 2) {  // as FSDP's rows would be: in pieces
                        std::vector<float> piece(static_cast<std::size_t>(std::min<int64_t>(2, n - first)));
                        read_part(Counted(), p, first, piece);
                        write_part(whole, p, first, piece);
                    }
                }
                INFO("dim " << dim << " of " << shape.size() << ", " << ranks << " ranks");
                std::vector<float> wanted(whole.size());
                std::iota(wanted.begin(), wanted.end(), 0.0F);
                CHECK(whole == wanted);
            }
}

TEST_CASE("a parameter is cut once, along a dim it has") {
    nn::Parameter p = parameter({4});
    CHECK_THROWS_AS(cut_parameter(p, 1, 2, 0), InvalidArgument);
    cut_parameter(p, 0, 2, 0);
    CHECK_THROWS_AS(cut_parameter(p, 0, 2, 0), InvalidArgument);
}
