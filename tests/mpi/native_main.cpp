// MPI's own collectives against the reference, and how worlds over MPI end: run under mpiexec, each process
// holds its own rank's answers, for groups of the first 1 to 8 ranks. Says every breach and ends with exit
// code 1. Arguments: openmpi or mpich, and the number of ranks.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "backends/mpi/mpi_world.h"
#include "backends/registry.h"
#include "core/base/error.h"
#include "core/comm/native_group.h"
#include "tests/contract/harness.h"
#include "tests/contract/outcome.h"
#include "tests/contract/reference.h"

using namespace meshscope;
using namespace meshscope::contract;

namespace {

constexpr double kFactor = 0.3;
constexpr int kManyGroups = 2500;
constexpr std::array kDTypes{DType::float32, DType::bfloat16, DType::float16,
                             DType::int32,   DType::int64,    DType::uint8};

/// What one process found.
struct Checks {
    int rank = -1;
    int64_t held = 0, broken = 0;

    void check(bool holds, const std::string& what) {
        if (holds) {
            ++held;
            return;
        }
        if (++broken <= 20) std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
    }
};

std::string words(DType dtype, ReduceOp op, const char* algorithm, int32_t p, int64_t n) {
    return std::string(name(dtype)) + " " + std::string(name(op)) + " " + algorithm +
           " p=" + std::to_string(p) + " n=" + std::to_string(n);
}

std::vector<int32_t> first_ranks(int32_t p) {
    std::vector<int32_t> ranks(static_cast<std::size_t>(p));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

/// Equal bits; or for floats, which the library sums in its own order, equal but for rounding.
bool agree(DType dtype, const Bytes& got, const Bytes& expected) {
    if (dtype != DType::float32) return got == expected;
    for (std::size_t i = 0; i + 4 <= got.size(); i += 4) {
        float a = 0, b = 0;
        std::memcpy(&a, &got[i], 4), std::memcpy(&b, &expected[i], 4);
        if (!(std::abs(a - b) <= 1e-5F * (1 + std::abs(b)))) return false;
    }
    return got.size() == expected.size();
}

/// A group of the first p ranks.
struct Group {
    comm::ProcessGroup* group;
    int32_t p;
    bool watched = false;  ///< calls end with the world
    bool async_op = true;

    std::string word() const {
        return std::string(watched ? "native, watched" : "native") + (async_op ? "" : ", waiting");
    }
    CallOptions options() const {
        CallOptions options;
        options.factor = kFactor;
        options.async_op = async_op;
        return options;
    }
};

void check_reductions(const Rank& rank, const Group& g, Checks& checks) {
    for (const DType dtype : kDTypes)
        for (const ReduceOp op : reduce_ops_of(dtype)) {
            if (g.p > 1 && dtype != DType::float32 && dtype != DType::int32 && dtype != DType::int64) {
                std::string refusal = "taken";
                try {
                    g.group->all_reduce(rank.zeros(3, dtype), op, g.options());
                } catch (const InvalidArgument& error) {
                    refusal = error.message().id;
                }
                checks.check(refusal == "comm.native_dtype",
                             "native " + std::string(name(dtype)) + ": " + refusal);
                continue;
            }
            for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{g.p - 1}, int64_t{g.p}, int64_t{1000}}) {
                std::vector<Bytes> inputs, all_inputs;
                for (int32_t r = 0; r < g.p; ++r) {
                    inputs.push_back(input_of(dtype, r, n));
                    all_inputs.push_back(input_of(dtype, r, n * g.p));
                }
                const auto me = static_cast<std::size_t>(rank.rank());
                const std::string what = words(dtype, op, g.word().c_str(), g.p, n);

                const Tensor t = rank.tensor(inputs[me], dtype);
                g.group->all_reduce(t, op, g.options()).wait();
                checks.check(agree(dtype, bytes_of(t),
                                   reduced(dtype, op, kFactor, inputs, Order::by_rank, chunks_of(n, g.p))),
                             "all_reduce " + what);

                const Tensor whole = rank.tensor(all_inputs[me], dtype);
                const Tensor part = rank.zeros(n, dtype);
                g.group->reduce_scatter(part, whole, op, {}, g.options()).wait();
                std::vector<int32_t> chunk_of;
                for (int32_t r = 0; r < g.p; ++r)
                    chunk_of.insert(chunk_of.end(), static_cast<std::size_t>(n), r);
                const Bytes sums = reduced(dtype, op, kFactor, all_inputs, Order::by_rank, chunk_of);
                checks.check(agree(dtype, bytes_of(part), piece(sums, dtype, rank.rank() * n, n)),
                             "reduce_scatter " + what);
            }
        }
}

