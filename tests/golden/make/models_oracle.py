"""Training oracle for the shapes of real models: what transformers' own classes compute, made small.

usage: models_oracle.py OUTDIR        (needs torch, transformers and safetensors)
Writes for each case OUTDIR/NAME/config.json (the configuration as transformers saves it), init.safetensors and
final.safetensors (weights before and after, under the engine's names), and for all OUTDIR/data.safetensors, and
OUTDIR/expected.json with the losses and the number of parameters. One process, float32, no dropout, SGD with
momentum.
"""
import json, os, sys
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, Gemma3TextConfig, GemmaConfig, GPT2Config, LlamaConfig, MistralConfig, \
    Olmo2Config, Phi3Config, Qwen2Config, Qwen3Config

VOCAB, SEQ, BATCH, STEPS, LR, MOMENTUM = 29, 16, 4, 3, 0.05, 0.9
SIZES = dict(vocab_size=VOCAB, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=SEQ)
# The scaled positions begin where 16 tokens see them: a short first length.
LLAMA3 = dict(rope_type="llama3", rope_theta=100.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=8)
# No padding token: torch.nn.Embedding gives the row of one no gradient, and here every token is data.
CASES = {
    "llama_head_dim": LlamaConfig(**SIZES, head_dim=6, rope_parameters=LLAMA3),
    "llama_bias_linear": LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                                     rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=2.0)),
    "mistral_window": MistralConfig(**SIZES, sliding_window=5),
    "qwen2_bias": Qwen2Config(**{**SIZES, "num_hidden_layers": 3}, use_sliding_window=True, sliding_window=4,
                              max_window_layers=1),
    "qwen3_norms": Qwen3Config(**SIZES, head_dim=6),
    "gemma": GemmaConfig(**SIZES, head_dim=10, pad_token_id=None),
    "gemma3": Gemma3TextConfig(**{**SIZES, "num_hidden_layers": 3}, head_dim=6, query_pre_attn_scalar=4, pad_token_id=None,
                               sliding_window=5,
                               layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
    "phi3": Phi3Config(**SIZES, sliding_window=7, pad_token_id=None, bos_token_id=1, eos_token_id=2),
    "olmo2": Olmo2Config(**SIZES, hidden_act="gelu", pad_token_id=None, bos_token_id=1, eos_token_id=2),
    "gpt2": GPT2Config(vocab_size=VOCAB, n_embd=16, n_layer=2, n_head=4, n_positions=SEQ, resid_pdrop=0.0,
                       embd_pdrop=0.0, attn_pdrop=0.0),
    "gpt2_gelu": GPT2Config(vocab_size=VOCAB, n_embd=16, n_layer=2, n_head=4, n_positions=SEQ, n_inner=40,
                            activation_function="gelu", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                            tie_word_embeddings=False),
}

PLAIN = {"embed_tokens": "tok", "norm": "ln_f", "lm_head": "head", "wte": "tok", "wpe": "pos", "ln_f": "ln_f"}
PARTS = {"self_attn.q_proj": "attn.wq", "self_attn.k_proj": "attn.wk", "self_attn.v_proj": "attn.wv",
         "self_attn.o_proj": "attn.wo", "self_attn.q_norm": "attn.q_norm", "self_attn.k_norm": "attn.k_norm",
         "mlp.gate_proj": "mlp.gate", "mlp.up_proj": "mlp.up", "mlp.down_proj": "mlp.down",
         "ln_1": "ln1", "ln_2": "ln2", "attn.c_proj": "attn.wo", "mlp.c_fc": "mlp.up", "mlp.c_proj": "mlp.down"}
NORMS = {"gemma3": {"input_layernorm": "ln1", "post_attention_layernorm": "ln1_after",
                    "pre_feedforward_layernorm": "ln2", "post_feedforward_layernorm": "ln2_after"},
         "olmo2": {"post_attention_layernorm": "ln1_after", "post_feedforward_layernorm": "ln2_after"}}
