#include "core/comm/faulty_group.h"

#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/comm/stream_executor.h"
#include "core/tensor/host_access.h"

namespace meshscope::comm {
namespace {

bool has_root(CollectiveOp op) {
    return op == CollectiveOp::broadcast || op == CollectiveOp::reduce || op == CollectiveOp::gather ||
           op == CollectiveOp::scatter;
}

/// Dtypes of as many bytes, so that the same buffer can be called either.
std::optional<DType> of_same_size(DType dtype) {
    switch (dtype) {
        case DType::float32:
            return DType::int32;
        case DType::int32:
            return DType::float32;
        case DType::bfloat16:
            return DType::float16;
        case DType::float16:
            return DType::bfloat16;
        default:
            return std::nullopt;
    }
}

/// An op that can be called with the same tensors.
CollectiveOp instead_of(CollectiveOp op) {
    switch (op) {
        case CollectiveOp::all_reduce:
            return CollectiveOp::broadcast;
        case CollectiveOp::broadcast:
            return CollectiveOp::all_reduce;
        case CollectiveOp::all_gather:
            return CollectiveOp::gather;
        case CollectiveOp::reduce_scatter:
            return CollectiveOp::scatter;
        default:
            return CollectiveOp::barrier;
    }
}

/// One element less a rank.
Tensor shortened(const Tensor& tensor, int64_t by) {
    if (!tensor.defined()) return tensor;
    return tensor.slice(0, std::max<int64_t>(0, tensor.n_elements() - by));
}

}  // namespace

struct FaultyGroup::Changed {
    CollectiveOp op;
    ReduceOp reduce_op;
    GroupRank peer;
    Tensor input, output;
    std::span<const int64_t> input_counts, output_counts;
    const CallOptions* options;

    explicit Changed(const CollectiveCall& call)
        : op(call.op),
          reduce_op(call.reduce_op),
          peer(call.peer),
          input(call.given()),
          output(*call.output),
          input_counts(call.input_counts),
          output_counts(call.output_counts),
          options(call.options) {}