/// Reductions to a root; and buffers that are apart where they may be one, or one where they may be apart.
void check_buffers(const Rank& rank, const Group& g, Checks& checks) {
    const auto me = static_cast<std::size_t>(rank.rank());
    const auto call = [&](CollectiveOp op, const Tensor& input, const Tensor& output, int32_t root) {
        const bool reduces = op != CollectiveOp::broadcast && op != CollectiveOp::all_gather;
        const comm::CallOptions options = g.options();
        g.group
            ->issue({.op = op,
                     .reduce_op = reduces ? ReduceOp::sum : ReduceOp::none,
                     .peer = GroupRank{root},
                     .input = &input,
                     .output = &output,
                     .options = &options})
            .wait();
    };
    for (const DType dtype : {DType::float32, DType::int32, DType::int64})
        for (const int64_t n : {1, 1000}) {
            std::vector<Bytes> inputs, wholes;
            for (int32_t r = 0; r < g.p; ++r) {
                inputs.push_back(input_of(dtype, r, n));
                wholes.push_back(input_of(dtype, r, n * g.p));
            }
            const auto sum_of = [&](const std::vector<Bytes>& given, int64_t elements) {
                return reduced(dtype, ReduceOp::sum, kFactor, given, Order::by_rank,
                               chunks_of(elements, g.p));
            };
            const Bytes sum = sum_of(inputs, n);
            const std::string what = words(dtype, ReduceOp::sum, g.word().c_str(), g.p, n);
            const Tensor apart = rank.zeros(n, dtype);
            call(CollectiveOp::all_reduce, rank.tensor(inputs[me], dtype), apart, -1);
            checks.check(agree(dtype, bytes_of(apart), sum), "all_reduce, apart " + what);
            for (const int32_t root : {0, g.p - 1}) {
                const bool at_root = rank.rank() == root;
                const Tensor t = rank.tensor(inputs[me], dtype);
                g.group->reduce(t, GroupRank{root}, ReduceOp::sum, g.options()).wait();
                if (at_root) checks.check(agree(dtype, bytes_of(t), sum), "reduce " + what);
                const Tensor result = at_root ? rank.zeros(n, dtype) : Tensor{};
                call(CollectiveOp::reduce, rank.tensor(inputs[me], dtype), result, root);
                if (at_root) checks.check(agree(dtype, bytes_of(result), sum), "reduce, apart " + what);
                const Tensor got = rank.zeros(n, dtype);
                call(CollectiveOp::broadcast, at_root ? rank.tensor(inputs[me], dtype) : Tensor{}, got, root);
                checks.check(bytes_of(got) == inputs[static_cast<std::size_t>(root)],
                             "broadcast, apart " + what);
            }
            // A part that lies at its place in the whole.
            const Tensor whole = rank.zeros(n * g.p, dtype);
            const Tensor own = whole.slice(rank.rank() * n, n);
            tensor::write_bytes(own, inputs[me].data());
            call(CollectiveOp::all_gather, own, whole, -1);
            Bytes all;
            for (const Bytes& each : inputs) all.insert(all.end(), each.begin(), each.end());
            checks.check(bytes_of(whole) == all, "all_gather, in place " + what);
            const Tensor given = rank.tensor(wholes[me], dtype);
            const Tensor part = given.slice(rank.rank() * n, n);
            call(CollectiveOp::reduce_scatter, given, part, -1);
            checks.check(
                agree(dtype, bytes_of(part), piece(sum_of(wholes, n * g.p), dtype, rank.rank() * n, n)),
                "reduce_scatter, in place " + what);
        }
}

