// Gloo's collectives over its TCP transport on the loopback device, to be compared with `meshscope bench
// collectives`. One process a rank; --ranks says how many, --folder where they meet.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>

#include <memory>

#include "tests/bench/peers/peer.h"

namespace {

void run_rank(const peer::Request& request, int rank) {
    peer::pin(rank);
    const int ranks = request.ranks;
    gloo::transport::tcp::attr attributes;
    attributes.iface = "lo";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(request.folder);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->connectFullMesh(store, device);

    const auto barrier = [&] {
        gloo::BarrierOptions options(context);
        gloo::barrier(options);
    };
    const auto largest = [&](double mine) {
        gloo::AllreduceOptions options(context);
        options.setOutput(&mine, 1);
        options.setReduceFunction([](void* c, const void* a, const void* b, std::size_t n) {
            gloo::max<double>(c, a, b, n);
        });
        gloo::allreduce(options);
        return mine;
    };
    const auto sum = [](void* c, const void* a, const void* b, std::size_t n) {
        gloo::sum<float>(c, a, b, n);
    };
    for (const std::string& op : request.ops)
        for (const int64_t size : request.sizes) {
            const auto part = static_cast<std::size_t>(peer::part_of(size, ranks));
            const std::size_t whole = part * static_cast<std::size_t>(ranks);
            std::vector<float> full(whole), own(part);
            // Only reduce_scatter is of Gloo's older kind, prepared once and run many times; in place.
            std::unique_ptr<gloo::ReduceScatterHalvingDoubling<float>> scatter;
            if (op == "reduce_scatter")
                scatter = std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(
                    context, std::vector<float*>{full.data()}, static_cast<int>(whole),
                    std::vector<int>(static_cast<std::size_t>(ranks), static_cast<int>(part)));
            const auto call = [&] {
                if (op == "all_reduce") {
                    gloo::AllreduceOptions options(context);
                    options.setOutput(full.data(), whole);
                    options.setReduceFunction(sum);
                    gloo::allreduce(options);
                } else if (op == "all_gather") {
                    gloo::AllgatherOptions options(context);
                    options.setInput(own.data(), part);
                    options.setOutput(full.data(), whole);
                    gloo::allgather(options);
                } else if (op == "reduce_scatter") {
                    scatter->run();
                } else {
                    gloo::BroadcastOptions options(context);
                    options.setOutput(full.data(), whole);
                    options.setRoot(0);
                    gloo::broadcast(options);
                }
            };
            const auto bytes = static_cast<int64_t>(whole) * 4;
            const double us = peer::time_calls(bytes, request.repeats, call, barrier, largest);
            if (rank == 0) peer::print(op, bytes, ranks, "gloo", us);
        }
}

}  // namespace

int main(int argc, char** argv) {
    const peer::Request request = peer::read(argc, argv);
    std::vector<pid_t> children;
    for (int rank = 1; rank < request.ranks; ++rank) {
        const pid_t child = fork();
        if (child == 0) {
            run_rank(request, rank);
            _exit(0);
        }
        children.push_back(child);
    }
    run_rank(request, 0);
    int worst = 0;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        worst = std::max(worst, status);
    }
    return worst == 0 ? 0 : 1;
}
