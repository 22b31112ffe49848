// The transformers' layers and models against finite differences, and what stands at a module's ports.
#include "core/nn/layers/activation.h"
#include "core/nn/layers/embedding.h"
#include "core/nn/layers/feed_forward.h"
#include "core/nn/layers/norm.h"
#include "core/nn/layers/transformer_block.h"
#include "tests/nn/slopes.h"

using namespace meshscope;
using namespace meshscope::nn;
using meshscope::test::Bench;
using meshscope::test::check_layer;
using meshscope::test::check_slopes;

namespace {

Parameter made(Bench& bench, std::string name, Shape shape, uint64_t stream) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.shape = shape;
    parameter.value = bench.random(std::move(shape), stream);
    for (float& x : parameter.value.data<float>()) x *= 0.5F;
    return parameter;
}

void check_model(const ModelSpec& spec) {
    Bench bench;
    const auto model = make_model(spec);
    bench.fill_wide(*model, 0.5F);
    const Tensor x = bench.tokens(model->input_shape(2), spec.vocab, 1);
    const Tensor y = bench.tokens(model->target_shape(2), spec.vocab, 2);
    test::check_model(*model, x, y, bench);
}

ModelSpec gpt() {
    return {.kind = "gpt", .dim = 8, .hidden = 12, .layers = 2, .vocab = 7, .seq = 5, .heads = 2};
}
ModelSpec llama() {
    return {.kind = "llama",
            .dim = 8,
            .hidden = 12,
            .layers = 2,
            .vocab = 7,
            .seq = 5,
            .heads = 4,
            .kv_heads = 2};
}

}  // namespace

TEST_CASE("Embedding's gradient is the sum over the places where a row was used") {
    Bench bench;
    Parameter table = made(bench, "t", {6, 4}, 1);
    Embedding layer("tok", &table);
    const Tensor indices = bench.tokens({2, 5}, 6, 2);
    const Tensor target = bench.random({2, 5, 4}, 3);
    const auto run = [&](Tape& tape) { return mse(tape, layer.forward(tape, tape.input(indices)), target); };
    Tape tape(bench.allocator, nullptr);
    tape.backward(run(tape));
    check_slopes(table.value, table.grad, [&] {
        Tape again(bench.allocator, nullptr);
        return static_cast<double>(again.value(run(again)).data<float>()[0]);
    });
}

TEST_CASE("parts of an embedding add up to the whole, and each has its rows' gradient") {
    Bench bench;
    Parameter whole = made(bench, "t", {6, 4}, 1);
    Embedding all("tok", &whole);
    const Tensor indices = bench.tokens({2, 5}, 6, 2);
    const Tensor target = bench.random({2, 5, 4}, 3);
    Tape tape(bench.allocator, nullptr);
    tape.backward(mse(tape, all.forward(tape, tape.input(indices)), target));

    Parameter low = made(bench, "low", {4, 4}, 4), high = made(bench, "high", {2, 4}, 5);
    low.value = whole.value.narrow(0, 4);
    low.box = {{6, 4}, 0, 0};
    high.value = whole.value.narrow(4, 2);
    high.box = {{6, 4}, 0, 4};
    Embedding first("tok", &low), second("tok", &high);
    Tape parts(bench.allocator, nullptr);
    const Variable index = parts.input(indices);
    parts.backward(mse(parts, add(parts, first.forward(parts, index), second.forward(parts, index)), target));
    for (std::size_t i = 0; i < 24; ++i)
        CHECK((i < 16 ? low.grad.data<float>()[i] : high.grad.data<float>()[i - 16]) ==
              whole.grad.data<float>()[i]);
}

TEST_CASE("LayerNorm and RMSNorm have the gradients of their formulas") {
    Bench bench;
    Parameter weight = made(bench, "w", {6}, 1), bias = made(bench, "b", {6}, 2);
    LayerNorm layer_norm("ln", &weight, &bias);
    check_layer([&](Tape& t, Variable x) { return layer_norm.forward(t, x); }, bench.random({3, 6}, 3),
                bench.random({3, 6}, 4), {&weight, &bias}, bench);
    weight.grad = Tensor();
    RmsNorm rms_norm("ln", &weight);
    check_layer([&](Tape& t, Variable x) { return rms_norm.forward(t, x); }, bench.random({3, 6}, 3),
                bench.random({3, 6}, 4), {&weight}, bench);
}

TEST_CASE("SwiGLU's product, broadcast sums and rotary positions have the gradients of their formulas") {
    Bench bench;
    const Tensor x = bench.random({2, 3, 4}, 1);
    const Tensor other = bench.random({2, 3, 4}, 2);
    const Tensor row = bench.random({3, 4}, 3);
    const Tensor target = bench.random({2, 3, 4}, 4);
    check_layer([&](Tape& t, Variable v) { return silu_mul(t, v, t.input(other)); }, x, target, {}, bench);
    check_layer([&](Tape& t, Variable v) { return silu_mul(t, t.input(other), v); }, x, target, {}, bench);
    check_layer([&](Tape& t, Variable v) { return add_rows(t, v, t.input(row)); }, x, target, {}, bench);
    check_layer([&](Tape& t, Variable v) { return add_rows(t, t.input(x), v); }, row, target, {}, bench);
    check_layer([&](Tape& t, Variable v) { return rotary(t, v, 2, {}, {.first = 3}); }, x, target, {}, bench);
}