/// The same call of the same buffers again, with other numbers in them.
void check_again(const Rank& rank, const Group& g, Checks& checks) {
    constexpr int64_t kElements = 33;
    const auto me = static_cast<std::size_t>(rank.rank());
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::premul_sum}) {
        const Tensor t = rank.zeros(kElements), whole = rank.zeros(kElements * g.p);
        for (int turn = 0; turn < 4; ++turn) {
            std::vector<Bytes> inputs;
            Bytes all;
            for (int32_t r = 0; r < g.p; ++r) {
                inputs.push_back(input_of(DType::float32, r + turn, kElements));
                all.insert(all.end(), inputs.back().begin(), inputs.back().end());
            }
            const std::string what =
                words(DType::float32, op, g.word().c_str(), g.p, kElements) + " turn " + std::to_string(turn);
            comm::CallOptions options = g.options();
            options.factor = kFactor;
            tensor::write_bytes(t, inputs[me].data());
            g.group->all_reduce(t, op, options).wait();
            checks.check(agree(DType::float32, bytes_of(t),
                               reduced(DType::float32, op, kFactor, inputs, Order::by_rank,
                                       chunks_of(kElements, g.p))),
                         "all_reduce again " + what);
            if (turn == 1) continue;  // then twice without another call between
            tensor::write_bytes(t, inputs[me].data());
            for (int i = 0; i < 2; ++i) g.group->all_gather(whole, t, {}, options).wait();
            checks.check(bytes_of(whole) == all, "all_gather again " + what);
        }
    }
}

void check_moves(const Rank& rank, const Group& g, Checks& checks) {
    for (const DType dtype : kDTypes)
        for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{g.p + 1}, int64_t{1000}, int64_t{-1}}) {
            // -1: uneven parts, some of them empty.
            std::vector<int64_t> counts, firsts;
            for (int32_t r = 0; r < g.p; ++r)
                counts.push_back(n >= 0 ? n : r % 3 == 0 ? 3 : r % 3 == 1 ? 0 : 7);
            int64_t total = 0;
            for (const int64_t c : counts) firsts.push_back(total), total += c;
            const auto me = static_cast<std::size_t>(rank.rank());
            const std::vector<int64_t> given = n >= 0 ? std::vector<int64_t>{} : counts;
            const std::string what = words(dtype, ReduceOp::none, g.word().c_str(), g.p, n);
            Bytes all;
            for (int32_t r = 0; r < g.p; ++r) {
                const Bytes one = input_of(dtype, r, counts[static_cast<std::size_t>(r)]);
                all.insert(all.end(), one.begin(), one.end());
            }
            const Bytes mine = input_of(dtype, rank.rank(), counts[me]);

            const Tensor out = rank.zeros(total, dtype);
            g.group->all_gather(out, rank.tensor(mine, dtype), given, g.options()).wait();
            checks.check(bytes_of(out) == all, "all_gather " + what);

            for (const int32_t root : {0, g.p - 1}) {
                const bool at_root = rank.rank() == root;
                const Tensor b = rank.tensor(at_root ? all : Bytes(all.size()), dtype);
                g.group->broadcast(b, GroupRank{root}, g.options()).wait();
                checks.check(bytes_of(b) == all, "broadcast " + what);
                const Tensor gathered = at_root ? rank.zeros(total, dtype) : Tensor{};
                g.group->gather(gathered, rank.tensor(mine, dtype), GroupRank{root}, counts, g.options())
                    .wait();
                if (at_root) checks.check(bytes_of(gathered) == all, "gather " + what);
                const Tensor scattered = rank.zeros(counts[me], dtype);
                g.group
                    ->scatter(scattered, at_root ? rank.tensor(all, dtype) : Tensor{}, GroupRank{root},
                              counts, g.options())
                    .wait();
                checks.check(bytes_of(scattered) == mine, "scatter " + what);
            }
            if (n >= 0) {
                const Tensor turned = rank.zeros(n * g.p, dtype);
                g.group
                    ->all_to_all(turned, rank.tensor(input_of(dtype, rank.rank(), n * g.p), dtype), {}, {},
                                 g.options())
                    .wait();
                Bytes expected;
                for (int32_t r = 0; r < g.p; ++r) {
                    const Bytes part = piece(input_of(dtype, r, n * g.p), dtype, rank.rank() * n, n);
                    expected.insert(expected.end(), part.begin(), part.end());
                }
                checks.check(bytes_of(turned) == expected, "all_to_all " + what);
            }
        }
    // Around the ring, sends before receives.
    if (g.p > 1) {
        const Tensor got = rank.zeros(5);
        const int32_t next = (rank.rank() + 1) % g.p, previous = (rank.rank() + g.p - 1) % g.p;
        Work sent = g.group->send(rank.tensor(input_of(DType::float32, rank.rank(), 5), DType::float32),
                                  GroupRank{next});
        g.group->recv(got, GroupRank{previous}).wait();
        sent.wait();
        checks.check(bytes_of(got) == input_of(DType::float32, previous, 5),
                     "send and recv p=" + std::to_string(g.p));
    }
    g.group->barrier(g.options()).wait();
}

