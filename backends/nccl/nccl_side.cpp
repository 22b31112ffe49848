#include "backends/nccl/nccl_side.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/nccl/nccl_calls.h"

namespace meshscope::backends::nccl {

NcclSide::NcclSide(NcclTransport& transport, std::vector<GlobalRank> ranks, comm::Channel channel,
                   std::shared_ptr<Communicator> communicator)
    : transport_(transport),
      ranks_(std::move(ranks)),
      me_(static_cast<int32_t>(std::ranges::find(ranks_, transport.rank()) - ranks_.begin())),
      pairs_{channel.value + 1},
      communicator_(std::move(communicator)) {}

void NcclSide::run(const comm::IssuedCall& call) {
    const std::string group = call.group ? call.group->name : std::string();
    const Doing doing = transport_.doing(name(call.op).data(), group);
    if (call.op == CollectiveOp::send) return send(call, doing);
    if (call.op == CollectiveOp::recv) return receive(call, doing);
    const std::vector<MeshscopeNcclCall> calls =
        calls_for(call, me_, static_cast<int32_t>(ranks_.size()), transport_.scratch_);
    if (calls.empty()) return;
    transport_.device_.settle();
    communicator_->begin(calls, doing);
    communicator_->wait(transport_.timeouts_.operation, doing, [this] { transport_.interrupted(); });
}

void NcclSide::send(const comm::IssuedCall& call, const Doing& doing) {
    Sends& sends = sends_[call.peer];
    if (!sends.queue) {
        sends.id = transport_.make_id(doing);
        sends.ticket = transport_.post(global(call.peer), pairs_, std::as_bytes(std::span(sends.id.bytes)));
        sends.queue =
            std::make_unique<SendQueue>(transport_.library_, transport_.device_, sends.id,
                                        transport_.timeouts_, doing, [this] { transport_.give_up(); });
    }
    sends.queue->push(call.dtype, call.input, call.in_elements);
    if (call.waits) sends.queue->settle([this] { transport_.interrupted(); });
}

void NcclSide::receive(const comm::IssuedCall& call, const Doing& doing) {
    const auto interrupted = [this] { transport_.interrupted(); };
    std::unique_ptr<Communicator>& from = receives_[call.peer];
    if (!from) {
        MeshscopeNcclId id;
        transport_.receive(global(call.peer), pairs_, sizeof id.bytes, [&](comm::Transport::Bytes bytes) {
            std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
        });
        from = std::make_unique<Communicator>(transport_.library_, id, 2, 1, transport_.device_.ordinal(),
                                              doing);
        from->wait(transport_.timeouts_.connect, doing, interrupted);
    }
    MeshscopeNcclCall take = make_call(MESHSCOPE_NCCL_RECV, call.dtype, call.out_elements);
    take.out = call.output;
    take.peer = 0;
    transport_.device_.settle();
    from->begin({&take, 1}, doing);
    from->wait(transport_.timeouts_.operation, doing, interrupted);
}

void NcclSide::settle() {
    for (auto& [peer, sends] : sends_) sends.queue->settle([this] { transport_.interrupted(); });
}

void NcclSide::check() const {
    for (const auto& [peer, sends] : sends_)
        if (sends.queue) sends.queue->check();
}

void NcclSide::begin_close() {
    for (auto& [peer, sends] : sends_) sends.queue->begin_close();
}

void NcclSide::close() {
    const auto interrupted = [this] { transport_.interrupted(); };
    for (auto& [peer, from] : receives_)
        from->close(transport_.timeouts_.connect, transport_.doing("finalize", ""), interrupted);
    for (auto& [peer, sends] : sends_) {
        sends.queue->join(interrupted);
        transport_.wait(sends.ticket);
    }
}

}  // namespace meshscope::backends::nccl
