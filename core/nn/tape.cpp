#include "core/nn/tape.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/nn/compute_event.h"
#include "core/tensor/kernels.h"

namespace meshscope::nn {
namespace {

struct Slot {
    Tensor value;
    Tensor grad;
    int32_t producer = -1;  // the node that made it; -1 for inputs and leaves
    bool needs_grad = false;
};

/// A module's region: the nodes [first, last] appended while it was open, inner regions included.
struct Region {
    Module* module = nullptr;
    int32_t parent = -1;
    int32_t first = 0;
    int32_t last = -1;  // below first: no node
};

}  // namespace

struct Tape::Impl {
    struct Record {
        Node node;
        Variable output;
        int32_t region = -1;
        Tensor grad;  // of the output; between backward_input and backward_weight only
    };

    tensor::Allocator* allocator = nullptr;
    trace::Recorder* recorder = nullptr;
    Tape* around = nullptr;  // this tape does a piece of its work
    Grad mode = Grad::on;
    Kept* kept = nullptr;
    std::vector<Slot> slots;
    std::vector<Record> nodes;
    std::vector<Region> regions;  // in the order they were entered, so outer ones stand before inner ones
    int32_t region = -1;          // the open one in forward, the running node's in backward
    std::vector<std::function<void(Parameter&)>> ready_hooks;
    std::function<void(std::string_view, const Tensor&)> watcher;
    std::string_view running;                           // the node whose backward runs
    std::unordered_map<Parameter*, int32_t> uses_left;  // during backward
    bool ran_backward = false;
    bool weights_waiting = false;  // backward_input has run, backward_weight has not

    /// What every backward asks first: not yet run, no region open, `output` needs a gradient.
    void check_backward(Variable output);
    /// Everything backward from `output`; without `weights_now` the weight gradients wait.
    void run_backward(Tape& tape, Variable output, Tensor grad, bool weights_now);

    Slot& slot(Variable v) {
        if (v.id < 0 || static_cast<std::size_t>(v.id) >= slots.size())
            throw InvalidArgument({"tape.variable", {{"id", static_cast<int64_t>(v.id)}}});
        return slots[static_cast<std::size_t>(v.id)];
    }

    Variable add_slot(Slot added) {
        slots.push_back(std::move(added));
        return {static_cast<int32_t>(slots.size()) - 1};
    }

    std::string_view unit() const {
        if (region >= 0) return regions[static_cast<std::size_t>(region)].module->name();
        return around == nullptr ? std::string_view() : around->unit();
    }

    /// Which nodes lead to `loss` through variables that need a gradient.
    std::vector<bool> nodes_to_run(Variable loss) {
        std::vector<bool> runs(nodes.size(), false);
        const int32_t last = slot(loss).producer;
        if (last >= 0) runs[static_cast<std::size_t>(last)] = true;
        for (std::size_t i = nodes.size(); i-- > 0;) {
            if (!runs[i]) continue;
            for (const Variable v : nodes[i].node.inputs)
                if (slot(v).needs_grad && slot(v).producer >= 0)
                    runs[static_cast<std::size_t>(slot(v).producer)] = true;
        }
        return runs;
    }

    /// Whether one of the region's nodes hands a gradient to what was made before it.
    bool hands_on(const Region& r) {
        for (int32_t i = r.first; i <= r.last; ++i)
            for (const Variable v : nodes[static_cast<std::size_t>(i)].node.inputs)
                if (slot(v).needs_grad && slot(v).producer < r.first) return true;
        return false;
    }

    /// Shrinks the regions to the nodes that run, so that hooks fire around real work.
    void trim_regions(const std::vector<bool>& runs) {
        for (Region& r : regions) {
            while (r.last >= r.first && !runs[static_cast<std::size_t>(r.last)]) --r.last;
            while (r.last >= r.first && !runs[static_cast<std::size_t>(r.first)]) ++r.first;
        }
    }

    static void call(const std::vector<ModuleHook>& hooks, Module& module) {
        // By index: a hook may add hooks.
        for (std::size_t i = 0; i < hooks.size(); ++i) hooks[i](module);
    }

    /// One of the uses of `parameter` in this pass is done.
    void count_use(Parameter& parameter) {
        const auto found = uses_left.find(&parameter);
        if (found == uses_left.end())
            throw InvalidArgument({"tape.parameter", {{"parameter", parameter.name}}});
        if (--found->second > 0) return;
        if (around != nullptr) return around->impl_->count_use(parameter);
        for (std::size_t i = 0; i < ready_hooks.size(); ++i) ready_hooks[i](parameter);
    }