void check_collectives(const Rank& rank, Checks& checks, bool every_size) {
    for (int32_t p = 1; p <= rank.world_size(); ++p) {
        if (!every_size && p % 3 != 2) continue;
        for (const bool watched : {false, true}) {
            if (rank.rank() >= p || (watched && p % 3 != 2)) continue;
            std::vector<GlobalRank> members;
            for (const int32_t r : first_ranks(p)) members.push_back({r});
            const int32_t index = 10 * p + (watched ? 1 : 0);
            comm::NativeGroup group(rank.executor, index, "dim", members, comm::Channel{index},
                                    &rank.recorder, watched);
            for (const bool async_op : {true, false}) {
                const Group g{&group, p, watched, async_op};
                check_reductions(rank, g, checks);
                check_buffers(rank, g, checks);
                check_again(rank, g, checks);
                check_moves(rank, g, checks);
            }
        }
    }
}

/// Failures: the world must end with the first cause on its rank and with "comm.aborted" on the others, with
/// the cause itself where a rank saw it between the ranks; and can be used again after.
void check_failures(comm::World& world, Checks& checks) {
    const auto run = [&](const std::function<void(comm::Transport&)>& body) {
        return outcome([&] { world.run(body); });
    };
    const std::vector<std::byte> data(12, std::byte{7});
    const std::vector<std::byte> large(1 << 20, std::byte{7});
    const int me = checks.rank;
    for (int round = 0; round < 3; ++round) {
        const std::string thrown = run([&](comm::Transport& t) {
            if (me == 2) throw std::runtime_error("out of luck");
            t.receive(GlobalRank{2}, comm::Channel{0}, 4, [](auto) {});
        });
        checks.check(thrown == (me == 2 ? "out of luck" : "comm.aborted*"), "a rank that throws: " + thrown);

        const std::string sizes = run([&](comm::Transport& t) {
            if (me == 0) t.wait(t.post(GlobalRank{1}, comm::Channel{5}, data));
            if (me == 1) t.receive(GlobalRank{0}, comm::Channel{5}, 16, [](auto) {});
            if (me > 1) t.receive(GlobalRank{0}, comm::Channel{6}, 16, [](auto) {});
        });
        checks.check(sizes == (me <= 1 ? "comm.size_mismatch" : "comm.size_mismatch*"),
                     "sizes that differ: " + sizes);

        const std::string ended = run([&](comm::Transport& t) {
            if (me == 1) t.receive(GlobalRank{0}, comm::Channel{1}, 4, [](auto) {});
        });
        checks.check(ended == (me == 1 ? "comm.peer_finished" : "comm.peer_finished*"),
                     "a peer that ended: " + ended);

        const std::string unwanted = run([&](comm::Transport& t) {
            if (me == 0) t.wait(t.post(GlobalRank{1}, comm::Channel{1}, large));
        });
        checks.check(unwanted == (me == 0 ? "comm.peer_finished" : "comm.peer_finished*"),
                     "a message nobody takes: " + unwanted);

        // Buffers that go while a large message is under way.
        const std::string dropped = run([&](comm::Transport& t) {
            std::vector<std::byte> mine(1 << 22);
            const auto ticket = t.post(GlobalRank{(me + 1) % t.world_size()}, comm::Channel{2}, mine);
            static_cast<void>(ticket);
            if (me == 3) {
                t.withdraw();
                throw std::runtime_error("dropped everything");
            }
            t.receive(GlobalRank{3}, comm::Channel{9}, 4, [](auto) {});
        });
        checks.check(dropped == (me == 3 ? "dropped everything" : "comm.aborted*"), "dropped: " + dropped);

        std::vector<std::byte> got;
        const std::string fine = run([&](comm::Transport& t) {
            const int next = (me + 1) % t.world_size(), previous = (me + t.world_size() - 1) % t.world_size();
            const auto ticket = t.post(GlobalRank{next}, comm::Channel{0}, large);
            t.receive(GlobalRank{previous}, comm::Channel{0}, static_cast<int64_t>(large.size()),
                      [&](auto bytes) { got.assign(bytes.begin(), bytes.end()); });
            t.wait(ticket);
        });
        checks.check(fine == "fine" && got == large, "after failures: " + fine);
    }
}

