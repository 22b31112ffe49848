#include "core/comm/last_call.h"

#include <functional>
#include <string>
#include <vector>

#include "core/tensor/device.h"
#include "tests/test.h"

using namespace meshscope;
using comm::CallOptions;
using comm::CollectiveCall;
using comm::LastCall;
using tensor::Tensor;

TEST_CASE("a call is the last one again only when nothing that it goes by has changed") {
    const auto device = tensor::make_cpu_device();
    tensor::Allocator memory(*device);
    const auto zeros = [&](int64_t n, DType dtype) {
        return memory.zeros({n}, dtype, MemoryCategory::temporaries, "test");
    };
    const Tensor full = zeros(8, DType::float32), part = zeros(4, DType::float32),
                 other = zeros(4, DType::float32), words = zeros(4, DType::int32),
                 empty = zeros(0, DType::float32);
    const std::vector<int64_t> counts{4, 4};
    std::string unit = "layers.0.attention";

    CallOptions options{.cause = {"user.call", unit}};
    CollectiveCall call{.op = CollectiveOp::all_gather,
                        .reduce_op = ReduceOp::none,
                        .input = &part,
                        .output = &full,
                        .options = &options};
    LastCall last;
    CHECK_FALSE(last.is(call));
    last.remember(call);
    CHECK(last.is(call));
    const Tensor alike = full.slice(0, 8);  // another handle of the same numbers
    call.output = &alike;
    CHECK(last.is(call));
    call.output = &full;

    const CollectiveCall call_then = call;
    const CallOptions options_then = options;
    const std::vector<std::function<void()>> changes{
        [&] { call.op = CollectiveOp::all_to_all; },
        [&] { call.reduce_op = ReduceOp::sum; },
        [&] { call.peer = GroupRank{0}; },
        [&] { call.in_place = true; },
        [&] { call.input = &other; },
        [&] { call.input = &words; },
        [&] { call.input = &empty; },
        [&] { call.input = &comm::kNoTensor; },
        [&] { call.output = &part; },
        [&] { call.input_counts = counts; },
        [&] { call.output_counts = counts; },
        [&] { options.stream = Stream::all_gather; },
        [&] { options.algorithm = Algorithm::ring; },
        [&] { options.padding = 1; },
        [&] { options.factor = 2; },
        [&] { options.source = std::source_location::current(); },
        [&] { options.cause.prefetch = true; },
        [&] { options.cause.rule = "user.other"; },
        [&] { options.cause.rule = "user.cal"; },
        [&] { options.cause.unit = "layers.1.attention"; },
        [&] { options.cause.unit = "layers.0.attentioN"; },
        [&] { options.cause.unit = ""; },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        INFO("change " << i);
        changes[i]();
        CHECK_FALSE(last.is(call));
        call = call_then;
        options = options_then;
        CHECK(last.is(call));
    }

    SECTION("a text that changed where it lies") {
        unit[7] = '1';
        CHECK_FALSE(last.is(call));
        unit[7] = '0';
        CHECK(last.is(call));
    }
    SECTION("-0 is not 0") {
        options.factor = 0.0;
        last.remember(call);
        options.factor = -0.0;
        CHECK_FALSE(last.is(call));
    }
    SECTION("nothing given, and nothing to give") {
        call.input = &empty;
        last.remember(call);
        CHECK(last.is(call));
        call.input = &comm::kNoTensor;
        CHECK_FALSE(last.is(call));
    }
    SECTION("a call with counts never is") {
        call.output_counts = counts;
        last.remember(call);
        CHECK_FALSE(last.is(call));
    }
    SECTION("nothing is known when it was forgotten") {
        last.forget();
        CHECK_FALSE(last.is(call));
    }
}
