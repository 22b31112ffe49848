#include "core/comm/checksum_transport.h"

#include "core/base/crc32c.h"
#include "core/comm/device_queues.h"

namespace meshscope::comm {
namespace {

uint32_t crc_of(DeviceQueues* queues, Transport::Bytes data) {
    return on_host(queues, data.data(), static_cast<int64_t>(data.size()), [](Transport::Bytes there) {
        Crc32c crc;
        crc.add(there);
        return crc.value();
    });
}

}  // namespace

Transport::Ticket ChecksumTransport::post(GlobalRank dst, Channel channel, Bytes data) {
    if (free_.empty()) {
        free_.push_back(sent_.size());
        sent_.emplace_back();
    }
    const std::size_t index = free_.back();
    Sent& sent = sent_[index];
    sent.checksum = -1;
    if (channel.carries_tensors()) {
        sent.crc = crc_of(queues_of(*this), data);
        sent.checksum = inner_.post(dst, channel.of_checksums(), std::as_bytes(std::span(&sent.crc, 1)));
    }
    sent.data = inner_.post(dst, channel, data);
    free_.pop_back();
    return static_cast<Ticket>(index);
}

uint32_t ChecksumTransport::receive_checksum(GlobalRank src, Channel channel) {
    uint32_t crc = 0;
    inner_.receive(src, channel.of_checksums(), sizeof crc, [&](Bytes data) {
        std::copy(data.begin(), data.end(), std::as_writable_bytes(std::span(&crc, 1)).begin());
    });
    return crc;
}

void ChecksumTransport::check(GlobalRank src, Bytes data, uint32_t crc) {
    if (crc_of(queues_of(*this), data) == crc) return;
    Diagnosis d;
    d.kind = DiagnosisKind::corrupt;
    d.culprits = {src.value};
    RankReport report;
    report.rank = rank().value;
    report.state = RankState::in_call;
    report.call = report_of(call_);
    report.waits_for = src.value;
    d.ranks = {std::move(report)};
    throw DiagnosedError(std::move(d), rank());
}

void ChecksumTransport::receive_together(std::span<const Expected> messages, Channel channel,
                                         const ConsumeTogether& consume) {
    if (!channel.carries_tensors()) return inner_.receive_together(messages, channel, consume);
    std::vector<uint32_t> crcs;
    for (const Expected& each : messages) crcs.push_back(receive_checksum(each.src, channel));
    inner_.receive_together(messages, channel, [&](std::span<const Bytes> data) {
        for (std::size_t i = 0; i < data.size(); ++i) check(messages[i].src, data[i], crcs[i]);
        consume(data);
    });
}

void ChecksumTransport::wait(Ticket ticket) {
    Sent& sent = sent_.at(static_cast<std::size_t>(ticket));
    inner_.wait(sent.data);
    if (sent.checksum >= 0) inner_.wait(sent.checksum);
    free_.push_back(static_cast<std::size_t>(ticket));
}

bool ChecksumTransport::done(Ticket ticket) {
    const Sent& sent = sent_.at(static_cast<std::size_t>(ticket));
    return inner_.done(sent.data) && (sent.checksum < 0 || inner_.done(sent.checksum));
}

void ChecksumTransport::note(CallMoment moment, const IssuedCall* call) {
    if (moment == CallMoment::begins) call_ = *call;
    ForwardingTransport::note(moment, call);
}

}  // namespace meshscope::comm
