#include "core/comm/faults.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/comm/device_queues.h"

namespace meshscope::comm {
namespace {

/// A copy of a message with one bit turned over, where the message itself lies: with the host, or on a
/// device. The message has this bit.
class Changed {
  public:
    Changed(DeviceQueues* queues, Transport::Bytes data, int64_t bit) : queues_(queues) {
        const auto n = static_cast<int64_t>(data.size());
        on_host(queues_, data.data(), n,
                [&](Transport::Bytes there) { copy_.assign(there.begin(), there.end()); });
        const auto at = static_cast<std::size_t>(bit);
        copy_[at / 8] ^= std::byte{1} << (at % 8);
        if (queues_ == nullptr) return;
        on_device_ = queues_->allocate(n);
        queues_->write(on_device_, copy_.data(), n);
    }
    ~Changed() {
        if (on_device_ != nullptr) queues_->free(on_device_);
    }
    Changed(const Changed&) = delete;
    Changed& operator=(const Changed&) = delete;

    Transport::Bytes bytes() const {
        return {on_device_ != nullptr ? on_device_ : copy_.data(), copy_.size()};
    }

  private:
    DeviceQueues* queues_;
    std::vector<std::byte> copy_;
    std::byte* on_device_ = nullptr;
};

}  // namespace

std::string_view name(FaultKind value) {
    constexpr std::array<std::string_view, 7> kNames{"kill",     "delay", "stall", "corrupt",
                                                     "mismatch", "skip",  "repeat"};
    return kNames.at(static_cast<std::size_t>(value));
}

std::string_view name(FaultField value) {
    constexpr std::array<std::string_view, 5> kNames{"op", "root", "reduce_op", "dtype", "count"};
    return kNames.at(static_cast<std::size_t>(value));
}

void do_fault(const Fault& fault, Transport& transport) {
    if (fault.kind == FaultKind::kill) die(transport);
    if (fault.kind == FaultKind::stall) stall(transport);
    if (fault.kind == FaultKind::delay) std::this_thread::sleep_for(std::chrono::milliseconds(fault.ms));
}

Faults::Faults(std::span<const Fault> all, GlobalRank rank, int32_t round) {
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].rank == rank.value && all[i].round.value_or(round) == round)
            faults_.push_back({all[i], i, 0, false});
}

void Faults::enter(int32_t step, std::optional<Phase> phase, Transport& transport) {
    for (Waiting& waiting : faults_) {
        const Fault& fault = waiting.fault;
        const bool by_itself =
            fault.kind == FaultKind::kill || fault.kind == FaultKind::delay || fault.kind == FaultKind::stall;
        if (waiting.came || !by_itself || !fault.on_entry() || fault.step != step || fault.phase != phase)
            continue;
        waiting.came = true;
        do_fault(fault, transport);
    }
}

std::optional<Fault> Faults::on_issue(int32_t step, Phase phase, const trace::Cause& cause) {
    std::optional<Fault> due;
    for (Waiting& waiting : faults_) {
        const Fault& fault = waiting.fault;
        if (waiting.came || fault.step != step || (fault.phase && *fault.phase != phase) ||
            (!fault.unit.empty() && fault.unit != cause.unit) ||
            (!fault.rule.empty() && fault.rule != cause.rule))
            continue;
        if (waiting.seen++ != fault.at.value_or(0) || due) continue;
        waiting.came = true;
        due = fault;
    }
    return due;
}

void Faults::issued(const std::optional<Fault>& fault) {
    if (fault) armed_.emplace(issued_, *fault);
    ++issued_;
}

std::optional<Fault> Faults::on_run() {
    const auto found = armed_.find(run_++);
    if (found == armed_.end()) return std::nullopt;
    const Fault fault = found->second;
    armed_.erase(found);
    return fault;
}

void Faults::did_not_come(const Fault& fault) {
    for (Waiting& waiting : faults_)
        if (waiting.came && waiting.fault.kind == fault.kind && waiting.fault.step == fault.step &&
            waiting.fault.at == fault.at && waiting.fault.hop == fault.hop)
            waiting.came = false;
}

std::vector<Faults::NeverCame> Faults::never_came() const {
    std::vector<NeverCame> found;
    for (const Waiting& waiting : faults_)
        if (!waiting.came) found.push_back({waiting.place, waiting.seen});
    return found;
}

void FaultyTransport::note(CallMoment moment, const IssuedCall* call) {
    if (moment == CallMoment::ends) {
        if (fault_) faults_.did_not_come(*fault_);
        fault_.reset();
    }
    ForwardingTransport::note(moment, call);
    if (moment != CallMoment::begins) return;
    fault_ = faults_.on_run();
    hop_ = 0;
    if (!fault_ || fault_->hop || fault_->kind == FaultKind::corrupt) return;
    do_fault(*std::exchange(fault_, std::nullopt), inner_);
}

bool FaultyTransport::on_hop(Channel channel) {
    if (!fault_ || !channel.carries_tensors() || hop_++ != fault_->hop.value_or(0)) return false;
    const Fault fault = *std::exchange(fault_, std::nullopt);
    do_fault(fault, inner_);
    return fault.kind == FaultKind::corrupt;
}

int64_t FaultyTransport::bit_of(const Fault& fault, int64_t bytes) const {
    const int64_t bits = 8 * bytes;
    const int64_t bit = fault.bit.value_or(std::max<int64_t>(0, std::min(Fault::kUsualBit, bits - 1)));
    if (bit >= bits)
        throw InvalidArgument(
            {"fault.no_bit", {{"bit", bit}, {"bits", bits}, {"rank", int64_t{rank().value}}}});
    return bit;
}

void FaultyTransport::receive_together(std::span<const Expected> messages, Channel channel,
                                       const ConsumeTogether& consume) {
    const std::optional<Fault> fault = fault_;
    std::size_t which = messages.size();
    for (std::size_t i = 0; i < messages.size(); ++i)
        if (on_hop(channel)) which = i;
    const int64_t bit = which < messages.size() ? bit_of(*fault, messages[which].bytes) : 0;
    inner_.receive_together(messages, channel, [&](std::span<const Bytes> data) {
        std::vector<Bytes> spans(data.begin(), data.end());
        std::optional<Changed> copy;
        if (which < spans.size()) spans[which] = copy.emplace(queues_of(*this), spans[which], bit).bytes();
        consume(spans);
    });
}

}  // namespace meshscope::comm
