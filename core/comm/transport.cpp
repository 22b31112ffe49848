#include "core/comm/transport.h"

#include <csignal>
#include <cstdlib>

namespace meshscope::comm {

void Transport::receive(GlobalRank src, Channel channel, int64_t bytes, const Consume& consume) {
    const Expected one{src, bytes};
    receive_together({&one, 1}, channel, [&](std::span<const Bytes> data) { consume(data[0]); });
}

void Transport::receive_at(GlobalRank src, Channel channel, std::span<std::byte> to, const Consume& consume) {
    const Expected one{src, static_cast<int64_t>(to.size()), to.data()};
    receive_together({&one, 1}, channel, [&](std::span<const Bytes> data) { consume(data[0]); });
}

void Transport::note(CallMoment, const IssuedCall*) {}

namespace {

[[noreturn]] void kill_this_process() {
    std::raise(SIGKILL);
    std::abort();  // SIGKILL cannot be held off; the compiler does not know
}

}  // namespace

void FaultActs::die() {
    kill_this_process();
}

std::unique_ptr<tensor::Device> make_device(Transport& transport) {
    OnDevice* const device = transport.abilities().device;
    return device != nullptr ? device->make_device() : tensor::make_cpu_device();
}

DeviceQueues* queues_of(Transport& transport) {
    OnDevice* const device = transport.abilities().device;
    return device != nullptr ? device->queues() : nullptr;
}

void die(Transport& transport) {
    if (FaultActs* const acts = transport.abilities().faults) acts->die();
    kill_this_process();
}

void stall(Transport& transport) {
    if (FaultActs* const acts = transport.abilities().faults) acts->stall();
    wait_for_ever(transport);
}

void wait_for_ever(Transport& transport) {
    constexpr Channel kNobodySends{Channel::kChecksums - 1};
    const GlobalRank next{(transport.rank().value + 1) % transport.world_size()};
    while (true) transport.receive(next, kNobodySends, 0, [](Transport::Bytes) {});
}

void end_calls(Transport& transport, Channel first) {
    if (CallRounds* const rounds = transport.abilities().rounds) rounds->end_calls(first);
}

}  // namespace meshscope::comm
