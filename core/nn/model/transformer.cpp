#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/nn/layers/activation.h"
#include "core/nn/layers/embedding.h"
#include "core/nn/layers/feed_forward.h"
#include "core/nn/layers/loss.h"
#include "core/nn/layers/norm.h"
#include "core/nn/layers/transformer_block.h"
#include "core/nn/model/kinds.h"
#include "core/tensor/host_access.h"

namespace meshscope::nn {
namespace {

/// gpt: tok(idx) + pos(0 … T-1), blocks with LayerNorm and an mlp, ln_f, head; linear layers of the blocks
/// have biases where spec.block_bias says so. llama: tok(idx), blocks with RMSNorm, rotary positions, grouped
/// queries and a gated mlp, ln_f, head. Tied: head.weight is tok.weight, one Parameter. Names and order are
/// those of PyTorch's parameters().
class Transformer final : public Model {
  public:
    explicit Transformer(const ModelSpec& spec) : Model(spec), spec_(spec), llama_(spec.kind == "llama") {
        Parameter* table =
            add_parameter("tok.weight", {spec.padded_vocab(), spec.dim}, spec.vocab, Initial::normal);
        if (spec.tied) tied_ = table;
        tok_ = keep(std::make_unique<Embedding>("tok", table));
        embed_modules_ = {tok_};
        if (!llama_) {
            pos_ = keep(std::make_unique<Embedding>(
                "pos", add_parameter("pos.weight", {spec.seq, spec.dim}, spec.seq, Initial::normal)));
            embed_modules_.push_back(pos_);
        }
        children_ = embed_modules_;
        for (int64_t i = 0; i < spec.layers; ++i) {
            TransformerBlock* block = add_block("blocks." + std::to_string(i), i);
            blocks_.push_back(block);
            children_.push_back(block);
            layer_modules_.push_back({block});
        }
        ln_f_ = add_norm("ln_f");
        head_ = spec.tied ? keep(std::make_unique<Linear>("head", table, nullptr))
                          : add_linear("head", spec.dim, spec.padded_vocab(), false);
        head_modules_ = {ln_f_, head_};
        children_.insert(children_.end(), head_modules_.begin(), head_modules_.end());
    }

    std::vector<std::string> default_units() const override {
        std::vector<std::string> units;
        for (const TransformerBlock* block : blocks_) units.push_back(block->name());
        return units;
    }

    Variable embed(Tape& tape, const Tensor& x) override {
        Variable tokens = tok_->forward(tape, tape.input(x));
        if (spec_.scaled_embedding) {
            const Variable plain = tokens;
            tokens = scale(tape, plain, static_cast<float>(std::sqrt(static_cast<double>(spec_.dim))));
            tape.release(plain);
        }
        if (pos_ == nullptr) return tokens;
        const Variable places = pos_->forward(tape, tape.input(position_indices(tape, x.shape().back())));
        const Variable stream = add_rows(tape, tokens, places);
        tape.release(tokens);
        tape.release(places);
        return stream;
    }

    Variable layer(Tape& tape, int64_t i, Variable stream) override {
        const Variable output = blocks_.at(static_cast<std::size_t>(i))->forward(tape, stream);
        tape.release(stream);
        return output;
    }

    Variable head(Tape& tape, Variable stream) override {
        const Variable normal = ln_f_->forward(tape, stream);
        tape.release(stream);
        const Variable logits = head_->forward(tape, normal);
        tape.release(normal);
        return logits;
    }

    Variable criterion(Tape& tape, Variable output, const Tensor& target) override {
        const Variable loss = own_criterion ? own_criterion(tape, output, target)
                                            : cross_entropy(tape, output, target, loss_form);
        tape.release(output);
        return loss;
    }

    Shape input_shape(int64_t batch) const override { return {batch, spec_.seq}; }
    Shape target_shape(int64_t batch) const override { return {batch, spec_.seq}; }
    DType input_dtype() const override { return DType::int64; }
    DType target_dtype() const override { return DType::int64; }
    Shape stream_shape(int64_t batch) const override {
        const int64_t each = (tokens() + stream_parts - 1) / stream_parts;
        return {batch, std::clamp<int64_t>(tokens() - stream_part * each, 0, each), spec_.dim};
    }
    int64_t tokens() const override {
        return positions_.tokens.defined() ? positions_.tokens.n_elements() : spec_.seq;
    }

  private:
    RmsNorm* add_rms_norm(const std::string& name, int64_t width) {
        Parameter* weight = add_parameter(name + ".weight", {width}, width,
                                          spec_.zero_centered_norm ? Initial::zeros : Initial::ones);
        return keep(std::make_unique<RmsNorm>(name, weight, spec_.norm_eps, spec_.zero_centered_norm));
    }

