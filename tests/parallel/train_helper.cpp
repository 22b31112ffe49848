#include "tests/parallel/train_helper.h"

#include <cmath>

#include "tests/test.h"

namespace meshscope::test {
namespace {

std::string scenario(const std::string& model, const std::string& steps, const std::string& rest,
                     const std::string& optimizer, const std::string& train) {
    return "format = 1\n[model]\n" + model +
           "\nseed = 7\n[data]\nkind = \"regression\"\nsamples = 480\nseed = 3\n[train]\nsteps = " + steps +
           "\nglobal_batch = 24\n" + train + "\n[optimizer]\n" + optimizer + "\n" + rest;
}

}  // namespace

std::string mlp_scenario(const std::string& rest, const std::string& optimizer, const std::string& train) {
    return scenario("kind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 3", "10", rest, optimizer, train);
}

std::string toy_scenario(const std::string& rest, const std::string& optimizer, const std::string& train) {
    return scenario("kind = \"toy\"", "3", rest, optimizer, train);
}

std::string one_rank() {
    return "[mesh]\nshape = [1]\nnames = [\"replicate\"]\n[parallel]\ndata = \"none\"\n";
}

void check_equal(const run::RunResult& a, const run::RunResult& b) {
    REQUIRE(a.trace->info.losses.size() == b.trace->info.losses.size());
    for (std::size_t s = 0; s < a.trace->info.losses.size(); ++s)
        CHECK(a.trace->info.losses[s] == Approx(b.trace->info.losses[s]).epsilon(2e-5));
    REQUIRE(a.trace->info.grad_norms.size() == b.trace->info.grad_norms.size());
    for (std::size_t s = 0; s < a.trace->info.grad_norms.size(); ++s)
        CHECK(a.trace->info.grad_norms[s] == Approx(b.trace->info.grad_norms[s]).epsilon(1e-4));
    REQUIRE(a.parameters.size() == b.parameters.size());
    for (std::size_t p = 0; p < a.parameters.size(); ++p) {
        INFO(a.parameters[p].name);
        double worst = 0;
        bool numbers = true;
        for (std::size_t i = 0; i < a.parameters[p].numbers.size(); ++i) {
            const double x = double(a.parameters[p].numbers[i]), y = double(b.parameters[p].numbers[i]);
            numbers = numbers && std::isfinite(x) && std::isfinite(y);
            worst = std::max(worst, std::abs(x - y) - 2e-4 * std::abs(y));
        }
        CHECK(numbers);
        CHECK(worst <= 2e-5);
    }
}

}  // namespace meshscope::test
