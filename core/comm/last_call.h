#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

#include "core/comm/process_group.h"

namespace meshscope::comm {

/// The call that a group made last, as far as a call must be looked at to know that it is the same again:
/// then it need not be checked again, and is run and recorded as that one was. For loops that make one call
/// over and over, as benchmarks do; where calls differ it costs the compare and remember().
///
/// Cost of is(): some 20 compares; of remember(): some 20 writes, and an allocation where a rule or a unit
/// has a longer name than those before.
class LastCall {
  public:
    /// Whether `call` is it in everything that check_call, the choice of an algorithm and an event's fields
    /// go by. Calls with counts never are.
    bool is(const CollectiveCall& call) const {
        const CallOptions& options = *call.options;
        return known_ && call.op == op_ && call.reduce_op == reduce_op_ && call.peer == peer_ &&
               call.in_place == in_place_ && output_.is(*call.output) && input_.is(*call.input) &&
               call.input_counts.empty() && call.output_counts.empty() && options.stream == stream_ &&
               options.algorithm == algorithm_ && options.padding == padding_ &&
               std::bit_cast<uint64_t>(options.factor) == factor_ && options.source.line() == line_ &&
               options.source.file_name() == file_ && options.cause.prefetch == prefetch_ &&
               options.cause.rule == rule_ && options.cause.unit == unit_;
    }
    [[gnu::noinline]] void remember(const CollectiveCall& call) {
        const CallOptions& options = *call.options;
        known_ = false;
        op_ = call.op;
        reduce_op_ = call.reduce_op;
        peer_ = call.peer;
        in_place_ = call.in_place;
        input_.remember(*call.input);
        output_.remember(*call.output);
        stream_ = options.stream;
        algorithm_ = options.algorithm;
        padding_ = options.padding;
        factor_ = std::bit_cast<uint64_t>(options.factor);
        line_ = options.source.line();
        file_ = options.source.file_name();
        prefetch_ = options.cause.prefetch;
        rule_ = options.cause.rule;
        unit_ = options.cause.unit;
        known_ = call.input_counts.empty() && call.output_counts.empty();
    }
    /// No call is the same.
    void forget() { known_ = false; }

  private:
    /// A tensor, but for its shape.
    struct Buffer {
        const std::byte* at = nullptr;
        int64_t elements = 0;
        DType dtype = DType::float32;
        bool defined = false;

        bool is(const Tensor& tensor) const {
            return tensor.raw() == at && tensor.n_elements() == elements && tensor.dtype() == dtype &&
                   tensor.defined() == defined;
        }
        void remember(const Tensor& tensor) {
            *this = {tensor.raw(), tensor.n_elements(), tensor.dtype(), tensor.defined()};
        }
    };

    bool known_ = false;
    CollectiveOp op_ = CollectiveOp::barrier;
    ReduceOp reduce_op_ = ReduceOp::none;
    Stream stream_ = Stream::compute;
    Algorithm algorithm_ = Algorithm::none;
    bool in_place_ = false;
    bool prefetch_ = false;
    GroupRank peer_{-1};
    Buffer input_, output_;
    int64_t padding_ = 0;
    uint64_t factor_ = 0;  ///< its bits: -0 is not 0 for what it multiplies
    uint32_t line_ = 0;
    const char* file_ = nullptr;
    std::string rule_, unit_;
};

}  // namespace meshscope::comm