/// Groups of MPI's own that come and go: MPICH has room for two thousand at a time.
void check_groups_that_go(const Rank& rank, Checks& checks) {
    if (rank.rank() > 1) return;
    const Tensor t = rank.zeros(1, DType::int64);
    for (int i = 0; i < kManyGroups; ++i) {
        t.data<int64_t>()[0] = i + rank.rank();
        comm::NativeGroup group(rank.executor, 200, "dim", {{0}, {1}}, comm::Channel{200}, &rank.recorder);
        group.all_reduce(t, ReduceOp::sum).wait();
        if (t.data<int64_t>()[0] != 2 * i + 1) return checks.check(false, "group " + std::to_string(i));
    }
    checks.check(true, "groups that go");
}

/// Of a collective of MPI's own that one rank does not come to, the others are told when the time is over.
void check_watched_collectives(const std::string& library, int32_t size, Checks& checks) {
    for (const backends::mpi::Library& one : backends::mpi::libraries()) {
        if (one.word != library) continue;
        // Long enough that on a busy machine the call to which all come is not late.
        backends::mpi::MpiWorld world(one, size, std::chrono::seconds(5));
        const auto begin = std::chrono::steady_clock::now();
        const std::string thrown = outcome([&] {
            world.run([&](comm::Transport& transport) {
                const auto device = tensor::make_cpu_device();
                trace::Recorder recorder(transport.rank(), trace::Level::off, 0);
                tensor::Allocator memory(*device, &recorder);
                StreamExecutor executor(transport, Mode::inline_in_wait);
                Rank rank{transport, executor, memory, recorder};
                std::vector<GlobalRank> members;
                for (const int32_t r : first_ranks(size)) members.push_back({r});
                comm::NativeGroup group(executor, 1, "dim", members, comm::Channel{1}, &recorder, true);
                const Tensor t = rank.zeros(1 << 20);
                group.all_reduce(t, ReduceOp::sum).wait();
                if (rank.rank() == size - 1) comm::stall(transport);
                group.all_reduce(t, ReduceOp::sum).wait();
            });
        });
        const bool late = std::chrono::steady_clock::now() - begin > std::chrono::seconds(120);
        checks.check(thrown == "mpi.timeout*" || (checks.rank < size - 1 && thrown == "mpi.timeout"),
                     "a rank that does not come: " + thrown);
        checks.check(!late, "a rank that does not come: too late");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string backend = std::string("mpi-") + (argc > 1 ? argv[1] : "openmpi");
    const int32_t size = argc > 2 ? std::atoi(argv[2]) : 8;
    try {
        const auto world = backends::make_registry()->open(backend, {size});
        Checks checks;
        for (const Mode mode : {Mode::inline_in_wait, Mode::helper_thread})
            world->run([&](comm::Transport& transport) {
                checks.rank = transport.rank().value;
                const auto device = tensor::make_cpu_device();
                trace::Recorder recorder(transport.rank(), trace::Level::hops, 0);
                tensor::Allocator memory(*device, &recorder);
                StreamExecutor executor(transport, mode);
                Rank rank{transport, executor, memory, recorder};
                check_collectives(rank, checks, mode == Mode::inline_in_wait);
                if (mode == Mode::inline_in_wait) check_groups_that_go(rank, checks);
                executor.finish();
            });
        check_watched_collectives(argc > 1 ? argv[1] : "openmpi", size, checks);
        if (size > 3) check_failures(*world, checks);
        if (checks.broken == 0 && checks.rank == 0)
            std::printf("%lld held\n", static_cast<long long>(checks.held));
        return checks.broken == 0 && checks.held > 1000 ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