TEST_CASE("attention has the gradient of its formula, also where heads share keys and values") {
    Bench bench;
    for (const int64_t kv_dim : {8, 4}) {
        CAPTURE(kv_dim);
        const Tensor q = bench.random({2, 5, 8}, 1);
        const Tensor k = bench.random({2, 5, kv_dim}, 2);
        const Tensor v = bench.random({2, 5, kv_dim}, 3);
        const Tensor target = bench.random({2, 5, 8}, 4);
        check_layer(
            [&](Tape& t, Variable x) { return attention(t, x, t.input(k), t.input(v), {.head_dim = 2}); }, q,
            target, {}, bench);
        check_layer(
            [&](Tape& t, Variable x) { return attention(t, t.input(q), x, t.input(v), {.head_dim = 2}); }, k,
            target, {}, bench);
        check_layer(
            [&](Tape& t, Variable x) { return attention(t, t.input(q), t.input(k), x, {.head_dim = 2}); }, v,
            target, {}, bench);
    }
}

TEST_CASE("cross-entropy has the gradient of its formula") {
    Bench bench;
    const Tensor logits = bench.random({2, 3, 5}, 1);
    const Tensor targets = bench.tokens({2, 3}, 5, 2);
    const auto loss = [&] {
        Tape tape(bench.allocator, nullptr);
        return static_cast<double>(
            tape.value(cross_entropy(tape, tape.leaf(logits), targets)).data<float>()[0]);
    };
    Tape tape(bench.allocator, nullptr);
    const Variable input = tape.leaf(logits);
    tape.backward(cross_entropy(tape, input, targets));
    check_slopes(logits, tape.grad(input), loss);
}

TEST_CASE("gpt's gradients are the slopes of its loss, its head tied or not") {
    check_model(gpt());
    ModelSpec tied = gpt();
    tied.tied = true;
    check_model(tied);
}
TEST_CASE("llama's gradients are the slopes of its loss, its head tied or not") {
    check_model(llama());
    ModelSpec tied = llama();
    tied.tied = true;
    check_model(tied);
}

TEST_CASE("the transformers' parameters and pieces stand in PyTorch's order") {
    const auto names = [](const std::vector<Parameter*>& parameters) {
        std::string text;
        for (const Parameter* p : parameters) text += p->name + " ";
        return text;
    };
    ModelSpec spec = gpt();
    const auto model = make_model(spec);
    CHECK(names(model->embed_parameters()) == "tok.weight pos.weight ");
    CHECK(names(model->layer_parameters(1)) ==
          "blocks.1.ln1.weight blocks.1.ln1.bias blocks.1.attn.wq.weight blocks.1.attn.wk.weight "
          "blocks.1.attn.wv.weight blocks.1.attn.wo.weight blocks.1.ln2.weight blocks.1.ln2.bias "
          "blocks.1.mlp.up.weight blocks.1.mlp.down.weight ");
    CHECK(names(model->head_parameters()) == "ln_f.weight ln_f.bias head.weight ");
    std::size_t at = 0;
    for (const Parameter* p : model->parameters()) CHECK(p == model->all_parameters()[at++].get());
    CHECK(at == model->all_parameters().size());
    CHECK(model->n_layers() == 2);
    CHECK(model->default_units() == std::vector<std::string>{"blocks.0", "blocks.1"});
    for (const char* name : {"tok", "pos", "blocks.0.attn.wo", "blocks.1.mlp", "ln_f", "head"})
        CHECK(model->find(name) != nullptr);

    spec.tied = true;
    const auto tied = make_model(spec);
    CHECK(tied->all_parameters().size() == model->all_parameters().size() - 1);
    CHECK(tied->head_parameters().back() == tied->embed_parameters().front());

    const auto other = make_model(llama());
    CHECK(names(other->embed_parameters()) == "tok.weight ");
    CHECK(names(other->layer_parameters(0)) ==
          "blocks.0.ln1.weight blocks.0.attn.wq.weight blocks.0.attn.wk.weight blocks.0.attn.wv.weight "
          "blocks.0.attn.wo.weight blocks.0.ln2.weight blocks.0.mlp.gate.weight blocks.0.mlp.up.weight "
          "blocks.0.mlp.down.weight ");
    CHECK(other->layer_parameters(0)[2]->shape == Shape{4, 8});
}

