#include "core/nn/recompute.h"

#include <memory>
#include <utility>

#include "core/nn/layers/layer.h"

namespace meshscope::nn {
namespace {

/// What runs while it lives runs for the second time.
class SecondTime {
  public:
    explicit SecondTime(trace::Recorder* recorder) : recorder_(recorder) {
        if (recorder_ != nullptr) recorder_->set_recompute(true);
    }
    ~SecondTime() {
        if (recorder_ != nullptr) recorder_->set_recompute(false);
    }
    SecondTime(const SecondTime&) = delete;
    SecondTime& operator=(const SecondTime&) = delete;

  private:
    trace::Recorder* recorder_;
};

}  // namespace

Variable checkpoint(Tape& tape, Variable x, Layer& layer, Recompute recompute) {
    const Tensor input = tape.value(x);
    const bool needs_input_grad = tape.needs_grad(x);
    // Shared with the node, because std::function wants to be copied.
    const auto kept = recompute == Recompute::selective ? std::make_shared<Tape::Kept>() : nullptr;
    Tensor output;
    {
        Tape forward(tape, Tape::Grad::off);
        forward.keep_in(kept.get());
        output = forward.value(layer.work(forward, forward.input(input)));
    }
    Tape::Node node;
    node.name = "checkpoint";
    node.inputs = {x};
    node.parameters = layer.parameters();
    node.backward_both = [x, from = input, needs_input_grad, kept, &layer](Tape& t,
                                                                           Tensor grad_output) mutable {
        Tape again(t, Tape::Grad::on);
        again.keep_in(kept.get());
        const Variable start = needs_input_grad ? again.leaf(from) : again.input(from);
        from = Tensor();  // the second tape's nodes hold it as long as they need it
        Variable end;
        {
            const SecondTime second(t.recorder());
            end = layer.work(again, start);
        }
        again.release(start);
        again.release(end);
        again.backward(end, std::move(grad_output));
        if (needs_input_grad) t.accumulate(x, again.take_grad(start));
    };
    return tape.append(std::move(node), std::move(output));
}

void checkpoint_layers(Model& model, Recompute recompute) {
    if (recompute == Recompute::none) return;
    for (int64_t i = 0; i < model.n_layers(); ++i)
        for (Module* module : model.layer_modules(i))
            if (auto* layer = dynamic_cast<Layer*>(module))
                layer->around = [recompute](Tape& tape, Variable x, Layer& work) {
                    return checkpoint(tape, x, work, recompute);
                };
}

}  // namespace meshscope::nn
