#include "tests/contract/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/comm/schedule/double_tree.h"
#include "core/tensor/dtype.h"

namespace meshscope::contract {
namespace {

/// One number of any dtype, wide enough for all: floats in f, integers in i (wrapped by hand).
struct Number {
    float f = 0;
    uint64_t i = 0;
};

bool is_float(DType dtype) {
    return dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16;
}

Number load(DType dtype, const std::byte* at) {
    Number x;
    switch (dtype) {
        case DType::float32:
            std::memcpy(&x.f, at, 4);
            break;
        case DType::bfloat16: {
            uint16_t bits = 0;
            std::memcpy(&bits, at, 2);
            x.f = tensor::from_bfloat16(bits);
            break;
        }
        case DType::float16: {
            tensor::Float16 half;
            std::memcpy(&half.bits, at, 2);
            x.f = tensor::from_float16(half);
            break;
        }
        case DType::int32: {
            int32_t v = 0;
            std::memcpy(&v, at, 4);
            x.i = static_cast<uint64_t>(static_cast<int64_t>(v));
            break;
        }
        case DType::int64:
            std::memcpy(&x.i, at, 8);
            break;
        case DType::uint8:
            x.i = static_cast<uint64_t>(*at);
            break;
    }
    return x;
}

void store(DType dtype, Number x, std::byte* at) {
    if (dtype == DType::float32) {
        std::memcpy(at, &x.f, 4);
    } else if (dtype == DType::bfloat16) {
        const uint16_t bits = tensor::to_bfloat16(x.f);
        std::memcpy(at, &bits, 2);
    } else if (dtype == DType::float16) {
        const uint16_t bits = tensor::to_float16(x.f).bits;
        std::memcpy(at, &bits, 2);
    } else {
        std::memcpy(at, &x.i,
                    static_cast<std::size_t>(bytes_per_element(dtype)));  // little-endian: the low bytes
    }
}

Number rounded(DType dtype, Number x) {
    std::byte memory[8];
    store(dtype, x, memory);
    return load(dtype, memory);
}

Number combine(DType dtype, ReduceOp op, Number a, Number b) {
    Number x;
    const auto sa = static_cast<int64_t>(a.i);
    const auto sb = static_cast<int64_t>(b.i);
    switch (op) {
        case ReduceOp::sum:
        case ReduceOp::avg:
        case ReduceOp::premul_sum:
            x = {a.f + b.f, a.i + b.i};
            break;
        case ReduceOp::product:
            x = {a.f * b.f, a.i * b.i};
            break;
        case ReduceOp::min:
            x = {std::min(a.f, b.f), static_cast<uint64_t>(std::min(sa, sb))};
            break;
        case ReduceOp::max:
            x = {std::max(a.f, b.f), static_cast<uint64_t>(std::max(sa, sb))};
            break;
        case ReduceOp::band:
            x.i = a.i & b.i;
            break;
        case ReduceOp::bor:
            x.i = a.i | b.i;
            break;
        case ReduceOp::bxor:
            x.i = a.i ^ b.i;
            break;
        case ReduceOp::none:
            break;
    }
    return is_float(dtype) ? x : rounded(dtype, x);
}

/// The sums of `places` in pairs d apart, for d = 1, 2, 4 … (near) or …, 4, 2, 1, until one is left.
Number pairwise(DType dtype, ReduceOp op, std::vector<Number> places, bool near) {
    while (places.size() > 1) {
        std::vector<Number> sums;
        for (std::size_t i = 0; i < places.size() / 2; ++i) {
            const std::size_t a = near ? 2 * i : i, b = near ? 2 * i + 1 : i + places.size() / 2;
            sums.push_back(rounded(dtype, combine(dtype, op, places[a], places[b])));
        }
        places = std::move(sums);
    }
    return places[0];
}

/// x[first] + x[first+1] + … around a ring of all, ending with the one before `first`.
Number around(DType dtype, ReduceOp op, const std::vector<Number>& x, std::size_t first) {
    Number sum = x[first % x.size()];
    for (std::size_t k = 1; k < x.size(); ++k)
        sum = rounded(dtype, combine(dtype, op, sum, x[(first + k) % x.size()]));
    return sum;
}

/// Place v's sum after step s of the Swing among places.
Number swung(DType dtype, ReduceOp op, const std::vector<Number>& places, int64_t v, int steps) {
    if (steps == 0) return places[static_cast<std::size_t>(v)];
    constexpr std::array<int64_t, 6> kDistances{1, -1, 3, -5, 11, -21};
    const auto q = static_cast<int64_t>(places.size());
    const int64_t distance = kDistances.at(static_cast<std::size_t>(steps - 1));
    const int64_t partner = ((v % 2 == 0 ? v + distance : v - distance) % q + q) % q;
    return rounded(dtype, combine(dtype, op, swung(dtype, op, places, partner, steps - 1),
                                  swung(dtype, op, places, v, steps - 1)));
}

/// Element i of n, by the rings of double_ring among p.
Number by_rings(DType dtype, ReduceOp op, const std::vector<Number>& x, int64_t i, int64_t n) {
    const auto p = static_cast<int64_t>(x.size());
    std::vector<int64_t> strides;
    for (int64_t s = 1; s == 1 || 2 * s < p; ++s)
        if (std::gcd(s, p) == 1 && strides.size() < 8) {
            strides.push_back(s);
            if (p > 2) strides.push_back(p - s);
        }
    const auto cut = [](int64_t whole, int64_t parts) { return (whole + parts - 1) / parts; };
    const int64_t part = cut(n, static_cast<int64_t>(strides.size())), ring = i / part;
    const int64_t chunk = cut(std::min(part, n - ring * part), p);
    std::vector<Number> along;
    for (int64_t k = 0; k < p; ++k)
        along.push_back(x[static_cast<std::size_t>(k * strides[static_cast<std::size_t>(ring)] % p)]);
    return around(dtype, op, along, static_cast<std::size_t>((i - ring * part) / chunk) + 1);
}

/// The nodes as two_level sees them: those that it was told, else blocks of the smallest power of two ≥ √p.
std::vector<int32_t> nodes_or_blocks(std::vector<int32_t> node_of, int32_t p) {
    int32_t block = 1;
    while (block * block < p) block *= 2;
    if (node_of.empty())
        for (int32_t r = 0; r < p; ++r) node_of.push_back(r / block);
    return node_of;
}

std::vector<std::vector<Number>> by_node(const std::vector<Number>& x, const std::vector<int32_t>& node_of) {
    std::vector<std::vector<Number>> nodes;
    for (std::size_t r = 0; r < x.size(); ++r) {
        nodes.resize(std::max(nodes.size(), static_cast<std::size_t>(node_of[r] + 1)));
        nodes[static_cast<std::size_t>(node_of[r])].push_back(x[r]);
    }
    return nodes;
}

/// What the place c of each node sums up, then of those node `node`.
Number by_levels(DType dtype, ReduceOp op, const std::vector<std::vector<Number>>& nodes, std::size_t c,
                 std::size_t node) {
    std::vector<Number> sums;
    for (const auto& each : nodes) sums.push_back(around(dtype, op, each, c + 1));
    return around(dtype, op, sums, node + 1);
}

/// Of element i of n.
Number two_level(DType dtype, ReduceOp op, const std::vector<Number>& x, std::vector<int32_t> node_of,
                 int64_t i, int64_t n) {
    const auto nodes = by_node(x, nodes_or_blocks(std::move(node_of), static_cast<int32_t>(x.size())));
    std::size_t carriers = x.size();
    for (const auto& node : nodes) carriers = std::min(carriers, node.size());
    const auto cut = [](int64_t whole, std::size_t parts) {
        return (whole + static_cast<int64_t>(parts) - 1) / static_cast<int64_t>(parts);
    };
    const int64_t chunk = cut(n, carriers), c = i / chunk;
    const int64_t piece = cut(std::min(chunk, n - c * chunk), nodes.size());
    return by_levels(dtype, op, nodes, static_cast<std::size_t>(c),
                     static_cast<std::size_t>((i - c * chunk) / piece));
}

/// Of an element that rank `owner` keeps.
Number two_level_part(DType dtype, ReduceOp op, const std::vector<Number>& x, std::vector<int32_t> node_of,
                      int32_t owner) {
    const bool told = std::ranges::any_of(node_of, [&](int32_t node) { return node != node_of.front(); });
    if (!told) node_of.clear();  // all on one node are cut in blocks
    node_of = nodes_or_blocks(std::move(node_of), static_cast<int32_t>(x.size()));
    const auto nodes = by_node(x, node_of);
    for (const auto& node : nodes)
        if (node.size() != nodes.front().size())
            return around(dtype, op, x, static_cast<std::size_t>(owner) + 1);
    const int32_t own = node_of[static_cast<std::size_t>(owner)];
    const auto place = std::count(node_of.begin(), node_of.begin() + owner, own);
    return by_levels(dtype, op, nodes, static_cast<std::size_t>(place), static_cast<std::size_t>(own));
}

/// What rank r of a tree has summed when it sends: its own number, then its children's by the round they come
/// in.
Number climbed(DType dtype, ReduceOp op, const std::vector<Number>& x, const comm::DoubleTree& trees,
               int32_t tree, int32_t r) {
    auto children = trees.children(tree, r);
    if (children[0] >= 0 && children[1] >= 0 && trees.up(tree, children[1]) < trees.up(tree, children[0]))
        std::swap(children[0], children[1]);
    Number sum = x[static_cast<std::size_t>(r)];
    for (const int32_t child : children)
        if (child >= 0)
            sum = rounded(dtype, combine(dtype, op, sum, climbed(dtype, op, x, trees, tree, child)));
    return sum;
}

}  // namespace

std::vector<ReduceOp> reduce_ops_of(DType dtype) {
    if (is_float(dtype))
        return {ReduceOp::sum, ReduceOp::product, ReduceOp::min,
                ReduceOp::max, ReduceOp::avg,     ReduceOp::premul_sum};
    return {ReduceOp::sum,  ReduceOp::product, ReduceOp::min, ReduceOp::max,
            ReduceOp::band, ReduceOp::bor,     ReduceOp::bxor};
}

Bytes input_of(DType dtype, int32_t rank, int64_t n) {
    const int64_t size = bytes_per_element(dtype);
    Bytes bytes(static_cast<std::size_t>(n * size));
    for (int64_t i = 0; i < n; ++i) {
        // A small multiplicative hash of (rank, i): signs, sizes and low bits all vary.
        const uint64_t h =
            (static_cast<uint64_t>(i) * 2654435761U + static_cast<uint64_t>(rank) * 40503U + 12345U) *
            0x9E3779B97F4A7C15ULL;
        Number x;
        x.i = h;
        x.f = 0.25F + static_cast<float>((h >> 40U) % 100003U) / 25000.0F;
        if ((h & 1U) != 0) x.f = -x.f;
        store(dtype, x, bytes.data() + i * size);
    }
    return bytes;
}

Order order_of(CollectiveOp op, Algorithm ran) {
    switch (ran) {
        case Algorithm::direct:
        case Algorithm::star:
            return Order::by_rank;
        case Algorithm::tree:
            return Order::tree;
        case Algorithm::recursive_doubling:
            return Order::near;
        case Algorithm::halving_doubling:
        case Algorithm::recursive_halving:
            return Order::far;
        case Algorithm::swing:
            return Order::swing;
        case Algorithm::double_ring:
            return Order::rings;
        case Algorithm::two_level:
            return op == CollectiveOp::reduce_scatter ? Order::two_level_parts : Order::two_level;
        case Algorithm::double_tree:
            return Order::double_tree;
        // Named one by one, so that a new algorithm asks for its order here.
        case Algorithm::none:
        case Algorithm::ring:
        case Algorithm::bruck:
        case Algorithm::pairwise:
        case Algorithm::ring_pipeline:
        case Algorithm::scatter_all_gather:
        case Algorithm::automatic:
        case Algorithm::native:
        case Algorithm::own:
            return op == CollectiveOp::reduce ? Order::tree : Order::ring;
    }
    return Order::ring;
}

Bytes reduced(DType dtype, ReduceOp op, double factor, const std::vector<Bytes>& inputs, Order order,
              const std::vector<int32_t>& chunk_of, int32_t root, std::vector<int32_t> node_of) {
    const int64_t size = bytes_per_element(dtype);
    const auto p = static_cast<int32_t>(inputs.size());
    const auto n = static_cast<int64_t>(inputs[0].size()) / size;
    Bytes result(inputs[0].size());
    for (int64_t i = 0; i < n; ++i) {
        const auto x = [&](int32_t rank) {
            Number v = load(dtype, inputs[static_cast<std::size_t>(rank % p)].data() + i * size);
            if (op == ReduceOp::premul_sum) v = rounded(dtype, {static_cast<float>(factor) * v.f, 0});
            return v;
        };
        Number sum;
        if (order == Order::tree && p > 1) {
            std::vector<Number> s;  // by v = rank - root
            for (int32_t v = 0; v < p; ++v) s.push_back(x(root + v));
            for (int32_t bit = 1; bit < p; bit *= 2)
                for (int32_t v = 0; v + bit < p; v += 2 * bit) {
                    Number& into = s[static_cast<std::size_t>(v)];
                    into = rounded(dtype, combine(dtype, op, into, s[static_cast<std::size_t>(v + bit)]));
                }
            sum = s[0];
        } else if ((order == Order::two_level || order == Order::two_level_parts ||
                    order == Order::double_tree || order == Order::rings) &&
                   p > 1) {
            std::vector<Number> all;
            for (int32_t r = 0; r < p; ++r) all.push_back(x(r));
            if (order == Order::rings) {
                sum = by_rings(dtype, op, all, i, n);
            } else if (order == Order::two_level) {
                sum = two_level(dtype, op, all, node_of, i, n);
            } else if (order == Order::two_level_parts) {
                sum = two_level_part(dtype, op, all, node_of, chunk_of[static_cast<std::size_t>(i)]);
            } else {
                const comm::DoubleTree trees(p);
                const int32_t tree = i < (n + 1) / 2 ? 0 : 1;
                sum = climbed(dtype, op, all, trees, tree, trees.root(tree));
            }
        } else if (order == Order::near || order == Order::far || order == Order::swing) {
            int32_t q = 1, doublings = 0;
            for (; q * 2 <= p; q *= 2) ++doublings;
            std::vector<Number> places;
            for (int32_t rank = 0; rank < p; ++rank) {
                const bool paired = rank < 2 * (p - q);
                places.push_back(paired ? rounded(dtype, combine(dtype, op, x(rank), x(rank + 1))) : x(rank));
                if (paired) ++rank;
            }
            if (order == Order::swing)
                sum = swung(dtype, op, places, i / ((n + q - 1) / q), doublings);
            else
                sum = pairwise(dtype, op, std::move(places), order == Order::near);
        } else {
            const int32_t first =
                order == Order::ring && p > 1 ? chunk_of[static_cast<std::size_t>(i)] + 1 : 0;
            sum = x(first);
            for (int32_t k = 1; k < p; ++k) {
                sum = combine(dtype, op, sum, x(first + k));
                if (order == Order::ring) sum = rounded(dtype, sum);
            }
        }
        if (op == ReduceOp::avg) sum.f /= static_cast<float>(p);
        store(dtype, sum, result.data() + i * size);
    }
    return result;
}

std::vector<int32_t> chunks_of(int64_t n, int32_t p) {
    std::vector<int32_t> chunks(static_cast<std::size_t>(n));
    const int64_t k = (n + p - 1) / p;
    for (int64_t i = 0; i < n; ++i) chunks[static_cast<std::size_t>(i)] = static_cast<int32_t>(i / k);
    return chunks;
}

Bytes piece(const Bytes& bytes, DType dtype, int64_t first, int64_t n) {
    const auto size = bytes_per_element(dtype);
    return {bytes.begin() + first * size, bytes.begin() + (first + n) * size};
}

}  // namespace meshscope::contract
