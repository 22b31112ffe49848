#include "tests/diagnosis/mistakes.h"

#include <utility>

#include "tests/diagnosis/calls.h"

namespace meshscope::diagnosis {
namespace {

/// All ranks make two good calls; then the odd one makes another than the rest, and one more would follow.
Mistake differing(std::string name, std::string differs, Call right, Call wrong, std::string right_op,
                  std::string odd_op = "") {
    Mistake m;
    m.name = std::move(name);
    m.differs = std::move(differs);
    if (odd_op.empty()) odd_op = right_op;
    m.right_op = std::move(right_op);
    m.odd_op = std::move(odd_op);
    m.program = [right = std::move(right), wrong = std::move(wrong)](Place& p, int32_t odd) {
        const auto world = p.world();
        all_reduce()(p, *world);
        barrier()(p, *world);
        (p.rank() == odd ? wrong : right)(p, *world);
        all_reduce()(p, *world);
    };
    return m;
}

void add_ops(std::vector<Mistake>& all) {
    const auto op = [&](Call right, const char* right_op, Call wrong, const char* odd_op) {
        all.push_back(differing(std::string(right_op) + " against " + odd_op, "op", std::move(right),
                                std::move(wrong), right_op, odd_op));
    };
    op(all_reduce(), "all_reduce", reduce(), "reduce");
    op(all_reduce(), "all_reduce", broadcast(), "broadcast");
    op(all_reduce(), "all_reduce", barrier(), "barrier");
    op(barrier(), "barrier", all_reduce(), "all_reduce");
    op(all_reduce(), "all_reduce", all_gather(), "all_gather");
    op(all_gather(), "all_gather", gather(), "gather");
    op(all_gather(), "all_gather", reduce_scatter(), "reduce_scatter");
    op(reduce_scatter(), "reduce_scatter", scatter(), "scatter");
    op(broadcast(), "broadcast", scatter(), "scatter");
    op(reduce(), "reduce", gather(), "gather");
    op(broadcast(), "broadcast", reduce(), "reduce");
    op(broadcast(), "broadcast", all_gather(), "all_gather");
    op(all_to_all(), "all_to_all", all_gather(), "all_gather");
    op(scatter(), "scatter", gather(), "gather");
    op(barrier(), "barrier", broadcast(), "broadcast");
    op(reduce(), "reduce", barrier(), "barrier");
}

void add_roots_and_reductions(std::vector<Mistake>& all) {
    all.push_back(differing("root of broadcast", "root", broadcast(0), broadcast(1), "broadcast"));
    all.push_back(differing("root of reduce", "root", reduce(1), reduce(0), "reduce"));
    all.push_back(differing("root of gather", "root", gather(0), gather(1), "gather"));
    all.push_back(differing("root of scatter", "root", scatter(0), scatter(1), "scatter"));
    constexpr DType kF = DType::float32;
    all.push_back(differing("sum against max", "reduce_op", all_reduce(), all_reduce(kN, kF, ReduceOp::max),
                            "all_reduce"));
    all.push_back(differing("sum against avg", "reduce_op", all_reduce(), all_reduce(kN, kF, ReduceOp::avg),
                            "all_reduce"));
    all.push_back(differing("sum against product, to a root", "reduce_op", reduce(),
                            reduce(0, kN, kF, ReduceOp::product), "reduce"));
    all.push_back(differing("sum against min, scattered", "reduce_op", reduce_scatter(),
                            reduce_scatter(kN, kF, ReduceOp::min), "reduce_scatter"));
    all.push_back(
        differing("factor of premul_sum", "factor", premultiplied(2), premultiplied(3), "all_reduce"));
    all.push_back(differing("stream", "stream", on(Stream::compute, Algorithm::ring),
                            on(Stream::all_reduce, Algorithm::ring), "all_reduce"));
    all.push_back(differing("algorithm", "algorithm", on(Stream::compute, Algorithm::ring),
                            on(Stream::compute, Algorithm::direct), "all_reduce"));
}

void add_dtypes(std::vector<Mistake>& all) {
    const auto dtype = [&](const char* op, Call right, Call wrong) {
        all.push_back(
            differing(std::string("dtype of ") + op, "dtype", std::move(right), std::move(wrong), op));
    };
    constexpr DType kI = DType::int32;
    dtype("all_reduce", all_reduce(), all_reduce(kN, kI));
    dtype("broadcast", broadcast(), broadcast(0, kN, kI));
    dtype("reduce", reduce(0, kN, DType::bfloat16), reduce());
    dtype("all_gather", all_gather(), all_gather(kN, DType::bfloat16));
    dtype("reduce_scatter", reduce_scatter(), reduce_scatter(kN, kI));
    dtype("gather", gather(), gather(0, kN, kI));
    dtype("scatter", scatter(), scatter(0, kN, kI));
    dtype("all_to_all", all_to_all(), all_to_all(kN, kI));
}

void add_counts(std::vector<Mistake>& all) {
    const auto count = [&](const std::string& name, const char* op, Call right, Call wrong) {
        all.push_back(differing(name + " of " + op, "count", std::move(right), std::move(wrong), op));
    };
    count("count", "all_reduce", all_reduce(), all_reduce(kN / 2));
    count("one element more", "all_reduce", all_reduce(), all_reduce(kN + 1));
    count("no element", "all_reduce", all_reduce(), all_reduce(0));
    count("count", "broadcast", broadcast(), broadcast(0, kN - 1));
    count("count", "reduce", reduce(), reduce(0, 2 * kN));
    count("count", "all_gather", all_gather(), all_gather(kN + 1));
    count("count", "reduce_scatter", reduce_scatter(), reduce_scatter(kN - 1));
    count("count", "gather", gather(), gather(0, kN - 1));
    count("count", "scatter", scatter(), scatter(0, kN + 3));
    const auto splits = [&](const char* op, Call right, Call wrong) {
        all.push_back(
            differing(std::string("splits of ") + op, "splits", std::move(right), std::move(wrong), op));
    };
    splits("all_gather", uneven_all_gather(3, 5), uneven_all_gather(5, 3));
    splits("reduce_scatter", uneven_reduce_scatter(3, 5), uneven_reduce_scatter(5, 3));
    splits("gather", uneven_gather(3, 5), uneven_gather(2, 6));
    splits("scatter", uneven_scatter(3, 5), uneven_scatter(1, 7));
    splits("all_to_all", all_to_all(), all_to_all(kN + 1));
    Mistake shifted = differing("one element too many in one of all_to_all's parts", "splits", all_to_all(),
                                all_to_all_shifted(), "all_to_all");
    shifted.pair = true;
    all.push_back(std::move(shifted));
}

void add_orders(std::vector<Mistake>& all) {
    all.push_back(differing("two calls in the other order", "op", both(broadcast(), all_reduce()),
                            both(all_reduce(), broadcast()), "broadcast", "all_reduce"));
    all.push_back(differing("two buffers in the other order", "dtype",
                            both(all_reduce(), all_reduce(kN, DType::int64)),
                            both(all_reduce(kN, DType::int64), all_reduce()), "all_reduce"));
    all.push_back(differing("a call left out", "op", both(barrier(), all_reduce()), all_reduce(), "barrier",
                            "all_reduce"));
    all.push_back(differing("a call too many", "op", all_reduce(), both(barrier(), all_reduce()),
                            "all_reduce", "barrier"));
    all.push_back(differing("a root's own call left out", "op", both(reduce(), broadcast()), broadcast(),
                            "reduce", "broadcast"));
}

/// A group's ranks by number: 0 … n-1.
std::vector<int32_t> first(int32_t n) {
    std::vector<int32_t> ranks;
    for (int32_t r = 0; r < n; ++r) ranks.push_back(r);
    return ranks;
}

Mistake deadlock(std::string name, int32_t least_ranks, std::function<void(Place&, int32_t)> program,
                 std::function<int32_t(int32_t)> ring = {}) {
    Mistake m;
    m.name = std::move(name);
    m.kind = DiagnosisKind::deadlock;
    m.least_ranks = least_ranks;
    m.program = std::move(program);
    m.ring = std::move(ring);
    return m;
}

void add_groups(std::vector<Mistake>& all) {
    Mistake other_members;
    other_members.name = "groups made in another order";
    other_members.differs = "group";
    other_members.least_ranks = 3;
    other_members.pair = true;
    other_members.program = [](Place& p, int32_t) {
        // Rank 1 makes the world's group first, so its channel 0 is the others' group of two.
        const int32_t n = p.ranks();
        const auto pair = first(2), all_ranks = first(n);
        barrier()(p, *p.world(2));
        if (p.rank() == 1) {
            const auto a = p.group(0, all_ranks);
            a->all_reduce(p.zeros(kN), ReduceOp::sum).wait();
        } else {
            if (p.rank() == 0) p.group(0, pair)->all_reduce(p.zeros(kN), ReduceOp::sum).wait();
            p.group(1, all_ranks)->all_reduce(p.zeros(kN), ReduceOp::sum).wait();
        }
    };
    all.push_back(std::move(other_members));

    all.push_back(
        deadlock("two groups of the same ranks, called in another order", 2, [](Place& p, int32_t odd) {
            const auto a = p.world(0), b = p.world(1);
            if (p.rank() == odd)
                std::swap(const_cast<std::unique_ptr<TransportGroup>&>(a),
                          const_cast<std::unique_ptr<TransportGroup>&>(b));
            a->all_reduce(p.zeros(kN), ReduceOp::sum).wait();
            b->all_reduce(p.zeros(kN), ReduceOp::sum).wait();
        }));
    all.push_back(deadlock(
        "pairs of neighbours round a ring, each its right one first", 3,
        [](Place& p, int32_t) {
            const int32_t n = p.ranks(), r = p.rank();
            const auto pair = [&](int32_t index, int32_t a, int32_t b) {
                return p.group(index, {std::min(a, b), std::max(a, b)});
            };
            const auto right = pair(r, r, (r + 1) % n), left = pair((r + n - 1) % n, r, (r + n - 1) % n);
            right->barrier().wait();
            left->barrier().wait();
        },
        [](int32_t n) { return n; }));
}

void add_pairs(std::vector<Mistake>& all) {
    const auto next = [](const Place& p, int32_t by = 1) {
        return GroupRank{(p.rank() + by + p.ranks()) % p.ranks()};
    };
    all.push_back(deadlock(
        "everyone receives from the next before it sends", 2,
        [=](Place& p, int32_t) {
            const auto world = p.world();
            world->recv(p.zeros(kN), next(p)).wait();
            world->send(p.zeros(kN), next(p, -1)).wait();
        },
        [](int32_t n) { return n; }));
    all.push_back(deadlock(
        "everyone sends to the next before it receives", 2,
        [=](Place& p, int32_t) {
            const auto world = p.world();
            world->send(p.zeros(kN), next(p), {.async_op = false});
            world->recv(p.zeros(kN), next(p, -1)).wait();
        },
        [](int32_t n) { return n; }));
    all.push_back(deadlock(
        "two ranks wait for their isends before they receive", 2,
        [](Place& p, int32_t) {
            const auto world = p.world();
            if (p.rank() < 2) {
                world->send(p.zeros(kN), GroupRank{1 - p.rank()}).wait();
                world->recv(p.zeros(kN), GroupRank{1 - p.rank()}).wait();
            }
            barrier()(p, *world);
        },
        [](int32_t) { return 2; }));
    all.push_back(deadlock(
        "two ranks receive from each other first, the others wait at a barrier", 2,
        [](Place& p, int32_t) {
            const auto world = p.world();
            if (p.rank() < 2) {
                world->recv(p.zeros(kN), GroupRank{1 - p.rank()}).wait();
                world->send(p.zeros(kN), GroupRank{1 - p.rank()}).wait();
            }
            barrier()(p, *world);
        },
        [](int32_t) { return 2; }));
    all.push_back(deadlock(
        "a recv against a collective", 2,
        [](Place& p, int32_t odd) {
            const auto world = p.world();
            const GroupRank peer{odd == 0 ? 1 : 0};
            if (p.rank() == odd) world->recv(p.zeros(kN), peer).wait();
            all_reduce()(p, *world);
            if (p.rank() == peer.value) world->send(p.zeros(kN), GroupRank{odd}).wait();
        },
        [](int32_t) { return 2; }));
    all.push_back(deadlock(
        "a pipeline in which a stage wants its gradient before it gave the activation", 2,
        [](Place& p, int32_t odd) {
            const auto world = p.world();
            const int32_t r = p.rank(), n = p.ranks(), wrong = std::min(odd, n - 2);
            const auto gradient = [&] { world->recv(p.zeros(kN), GroupRank{r + 1}).wait(); };
            if (r > 0) world->recv(p.zeros(kN), GroupRank{r - 1}).wait();
            if (r == wrong) gradient();
            if (r + 1 < n) world->send(p.zeros(kN), GroupRank{r + 1}).wait();
            if (r + 1 < n && r != wrong) gradient();
            if (r > 0) world->send(p.zeros(kN), GroupRank{r - 1}).wait();
        },
        [](int32_t) { return 2; }));

    const auto message = [&](const char* name, const char* differs, int64_t n, DType dtype) {
        Mistake m;
        m.name = name;
        m.differs = differs;
        m.pair = true;
        m.program = [=](Place& p, int32_t odd) {
            const auto world = p.world();
            const int32_t to = (odd + 1) % p.ranks();
            if (p.rank() == odd) world->send(p.zeros(n, dtype), GroupRank{to}).wait();
            if (p.rank() == to) world->recv(p.zeros(kN), GroupRank{odd}).wait();
            barrier()(p, *world);
        };
        m.right_op = "recv";
        m.odd_op = "send";
        all.push_back(std::move(m));
    };
    message("a message of another dtype", "dtype", kN, DType::int32);
    message("a message of fewer elements", "count", kN - 1, DType::float32);
    message("a message of more elements", "count", kN + 1, DType::float32);
    message("a message of no element", "count", 0, DType::float32);
}

Mistake missing(std::string name, std::function<void(Place&, int32_t)> program, int32_t least_ranks = 2) {
    Mistake m;
    m.name = std::move(name);
    m.kind = DiagnosisKind::missing;
    m.least_ranks = least_ranks;
    m.ends = true;
    m.program = std::move(program);
    return m;
}

void add_missing(std::vector<Mistake>& all) {
    all.push_back(missing("one step fewer: uneven batches", [](Place& p, int32_t odd) {
        const auto world = p.world();
        for (int32_t step = 0; step < (p.rank() == odd ? 2 : 3); ++step) all_reduce()(p, *world);
    }));
    all.push_back(missing("no call at all", [](Place& p, int32_t odd) {
        if (p.rank() != odd) all_reduce()(p, *p.world());
    }));
    all.push_back(missing("all but one make one call more", [](Place& p, int32_t odd) {
        const auto world = p.world();
        all_gather()(p, *world);
        if (p.rank() != odd) barrier()(p, *world);
    }));
    all.push_back(missing("a recv that nobody sends to", [](Place& p, int32_t odd) {
        const auto world = p.world();
        if (p.rank() != odd) world->recv(p.zeros(kN), GroupRank{odd}).wait();
    }));
    all.push_back(missing("a send that nobody receives", [](Place& p, int32_t odd) {
        const auto world = p.world();
        if (p.rank() != odd) world->send(p.zeros(kN), GroupRank{odd}).wait();
    }));
    all.push_back(missing("a message fewer than are received", [](Place& p, int32_t odd) {
        const auto world = p.world();
        const int32_t to = (odd + 1) % p.ranks();
        if (p.rank() == odd) world->send(p.zeros(kN), GroupRank{to}).wait();
        if (p.rank() == to)
            for (int i = 0; i < 2; ++i) world->recv(p.zeros(kN), GroupRank{odd}).wait();
    }));
    all.push_back(missing("a gather that a rank leaves out at the end", [](Place& p, int32_t odd) {
        const auto world = p.world();
        all_reduce()(p, *world);
        if (p.rank() != odd) gather(odd == 0 ? 1 : 0)(p, *world);
    }));
}

}  // namespace

std::vector<Mistake> mistakes() {
    std::vector<Mistake> all;
    add_ops(all);
    add_roots_and_reductions(all);
    add_dtypes(all);
    add_counts(all);
    add_orders(all);
    add_groups(all);
    add_pairs(all);
    add_missing(all);
    return all;
}

}  // namespace meshscope::diagnosis
