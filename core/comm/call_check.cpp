#include "core/comm/call_check.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/comm/reduce.h"
#include "core/tensor/dry_device.h"

namespace meshscope::comm {
namespace {

/// One call under examination.
class Check {
  public:
    /// Fills in `checked`, which is empty.
    Check(const CollectiveCall& call, int32_t me, int32_t p, IssuedCall& checked)
        : call_(call), me_(me), p_(p), checked_(checked) {
        checked_.op = call.op;
        checked_.stream = call.options->stream;
        checked_.factor = call.options->factor;
        checked_.source = call.options->source;
    }

    void run();

  private:
    std::string op() const { return std::string(name(call_.op)); }
    bool at_root() const { return checked_.peer == me_; }

    // What is thrown is made apart, so that the checks of a call in order are a few instructions in one
    // place.

    void need_peer() {
        const int32_t peer = call_.peer.value;
        if (peer < 0 || peer >= p_) fail_peer();
        checked_.peer = peer;
    }

    void need_reduce_op(DType dtype) {
        if (!has_meaning(call_.reduce_op, dtype)) check_reduce_op(call_.reduce_op, dtype);
        checked_.reduce_op = call_.reduce_op;
    }

    void need_defined(const Tensor& tensor, const char* which) const {
        if (!tensor.defined()) fail_missing(which);
    }

    void need_elements(const Tensor& tensor, const char* which, int64_t elements) const {
        if (tensor.n_elements() != elements) fail_elements(tensor.n_elements(), which, elements);
    }

    [[noreturn, gnu::cold, gnu::noinline]] void fail_peer() const {
        throw InvalidArgument({"comm.peer_outside_group",
                               {{"op", op()}, {"peer", int64_t{call_.peer.value}}, {"size", int64_t{p_}}}});
    }
    [[noreturn, gnu::cold, gnu::noinline]] void fail_missing(const char* which) const {
        throw InvalidArgument({"comm.tensor_missing",
                               {{"op", op()}, {"which", std::string(which)}, {"group_rank", int64_t{me_}}}});
    }
    [[noreturn, gnu::cold, gnu::noinline]] void fail_elements(int64_t elements, const char* which,
                                                              int64_t expected) const {
        throw InvalidArgument({"comm.wrong_elements",
                               {{"op", op()},
                                {"which", std::string(which)},
                                {"group_rank", int64_t{me_}},
                                {"elements", elements},
                                {"expected", expected}}});
    }
    [[noreturn, gnu::cold, gnu::noinline]] void fail_dtypes() const {
        throw InvalidArgument({"comm.dtypes_differ",
                               {{"op", op()},
                                {"input", std::string(name(call_.given().dtype()))},
                                {"output", std::string(name(call_.output->dtype()))}}});
    }
    [[noreturn, gnu::cold, gnu::noinline]] void fail_overlap() const {
        throw InvalidArgument({"comm.overlap", {{"op", op()}}});
    }

    /// Fills in parts by the given counts, or p even ones of `even` elements.
    void set_parts(std::vector<Part>& parts, std::span<const int64_t> counts, int64_t even) const {
        if (counts.empty()) return set_even_parts(parts, even, p_);
        const bool negative = std::any_of(counts.begin(), counts.end(), [](int64_t n) { return n < 0; });
        if (static_cast<int32_t>(counts.size()) != p_ || negative)
            throw InvalidArgument({"comm.wrong_counts",
                                   {{"op", op()},
                                    {"counts", std::vector<int64_t>(counts.begin(), counts.end())},
                                    {"size", int64_t{p_}}}});
        set_parts_of(parts, counts);
    }

    int64_t mine(const std::vector<Part>& parts) const {
        return parts[static_cast<std::size_t>(me_)].elements;
    }

    void give(const Tensor& input) {
        checked_.input = input.raw();
        checked_.in_elements = input.n_elements();
        checked_.dtype = input.dtype();
    }
    void get(const Tensor& output) {
        checked_.output = output.raw();
        checked_.out_elements = output.n_elements();
        checked_.dtype = output.dtype();
    }
    /// Both; `allowed` is where the input may lie in the output, or the output in the input (in elements).
    void give_and_get(int64_t allowed) {
        const Tensor& in = call_.given();
        const Tensor& out = *call_.output;
        if (in.dtype() != out.dtype()) fail_dtypes();
        give(in);
        get(out);
        const int64_t each = bytes_per_element(in.dtype());
        const int64_t in_bytes = checked_.in_elements * each;
        const int64_t out_bytes = checked_.out_elements * each;
        if (in_bytes == 0 || out_bytes == 0) return;
        const std::byte* const in_begin = checked_.input;
        const std::byte* const out_begin = checked_.output;
        const bool apart = in_begin + in_bytes <= out_begin || out_begin + out_bytes <= in_begin;
        const int64_t offset = allowed * each;
        const bool input_in_place = out_bytes >= in_bytes && allowed >= 0 && in_begin == out_begin + offset;
        const bool output_in_place = in_bytes >= out_bytes && allowed >= 0 && out_begin == in_begin + offset;
        if (apart || input_in_place || output_in_place) return;
        // Of a dry device only where a block begins is its own (core/tensor/dry_blocks.h).
        if (!tensor::does_nothing(out.device())) fail_overlap();
    }

    void check_in_place();
    void check_gather();
    void check_scatter();
    void check_all_gather();
    void check_reduce_scatter();
    void check_all_to_all();

