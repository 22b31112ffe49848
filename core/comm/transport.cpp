#include "core/comm/transport.h"

#include <csignal>
#include <cstdlib>
#include <vector>

#include "core/comm/native.h"

namespace meshscope::comm {

std::unique_ptr<tensor::Device> Transport::make_device() {
    return tensor::make_cpu_device();
}

void Transport::begin_call(const CallInfo&) {}

void Transport::die() {
    std::raise(SIGKILL);
    std::abort();  // SIGKILL cannot be held off; the compiler does not know
}

void Transport::stall() {
    constexpr Channel kNobodySends{Channel::kChecksums - 1};
    const GlobalRank next{(rank().value + 1) % world_size()};
    while (true) receive(next, kNobodySends, 0, [](Bytes) {});
}

SharedTable* Transport::table(Channel, std::span<const GlobalRank>) {
    return nullptr;
}

void Transport::receive_at(GlobalRank src, Channel channel, std::span<std::byte> to, const Consume& consume) {
    receive(src, channel, static_cast<int64_t>(to.size()), consume);
}

std::unique_ptr<NativeCollectives> Transport::native(std::span<const GlobalRank>, Channel) {
    return nullptr;
}

void Transport::receive_together(std::span<const Expected> messages, Channel channel,
                                 const ConsumeTogether& consume) {
    if (messages.empty()) return consume({});
    std::vector<std::vector<std::byte>> copies(messages.size() - 1);
    std::vector<Bytes> spans;
    for (std::size_t i = 0; i + 1 < messages.size(); ++i) {
        receive(messages[i].src, channel, messages[i].bytes,
                [&](Bytes data) { copies[i].assign(data.begin(), data.end()); });
        spans.emplace_back(copies[i]);
    }
    receive(messages.back().src, channel, messages.back().bytes, [&](Bytes data) {
        spans.push_back(data);
        consume(spans);
    });
}

void Transport::end_calls(Channel) {}

}  // namespace meshscope::comm