    CollectiveCall call() const {
        return {.op = op,
                .reduce_op = reduce_op,
                .peer = peer,
                .input = &input,
                .output = &output,
                .input_counts = input_counts,
                .output_counts = output_counts,
                .options = options};
    }
    /// Those that may be changed, by name.
    std::string fields() const;
};

std::string FaultyGroup::Changed::fields() const {
    std::string all;
    const auto add = [&all](FaultField field) {
        all += (all.empty() ? "" : ", ") + std::string(comm::name(field));
    };
    if (op != CollectiveOp::barrier) add(FaultField::op);
    if (has_root(op)) add(FaultField::root);
    if (reduce_op != ReduceOp::none) add(FaultField::reduce_op);
    if (op != CollectiveOp::barrier) {
        const Tensor& tensor = input.defined() ? input : output;
        if (tensor.defined() && of_same_size(tensor.dtype())) add(FaultField::dtype);
        if (input_counts.empty() && output_counts.empty()) add(FaultField::count);
    }
    return all.empty() ? "–" : all;
}

FaultyGroup::FaultyGroup(std::unique_ptr<ProcessGroup> inner, Faults& faults, const trace::Recorder& recorder,
                         tensor::Allocator& memory)
    : inner_(std::move(inner)), faults_(faults), recorder_(recorder), memory_(memory) {}

void FaultyGroup::give_missing(Changed& call) const {
    const Tensor known = call.input.defined() ? call.input : call.output;
    if (!known.defined()) return;  // a barrier carries nothing
    const auto zeros = [&](int64_t elements) {
        Tensor made = memory_.empty({elements}, known.dtype(), MemoryCategory::temporaries, "fault");
        if (made.bytes() > 0) std::memset(made.raw(), 0, static_cast<std::size_t>(made.bytes()));
        return made;
    };
    const auto of_all = [&](std::span<const int64_t> counts) {
        return counts.empty() ? known.n_elements() * size()
                              : std::accumulate(counts.begin(), counts.end(), int64_t{0});
    };
    const bool root = call.peer == rank();
    switch (call.op) {
        case CollectiveOp::all_reduce:
            if (!call.input.defined()) call.input = zeros(known.n_elements());
            if (!call.output.defined()) call.output = zeros(known.n_elements());
            return;
        case CollectiveOp::broadcast:
            if (root && !call.input.defined()) call.input = zeros(known.n_elements());
            return;
        case CollectiveOp::reduce:
            if (root && !call.output.defined()) call.output = zeros(known.n_elements());
            return;
        case CollectiveOp::gather:
            if (root && !call.output.defined()) call.output = zeros(of_all(call.output_counts));
            return;
        case CollectiveOp::scatter:
            if (root && !call.input.defined()) call.input = zeros(of_all(call.input_counts));
            return;
        default:
            return;
    }
}

Work FaultyGroup::issue_as_is(const CollectiveCall& call, const std::optional<Fault>& fault) {
    CallOptions options = *call.options;
    options.async_op = true;
    CollectiveCall queued = call;
    queued.options = &options;
    Work work = inner_->issue(queued);
    faults_.issued(fault);
    if (call.options->async_op) return work;
    work.wait();
    return {};
}

Work FaultyGroup::issue(const CollectiveCall& call) {
    const std::optional<Fault> fault =
        faults_.on_issue(recorder_.step(), recorder_.phase(), call.options->cause);
    if (!fault) return issue_as_is(call);
    switch (fault->kind) {
        case FaultKind::skip: {
            auto done = std::make_shared<Work::State>();
            done->ended.store(true);
            return Work(std::move(done));
        }
        case FaultKind::repeat:
            issue_as_is(call);
            return issue_as_is(call);
        case FaultKind::mismatch: {
            Changed changed(call);
            change(changed, fault->field);
            give_missing(changed);
            return issue_as_is(changed.call());
        }
        default:
            return issue_as_is(call, fault);
    }
}

void FaultyGroup::change(Changed& call, FaultField field) const {
    const std::string possible = call.fields();
    const std::string word(comm::name(field));
    if ((", " + possible + ",").find(", " + word + ",") == std::string::npos)
        throw InvalidArgument(
            {"fault.no_field",
             {{"field", word},
              {"op", std::string(meshscope::name(call.op))},
              {"rank", int64_t{inner_->ranks()[static_cast<std::size_t>(inner_->rank().value)].value}},
              {"possible", possible}}});
    const int64_t p = size();
    switch (field) {
        case FaultField::op:
            call.op = instead_of(call.op);
            call.reduce_op = call.op == CollectiveOp::all_reduce ? ReduceOp::sum : ReduceOp::none;
            call.peer = has_root(call.op) ? GroupRank{0} : GroupRank{-1};
            if (call.op == CollectiveOp::barrier) call.input = call.output = {};
            return;
        case FaultField::root:
            call.peer = GroupRank{static_cast<int32_t>((call.peer.value + 1) % p)};
            return;
        case FaultField::reduce_op:
            call.reduce_op = call.reduce_op == ReduceOp::sum ? ReduceOp::max : ReduceOp::sum;
            return;
        case FaultField::dtype:
            return change_dtype(call);
        case FaultField::count: {
            // The larger of the two holds a part of every rank.
            const bool gathers = call.op == CollectiveOp::all_gather || call.op == CollectiveOp::gather;
            const bool scatters = call.op == CollectiveOp::reduce_scatter || call.op == CollectiveOp::scatter;
            const bool exchanges = call.op == CollectiveOp::all_to_all;
            const auto apart = [&](const Tensor& tensor) {
                return tensor.defined() ? memory_.clone(tensor, MemoryCategory::temporaries, "fault")
                                        : tensor;
            };
            call.input = shortened(call.input, scatters || exchanges ? p : 1);
            call.output = shortened(call.output, gathers || exchanges ? p : 1);
            // A part that lay at its place in the whole does not any more.
            if (gathers) call.input = apart(call.input);
            if (scatters) call.output = apart(call.output);
            return;
        }
    }
}

void FaultyGroup::change_dtype(Changed& call) const {
    const bool one = call.input.defined() && call.output.defined() && call.input.raw() == call.output.raw();
    const auto renamed = [&](const Tensor& tensor) {
        if (!tensor.defined()) return tensor;
        Tensor made = memory_.empty(tensor.shape(), *of_same_size(tensor.dtype()),
                                    MemoryCategory::temporaries, "fault");
        std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes()));
        tensor::read_bytes(bytes.data(), tensor);
        tensor::write_bytes(made, bytes.data());
        return made;
    };
    call.input = renamed(call.input);
    call.output = one ? call.input : renamed(call.output);
    // An average of whole numbers would be refused by the rank itself.
    if (call.reduce_op == ReduceOp::avg || call.reduce_op == ReduceOp::premul_sum)
        call.reduce_op = ReduceOp::sum;
}

}  // namespace meshscope::comm