    Layer* add_norm(const std::string& name) {
        if (llama_) return add_rms_norm(name, spec_.dim);
        Parameter* weight = add_parameter(name + ".weight", {spec_.dim}, spec_.dim, Initial::ones);
        Parameter* bias = add_parameter(name + ".bias", {spec_.dim}, spec_.dim, Initial::zeros);
        return keep(std::make_unique<LayerNorm>(name, weight, bias, spec_.norm_eps));
    }

    Attention* add_attention(const std::string& name, int64_t layer) {
        const int64_t head_dim = spec_.head_width(), width = spec_.query_width(), kv_width = spec_.kv_width();
        const bool in_bias = llama_ ? spec_.qkv_bias : spec_.block_bias;
        Attention::Parts parts{
            .wq = add_linear(name + ".wq", spec_.dim, width, in_bias),
            .wk = add_linear(name + ".wk", spec_.dim, kv_width, in_bias),
            .wv = add_linear(name + ".wv", spec_.dim, kv_width, in_bias),
            .wo = add_linear(name + ".wo", width, spec_.dim, llama_ ? spec_.out_bias : spec_.block_bias)};
        if (spec_.qk_norm != QkNorm::none) {
            const bool each_head = spec_.qk_norm == QkNorm::head;
            parts.q_norm = add_rms_norm(name + ".q_norm", each_head ? head_dim : width);
            parts.k_norm = add_rms_norm(name + ".k_norm", each_head ? head_dim : kv_width);
        }
        const int64_t window = spec_.window_of(layer);
        std::optional<RotaryForm> rope;
        if (llama_) {
            rope = RotaryForm{spec_.rope_theta, spec_.rope_halves, spec_.rope_scaling};
            if (window > 0 && spec_.window_rope_theta > 0)
                rope = RotaryForm{spec_.window_rope_theta, spec_.rope_halves, {}};
        }
        return keep(std::make_unique<Attention>(
            name, parts, AttentionForm{head_dim, window, spec_.attention_scale}, rope, &positions_));
    }

    Layer* add_feed_forward(const std::string& name) {
        const bool bias = llama_ ? spec_.mlp_bias : spec_.block_bias;
        Linear* gate = llama_ ? add_linear(name + ".gate", spec_.dim, spec_.hidden, bias) : nullptr;
        Linear* up = add_linear(name + ".up", spec_.dim, spec_.hidden, bias);
        Linear* down = add_linear(name + ".down", spec_.hidden, spec_.dim, bias);
        if (llama_) return keep(std::make_unique<GatedMlp>(name, gate, up, down, spec_.used_activation()));
        return keep(std::make_unique<MlpBlock>(name, up, down, nullptr, spec_.used_activation()));
    }

    TransformerBlock* add_block(const std::string& name, int64_t layer) {
        const auto before = [&](const char* norm) {
            return spec_.norm_place == NormPlace::after ? nullptr : add_norm(name + norm);
        };
        const auto after = [&](const char* norm) {
            return spec_.norm_place == NormPlace::before ? nullptr : add_norm(name + norm);
        };
        TransformerBlock::Norms ln1{.before = before(".ln1")};
        Attention* attn = add_attention(name + ".attn", layer);
        ln1.after = after(".ln1_after");
        TransformerBlock::Norms ln2{.before = before(".ln2")};
        Layer* mlp = add_feed_forward(name + ".mlp");
        ln2.after = after(".ln2_after");
        return keep(std::make_unique<TransformerBlock>(name, ln1, attn, ln2, mlp));
    }

    /// pos' rows for `tokens` tokens.
    Tensor position_indices(Tape& tape, int64_t tokens) const {
        if (positions_.tokens.defined()) return positions_.tokens;
        const Tensor indices =
            tape.allocator().empty({tokens}, DType::int64, MemoryCategory::inputs, "positions");
        tensor::fill_numbers<int64_t>(indices, [&](std::span<int64_t> numbers) {
            std::iota(numbers.begin(), numbers.end(), positions_.first);
        });
        return indices;
    }

    ModelSpec spec_;
    bool llama_;
    Embedding* tok_ = nullptr;
    Embedding* pos_ = nullptr;  // gpt
    std::vector<TransformerBlock*> blocks_;
    Layer* ln_f_ = nullptr;
    Linear* head_ = nullptr;
};

}  // namespace

std::unique_ptr<Model> make_transformer(const ModelSpec& spec) {
    return std::make_unique<Transformer>(spec);
}

}  // namespace meshscope::nn