    const CollectiveCall& call_;
    int32_t me_;
    int32_t p_;
    IssuedCall& checked_;
};

/// broadcast, reduce, all_reduce: input and output have n elements, and may be one buffer.
void Check::check_in_place() {
    const bool needs_input = call_.op != CollectiveOp::broadcast || at_root();
    const bool needs_output = call_.op != CollectiveOp::reduce || at_root();
    const Tensor& input = call_.given();
    if (needs_input) need_defined(input, "input");
    if (needs_output) need_defined(*call_.output, "output");
    if (call_.in_place) {
        give(input);
        get(*call_.output);
    } else if (input.defined() && call_.output->defined()) {
        need_elements(*call_.output, "output", input.n_elements());
        give_and_get(0);
    } else if (input.defined()) {
        give(input);
    } else {
        get(*call_.output);
    }
    if (call_.op != CollectiveOp::broadcast) need_reduce_op(checked_.dtype);
}

void Check::check_gather() {
    need_defined(*call_.input, "input");
    set_parts(checked_.out_parts, call_.output_counts, call_.input->n_elements());
    need_elements(*call_.input, "input", mine(checked_.out_parts));
    if (!at_root()) return give(*call_.input);
    need_defined(*call_.output, "output");
    need_elements(*call_.output, "output", total(checked_.out_parts));
    give_and_get(checked_.out_parts[static_cast<std::size_t>(me_)].first);
}

void Check::check_scatter() {
    need_defined(*call_.output, "output");
    set_parts(checked_.in_parts, call_.input_counts, call_.output->n_elements());
    need_elements(*call_.output, "output", mine(checked_.in_parts));
    if (!at_root()) return get(*call_.output);
    need_defined(*call_.input, "input");
    need_elements(*call_.input, "input", total(checked_.in_parts));
    give_and_get(checked_.in_parts[static_cast<std::size_t>(me_)].first);
}

void Check::check_all_gather() {
    need_defined(*call_.input, "input");
    need_defined(*call_.output, "output");
    set_parts(checked_.out_parts, call_.output_counts, call_.input->n_elements());
    need_elements(*call_.input, "input", mine(checked_.out_parts));
    need_elements(*call_.output, "output", total(checked_.out_parts));
    give_and_get(checked_.out_parts[static_cast<std::size_t>(me_)].first);
}

void Check::check_reduce_scatter() {
    need_defined(*call_.input, "input");
    need_defined(*call_.output, "output");
    set_parts(checked_.in_parts, call_.input_counts, call_.output->n_elements());
    need_elements(*call_.output, "output", mine(checked_.in_parts));
    need_elements(*call_.input, "input", total(checked_.in_parts));
    give_and_get(checked_.in_parts[static_cast<std::size_t>(me_)].first);
    need_reduce_op(checked_.dtype);
}

void Check::check_all_to_all() {
    need_defined(*call_.input, "input");
    need_defined(*call_.output, "output");
    set_parts(checked_.in_parts, call_.input_counts, call_.input->n_elements() / p_);
    set_parts(checked_.out_parts, call_.output_counts, call_.output->n_elements() / p_);
    need_elements(*call_.input, "input", total(checked_.in_parts));
    need_elements(*call_.output, "output", total(checked_.out_parts));
    // What a rank keeps for itself leaves and enters at once.
    if (mine(checked_.in_parts) != mine(checked_.out_parts))
        throw InvalidArgument({"comm.own_part_differs",
                               {{"group_rank", int64_t{me_}},
                                {"input", mine(checked_.in_parts)},
                                {"output", mine(checked_.out_parts)}}});
    give_and_get(-1);
}

void Check::run() {
    checked_.counts_named = !call_.input_counts.empty() || !call_.output_counts.empty();
    switch (call_.op) {
        case CollectiveOp::broadcast:
        case CollectiveOp::reduce:
            need_peer();
            [[fallthrough]];
        case CollectiveOp::all_reduce:
            check_in_place();
            break;
        case CollectiveOp::gather:
            need_peer();
            check_gather();
            break;
        case CollectiveOp::scatter:
            need_peer();
            check_scatter();
            break;
        case CollectiveOp::all_gather:
            check_all_gather();
            break;
        case CollectiveOp::reduce_scatter:
            check_reduce_scatter();
            break;
        case CollectiveOp::all_to_all:
            check_all_to_all();
            break;
        case CollectiveOp::send:
        case CollectiveOp::recv: {
            need_peer();
            if (checked_.peer == me_)
                throw InvalidArgument({"comm.peer_is_self", {{"op", op()}, {"group_rank", int64_t{me_}}}});
            const bool sends = call_.op == CollectiveOp::send;
            need_defined(sends ? *call_.input : *call_.output, sends ? "input" : "output");
            sends ? give(*call_.input) : get(*call_.output);
            break;
        }
        case CollectiveOp::barrier:
            break;
    }
}

}  // namespace

int64_t full_elements(const IssuedCall& call) {
    switch (call.op) {
        case CollectiveOp::all_gather:
        case CollectiveOp::gather:
            return total(call.out_parts);
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::scatter:
        case CollectiveOp::all_to_all:
            return total(call.in_parts);
        case CollectiveOp::broadcast:
            return std::max(call.in_elements, call.out_elements);
        case CollectiveOp::recv:
            return call.out_elements;
        default:
            return call.in_elements;
    }
}

IssuedCall check_call(const CollectiveCall& call, int32_t group_rank, int32_t group_size) {
    IssuedCall checked;
    checked.waits = !call.options->async_op;
    Check(call, group_rank, group_size, checked).run();
    return checked;
}

}  // namespace meshscope::comm