USUAL = {"input_layernorm": "ln1", "post_attention_layernorm": "ln2"}


def engine_names(name, config, tensor):
    """What the engine calls a parameter, or the parts of one that transformers keeps fused."""
    words = name.split(".")
    kind = words.pop()                                           # weight or bias
    words = [w for w in words if w not in ("model", "transformer")]
    if words[0] not in ("layers", "h"):
        return {PLAIN[words[0]] + "." + kind: tensor}
    block, part = f"blocks.{words[1]}.", ".".join(words[2:])
    conv = config.model_type == "gpt2" and kind == "weight" and part.split(".")[-1].startswith("c_")
    if conv: tensor = tensor.T                                   # Conv1D keeps (inputs, outputs)
    if part == "attn.c_attn":
        q, k, v = tensor.chunk(3, 0)
        return {block + f"attn.w{n}.{kind}": t for n, t in (("q", q), ("k", k), ("v", v))}
    if part == "self_attn.qkv_proj":
        head = config.hidden_size // config.num_attention_heads
        sizes = [config.num_attention_heads * head] + 2 * [config.num_key_value_heads * head]
        return {block + f"attn.w{n}.{kind}": t for n, t in zip("qkv", tensor.split(sizes, 0))}
    if part == "mlp.gate_up_proj":
        gate, up = tensor.chunk(2, 0)
        return {block + f"mlp.gate.{kind}": gate, block + f"mlp.up.{kind}": up}
    norms = NORMS.get(config.model_type.removesuffix("_text"), USUAL)
    return {block + (norms.get(part) or PARTS[part]) + "." + kind: tensor}


def weights(model, config):
    all = {}
    for name, parameter in model.named_parameters():             # a tied head is not named twice
        all.update(engine_names(name, config, parameter.detach()))
    return {name: tensor.contiguous().clone() for name, tensor in all.items()}


def draw(model, config):
    """Weights wide enough that every part of the model matters to the loss."""
    generator = torch.Generator().manual_seed(7)
    centre = 0.0 if config.model_type.startswith("gemma") else 1.0
    with torch.no_grad():
        for name, p in model.named_parameters():
            values = torch.randn(p.shape, generator=generator)
            norm = p.ndim == 1 and name.endswith("weight")
            p.copy_(centre + 0.2 * values if norm else 0.3 * values)


def main():
    out = sys.argv[1]
    torch.manual_seed(0); torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    data = {}
    for step in range(STEPS):
        tokens = torch.randint(0, VOCAB, (BATCH, SEQ + 1), generator=generator)
        data[f"x{step}"], data[f"y{step}"] = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    os.makedirs(out, exist_ok=True)
    save_file(data, f"{out}/data.safetensors")
    import transformers
    expected = {"made_by": f"torch {torch.__version__}, transformers {transformers.__version__}", "steps": STEPS,
                "global_batch": BATCH, "seq": SEQ, "lr": LR, "momentum": MOMENTUM, "cases": {}}
    for name, config in CASES.items():
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().train()
        draw(model, config)
        os.makedirs(f"{out}/{name}", exist_ok=True)
        config.architectures = [type(model).__name__]
        config.save_pretrained(f"{out}/{name}")
        save_file(weights(model, config), f"{out}/{name}/init.safetensors")
        optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
        losses = []
        for step in range(STEPS):
            optimizer.zero_grad()
            logits = model(input_ids=data[f"x{step}"]).logits
            loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB), data[f"y{step}"].reshape(-1))
            loss.backward(); optimizer.step(); losses.append(loss.item())
        save_file(weights(model, config), f"{out}/{name}/final.safetensors")
        count = sum(p.numel() for p in model.parameters())
        expected["cases"][name] = {"losses": losses, "parameters": count}
        print(name, count, losses)
    with open(f"{out}/expected.json", "w") as file: json.dump(expected, file, indent=1); file.write("\n")


if __name__ == "__main__": main()