    void add_in_place(const Tensor& sum, const Tensor& more) {
        const ComputeEvent event(recorder, *allocator, "grad_sum", unit());
        event->add(sum, sum, more);
    }
};

Tape::Tape(tensor::Allocator& allocator, trace::Recorder* recorder, Grad grad)
    : impl_(std::make_unique<Impl>()) {
    impl_->allocator = &allocator;
    impl_->recorder = recorder;
    impl_->mode = grad;
}

Tape::Tape(Tape& around, Grad grad) : Tape(around.allocator(), around.recorder(), grad) {
    impl_->around = &around;
    impl_->watcher = around.impl_->watcher;
}

Tape::~Tape() = default;

tensor::Allocator& Tape::allocator() const {
    return *impl_->allocator;
}
trace::Recorder* Tape::recorder() const {
    return impl_->recorder;
}
std::string_view Tape::unit() const {
    return impl_->unit();
}

Variable Tape::input(Tensor value) {
    return impl_->add_slot({std::move(value), {}, -1, false});
}
Variable Tape::leaf(Tensor value) {
    return impl_->add_slot({std::move(value), {}, -1, impl_->mode == Grad::on});
}
const Tensor& Tape::value(Variable v) const {
    return impl_->slot(v).value;
}
const Tensor& Tape::grad(Variable v) const {
    return impl_->slot(v).grad;
}
Tensor Tape::take_grad(Variable v) {
    Tensor grad = std::move(impl_->slot(v).grad);
    impl_->slot(v).grad = Tensor();
    return grad;
}
void Tape::release(Variable v) {
    impl_->slot(v).value = Tensor();
}
bool Tape::needs_grad(Variable v) const {
    return impl_->slot(v).needs_grad;
}

void Tape::on_gradient_ready(std::function<void(Parameter&)> hook) {
    impl_->ready_hooks.push_back(std::move(hook));
}

void Tape::watch(std::function<void(std::string_view op, const Tensor& made)> watcher) {
    impl_->watcher = std::move(watcher);
}

void Tape::enter(Module& module) {
    const auto next = static_cast<int32_t>(impl_->nodes.size());
    impl_->regions.push_back({&module, impl_->region, next, next - 1});
    impl_->region = static_cast<int32_t>(impl_->regions.size()) - 1;
    Impl::call(module.hooks.pre_forward, module);
}

void Tape::leave(Module& module) {
    if (impl_->region < 0 || impl_->regions[static_cast<std::size_t>(impl_->region)].module != &module)
        throw InvalidArgument(
            {"tape.region", {{"module", module.name()}, {"open", std::string(impl_->unit())}}});
    Region& region = impl_->regions[static_cast<std::size_t>(impl_->region)];
    region.last = static_cast<int32_t>(impl_->nodes.size()) - 1;
    impl_->region = region.parent;
    module.output_needs_grad = region.last >= region.first;
    Impl::call(module.hooks.post_forward, module);
}

Variable Tape::append(Node node, Tensor value) {
    const auto index = static_cast<int32_t>(impl_->nodes.size());
    if (impl_->watcher) impl_->watcher(node.name, value);
    if (impl_->mode == Grad::off) return impl_->add_slot({std::move(value), {}, -1, false});
    std::erase_if(node.parameters, [](const Parameter* parameter) { return !parameter->needs_grad(); });
    if (node.parameters.empty()) {
        node.backward_weight = nullptr;
        if (std::ranges::none_of(node.inputs, [&](Variable v) { return needs_grad(v); }))
            return impl_->add_slot({std::move(value), {}, -1, false});
    }
    const Variable output = impl_->add_slot({std::move(value), {}, index, true});
    impl_->nodes.push_back({std::move(node), output, impl_->region, Tensor()});
    return output;
}

void Tape::accumulate(Variable v, Tensor grad) {
    Slot& slot = impl_->slot(v);
    if (!slot.needs_grad) return;
    if (impl_->watcher) impl_->watcher(impl_->running, grad);
    if (!slot.grad.defined()) {
        slot.grad = std::move(grad);
    } else if (!slot.grad.shared()) {
        impl_->add_in_place(slot.grad, grad);
    } else {
        const Tensor sum = allocator().empty(grad.shape(), grad.dtype(), MemoryCategory::activations,
                                             std::string(unit()) + " grad sum");
        const ComputeEvent event(recorder(), allocator(), "grad_sum", unit());
        event->add(sum, slot.grad, grad);
        slot.grad = sum;
    }
}

void Tape::accumulate(Parameter& parameter, Tensor grad) {
    if (parameter.map_grad) parameter.map_grad(*this, grad);
    if (impl_->watcher) impl_->watcher(impl_->running, grad);
    if (!parameter.grad.defined()) {
        parameter.grad = std::move(grad);
    } else {
        impl_->add_in_place(parameter.grad, grad);
        grad = Tensor();  // frees it before the hooks look at the memory
    }
    impl_->count_use(parameter);
}

void Tape::keep_in(Kept* kept) {
    impl_->kept = kept;
}

Tensor Tape::reuse() {
    Kept* const kept = impl_->kept;
    if (kept == nullptr || impl_->mode == Grad::off) return {};
    return std::move(kept->values.at(kept->next++));
}

void Tape::keep(const Tensor& made) {
    if (impl_->kept != nullptr && impl_->mode == Grad::off) impl_->kept->values.push_back(made);
}

void Tape::Impl::check_backward(Variable output) {
    if (ran_backward) throw InvalidArgument({"tape.backward_twice", {}});
    if (region >= 0)
        throw InvalidArgument({"tape.region", {{"module", std::string()}, {"open", std::string(unit())}}});
    if (!slot(output).needs_grad)
        throw InvalidArgument({"tape.loss", {{"shape", slot(output).value.shape()}}});
}

void Tape::Impl::run_backward(Tape& tape, Variable output, Tensor grad, bool weights_now) {
    ran_backward = true;
    const std::vector<bool> runs = nodes_to_run(output);
    trim_regions(runs);
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (runs[i])
            for (Parameter* parameter : nodes[i].node.parameters) ++uses_left[parameter];
    tape.accumulate(output, std::move(grad));

    for (std::size_t i = nodes.size(); i-- > 0;) {
        const auto index = static_cast<int32_t>(i);
        Record& record = nodes[i];
        const bool keeps = runs[i] && !weights_now && record.node.backward_weight;
        if (runs[i]) {
            for (const Region& r : regions)
                if (r.last == index && r.first <= index) call(r.module->hooks.pre_backward, *r.module);
            region = record.region;
            running = record.node.name;
            {
                Tensor node_grad = std::move(slot(record.output).grad);
                slot(record.output).grad = Tensor();
                if (keeps) record.grad = node_grad;
                if (weights_now && record.node.backward_weight) record.node.backward_weight(tape, node_grad);
                if (record.node.backward_input) record.node.backward_input(tape, node_grad);
                if (record.node.backward_both) record.node.backward_both(tape, std::move(node_grad));
            }
        }
        // Whether it ran or not, nothing will ask for its values again, but for a weight gradient put off.
        if (!keeps) record.node.backward_weight = nullptr;
        record.node.backward_input = nullptr;
        record.node.backward_both = nullptr;
        if (record.output.id != output.id) tape.release(record.output);
        if (runs[i]) {
            for (std::size_t r = regions.size(); r-- > 0;)
                if (regions[r].first == index && regions[r].last >= index) {
                    region = regions[r].parent;
                    regions[r].module->input_needs_grad = hands_on(regions[r]);
                    call(regions[r].module->hooks.post_backward, *regions[r].module);
                }
        }
    }
    region = -1;
    weights_waiting = !weights_now;
    if (weights_now) uses_left.clear();
}

namespace {

/// The gradient of a loss: one number.
Tensor seed_gradient(tensor::Allocator& allocator, const Tensor& loss, float seed) {
    if (loss.n_elements() != 1) throw InvalidArgument({"tape.loss", {{"shape", loss.shape()}}});
    Tensor grad = allocator.empty(loss.shape(), loss.dtype(), MemoryCategory::activations, "loss grad");
    allocator.device().kernels().fill(grad, seed);
    return grad;
}

void check_gradient(const Tensor& output, const Tensor& grad) {
    if (output.defined() && output.shape() != grad.shape())  // it may have been released
        throw InvalidArgument({"tape.gradient", {{"output", output.shape()}, {"gradient", grad.shape()}}});
}

}  // namespace

void Tape::backward(Variable loss, float seed) {
    impl_->check_backward(loss);
    impl_->run_backward(*this, loss, seed_gradient(allocator(), value(loss), seed), true);
}

void Tape::backward(Variable output, Tensor grad) {
    impl_->check_backward(output);
    check_gradient(value(output), grad);
    impl_->run_backward(*this, output, std::move(grad), true);
}

void Tape::backward_input(Variable loss, float seed) {
    impl_->check_backward(loss);
    impl_->run_backward(*this, loss, seed_gradient(allocator(), value(loss), seed), false);
}

void Tape::backward_input(Variable output, Tensor grad) {
    impl_->check_backward(output);
    check_gradient(value(output), grad);
    impl_->run_backward(*this, output, std::move(grad), false);
}

void Tape::backward_weight() {
    Impl& impl = *impl_;
    if (!impl.weights_waiting) throw InvalidArgument({"tape.weight_first", {}});
    impl.weights_waiting = false;
    for (std::size_t i = impl.nodes.size(); i-- > 0;) {
        Impl::Record& record = impl.nodes[i];
        if (!record.node.backward_weight) continue;
        impl.region = record.region;
        impl.running = record.node.name;
        {
            const Tensor grad = std::move(record.grad);
            record.grad = Tensor();
            record.node.backward_weight(*this, grad);
        }
        record.node.backward_weight = nullptr;
    }
    impl.region = -1;
    impl.uses_left.clear();
}

}  // namespace meshscope::nn
