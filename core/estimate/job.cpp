#include "core/estimate/job.h"

#include <algorithm>

namespace meshscope::estimate {

int64_t block_matrix_elements(const Shape& shape) {
    const int64_t q = shape.heads * shape.head_dim, kv = shape.kv_heads * shape.head_dim;
    return shape.dim * (2 * q + 2 * kv) + (shape.gated ? 3 : 2) * shape.dim * shape.hidden;
}

int64_t block_parameters(const Shape& shape) {
    const int64_t q = shape.heads * shape.head_dim, kv = shape.kv_heads * shape.head_dim;
    const int64_t biases =
        shape.bias ? q + 2 * kv + shape.dim + (shape.gated ? 2 : 1) * shape.hidden + shape.dim : 0;
    const int64_t norms = (shape.gated ? 2 : 4) * shape.dim;
    return block_matrix_elements(shape) + biases + norms + shape.block_extra;
}

int64_t embedding_parameters(const Shape& shape) {
    return shape.vocab * shape.dim;
}

int64_t parameters(const Shape& shape) {
    const int64_t positions = shape.learned_positions ? shape.seq * shape.dim : 0;
    const int64_t last_norm = (shape.gated ? 1 : 2) * shape.dim;
    return shape.layers * block_parameters(shape) + (shape.tied ? 1 : 2) * embedding_parameters(shape) +
           positions + last_norm;
}

namespace {

/// Parameters of matrix products: the blocks' and the head's.
double product_parameters(const Shape& shape) {
    return static_cast<double>(shape.layers) * static_cast<double>(block_matrix_elements(shape)) +
           static_cast<double>(embedding_parameters(shape));
}

}  // namespace

double model_flops_per_token(const Shape& shape) {
    return 6 * product_parameters(shape) + 12 * static_cast<double>(shape.layers) *
                                               static_cast<double>(shape.heads * shape.head_dim) *
                                               static_cast<double>(shape.seq);
}

double model_flops_per_token(const Job& job) {
    const double all = model_flops_per_token(job.shape);
    if (job.lora_rank == 0) return all;
    return all - 2 * product_parameters(job.shape) +
           6 * trained_share(job) * static_cast<double>(parameters(job.shape));
}

double trained_share(const Job& job) {
    if (job.lora_rank == 0) return 1;
    const Shape& s = job.shape;
    const int64_t q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
    const int64_t sides =
        (s.dim + q) + 2 * (s.dim + kv) + (q + s.dim) + (s.gated ? 3 : 2) * (s.dim + s.hidden);
    return static_cast<double>(job.lora_rank * sides * s.layers) / static_cast<double>(parameters(s));
}

std::string_view word(Recompute recompute) {
    switch (recompute) {
        case Recompute::none:
            return "none";
        case Recompute::attention:
            return "attention";
        case Recompute::every_second:
            return "every_second";
        case Recompute::products:
            return "selective";
        case Recompute::full:
            return "full";
    }
    return "none";
}

std::span<const std::string_view> recompute_words() {
    static constexpr std::string_view kWords[] = {"none", "selective", "full"};
    return kWords;
}

std::optional<Recompute> parse_recompute(std::string_view word) {
    for (const Recompute each : {Recompute::none, Recompute::products, Recompute::full})
        if (estimate::word(each) == word) return each;
    return std::nullopt;
}

double matrix_bytes(const Job& job) {
    constexpr double kSixteenBits = 2, kNf4 = 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
    return job.base_bits == 4 ? kNf4 : kSixteenBits;
}

std::optional<Message> why_no_base_bits(int64_t base_bits, int64_t lora_rank) {
    if (base_bits != 16 && base_bits != 4) return Message{"estimate.base_bits", {{"bits", base_bits}}};
    if (base_bits == 4 && lora_rank == 0) return Message{"estimate.base_bits_lora", {}};
    return std::nullopt;
}

std::optional<Message> why_impossible(const Job& job) {
    const Shape& s = job.shape;
    const Layout& l = job.layout;
    const std::pair<const char*, int64_t> sizes[] = {{"layers", s.layers},
                                                     {"dim", s.dim},
                                                     {"hidden", s.hidden},
                                                     {"heads", s.heads},
                                                     {"kv_heads", s.kv_heads},
                                                     {"head_dim", s.head_dim},
                                                     {"vocab", s.vocab},
                                                     {"seq", s.seq},
                                                     {"tp", l.tp},
                                                     {"cp", l.cp},
                                                     {"pp", l.pp},
                                                     {"dp_replicate", l.replicas},
                                                     {"dp_shard", l.shards},
                                                     {"virtual", l.virtual_stages},
                                                     {"micro", job.micro_batch},
                                                     {"accumulate", job.micro_batches}};
    for (const auto& [name, size] : sizes)
        if (size < 1) return Message{"estimate.below_one", {{"name", name}, {"value", size}}};
    constexpr double kMostRanks = 1 << 24;
    const double ranks = static_cast<double>(l.tp) * static_cast<double>(l.cp) * static_cast<double>(l.pp) *
                         static_cast<double>(l.replicas) * static_cast<double>(l.shards);
    if (ranks > kMostRanks) return Message{"estimate.too_many_ranks", {}};
    if (s.heads % l.tp != 0) return Message{"estimate.heads_tp", {{"heads", s.heads}, {"tp", l.tp}}};
    if (s.heads % s.kv_heads != 0)
        return Message{"estimate.heads_kv", {{"heads", s.heads}, {"kv_heads", s.kv_heads}}};
    if (s.seq % l.cp != 0) return Message{"estimate.seq_cp", {{"seq", s.seq}, {"cp", l.cp}}};
    if (auto why = why_no_base_bits(job.base_bits, job.lora_rank)) return why;
    if (job.base_bits == 4 && l.tp * l.cp * l.pp > 1) return Message{"estimate.base_bits_cut", {}};
    // Embedding and head may stand in for a layer each.
    if (l.pp * l.virtual_stages > s.layers + 2)
        return Message{"estimate.stages", {{"stages", l.pp * l.virtual_stages}, {"layers", s.layers}}};
    return std::nullopt;
}

}  // namespace meshscope::estimate