TEST_CASE("a row-wise linear adds its bias once, after the sum that map_output makes") {
    // Two halves of the inputs, each with its columns of the weight; map_output of the second adds the
    // first's output: what an all_reduce does on two ranks.
    Bench bench;
    Parameter w = made(bench, "w", {3, 4}, 1), b = made(bench, "b", {3}, 2);
    Linear whole("l", &w, &b);
    const Tensor x = bench.random({5, 4}, 3);
    const Tensor target = bench.random({5, 3}, 4);
    Tape tape(bench.allocator, nullptr);
    const Variable wanted = whole.forward(tape, tape.input(x));

    Parameter left = made(bench, "left", {3, 2}, 5), right = made(bench, "right", {3, 2}, 6);
    const Tensor x_left = bench.random({5, 2}, 7), x_right = bench.random({5, 2}, 8);
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 2; ++j) {
            left.value.data<float>()[2 * i + j] = w.value.data<float>()[4 * i + j];
            right.value.data<float>()[2 * i + j] = w.value.data<float>()[4 * i + 2 + j];
        }
    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = 0; j < 2; ++j) {
            x_left.data<float>()[2 * i + j] = x.data<float>()[4 * i + j];
            x_right.data<float>()[2 * i + j] = x.data<float>()[4 * i + 2 + j];
        }
    Linear first("l", &left, nullptr), second("l", &right, &b);
    second.bias_after_map_output = true;
    Tape parts(bench.allocator, nullptr);
    const Variable summand = first.forward(parts, parts.input(x_left));
    second.map_output = [&](Tape& t, Variable mine) { return add(t, mine, summand); };
    const Variable found = second.forward(parts, parts.input(x_right));
    for (std::size_t i = 0; i < 15; ++i)
        CHECK(parts.value(found).data<float>()[i] ==
              Approx(tape.value(wanted).data<float>()[i]).margin(1e-6));

    tape.backward(mse(tape, wanted, target));
    const Tensor expected = std::exchange(b.grad, Tensor());
    parts.backward(mse(parts, found, target));
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(b.grad.data<float>()[i] == Approx(expected.data<float>()[i]).margin(1e-6));
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 2; ++j) {
            CHECK(left.grad.data<float>()[2 * i + j] == Approx(w.grad.data<float>()[4 * i + j]).margin(1e-6));
            CHECK(right.grad.data<float>()[2 * i + j] ==
                  Approx(w.grad.data<float>()[4 * i + 2 + j]).margin(1e-6));
        }
}

TEST_CASE("ports see a module's input and output inside its region, and what they replace is released") {
    Bench bench;
    const auto model = make_model(gpt());
    bench.fill(*model);
    Module& mlp = *model->find("blocks.1.mlp");
    std::string seen;
    Shape in, out;
    mlp.map_input = [&](Tape& t, Variable x) {
        seen += "in " + std::string(t.unit()) + ", ";
        in = t.value(x).shape();
        return x;
    };
    mlp.map_output = [&](Tape& t, Variable y) {
        seen += "out " + std::string(t.unit());
        out = t.value(y).shape();
        return add(t, y, y);
    };
    Tape tape(bench.allocator, nullptr);
    model->loss(tape, bench.tokens({3, 5}, 7, 1), bench.tokens({3, 5}, 7, 2));
    CHECK(seen == "in blocks.1.mlp, out blocks.1.mlp");
    CHECK(in == Shape{3, 5, 8});
    CHECK(out == Shape{3, 5, 8});
    for (const auto& [id, entry] : bench.memory.alive) CHECK(entry.label != "blocks.1.mlp.down output");
}

TEST_CASE("another attention core may stand between the projections") {
    Bench bench;
    const auto model = make_model(llama());
    bench.fill(*model);
    const Tensor x = bench.tokens({2, 5}, 7, 1), y = bench.tokens({2, 5}, 7, 2);
    const auto loss = [&] {
        Tape tape(bench.allocator, nullptr);
        return tape.value(model->loss(tape, x, y)).data<float>()[0];
    };
    const float before = loss();
    int calls = 0;
    auto& block = dynamic_cast<TransformerBlock&>(*model->find("blocks.0"));
    Attention& attn = block.attention();
    attn.core = [&](Tape& t, Variable q, Variable k, Variable v) {
        ++calls;
        return attention(t, q, k, v, attn.form(), attn.positions());
    };
    CHECK(loss() == before);
    CHECK(calls == 1);
    attn.core = [&](Tape&, Variable q, Variable, Variable) { return q; };
    CHECK(loss() != before);
}

TEST_CASE("positions that are given count like positions from 0") {
    Bench bench;
    for (const ModelSpec& spec : {gpt(), llama()}) {
        const auto model = make_model(spec);
        bench.fill(*model);
        const Tensor x = bench.tokens({2, 5}, 7, 1), y = bench.tokens({2, 5}, 7, 2);
        const auto loss = [&] {
            Tape tape(bench.allocator, nullptr);
            return tape.value(model->loss(tape, x, y)).data<float>()[0];
        };
        const float before = loss();
        const Tensor places = bench.tokens({5}, 1, 3);
        for (std::size_t i = 0; i < 5; ++i) places.data<int64_t>()[i] = static_cast<int64_t>(i);
        model->positions().tokens = places;
        CHECK(loss() == before);
    }
}
