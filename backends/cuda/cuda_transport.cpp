#include "backends/cuda/cuda_transport.h"

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/load_gpu.h"

namespace meshscope::backends::cuda {
namespace {

/// While a queue puts down what reads messages. end() marks that they were read; where it is not reached, the
/// marks are set all the same, as far as the device still takes them: the messages' sender waits for them
/// before it lets anything go.
class Reading {
  public:
    explicit Reading(const GpuStream& queue) : queue_(queue) {}
    ~Reading() {
        for (const MeshscopeGpuEvent event : read_)
            static_cast<void>(queue_.gpu().table->event_record(event, queue_.handle()));
    }
    void end() {
        for (const MeshscopeGpuEvent event : read_)
            check(*queue_.gpu().table, queue_.gpu().table->event_record(event, queue_.handle()),
                  "event_record");
        read_.clear();
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    void begin(const GpuEvent& written, const GpuEvent& read) {
        queue_.wait(written);
        read_.push_back(read.handle());
    }

  private:
    const GpuStream& queue_;
    std::vector<MeshscopeGpuEvent> read_;
};

}  // namespace

CudaTransport::CudaTransport(comm::Transport& inner, const Gpu& gpu)
    : ForwardingTransport(inner), gpu_(gpu), queues_(gpu) {}

CudaTransport::~CudaTransport() {
    withdraw();
    queues_.drain_collectives();
}

comm::Transport::Ticket CudaTransport::post(GlobalRank dst, comm::Channel channel, Bytes data) {
    if (free_.empty()) {
        parcels_.emplace_back();
        free_.push_back(parcels_.size() - 1);
    }
    const std::size_t index = free_.back();
    Parcel& parcel = parcels_[index];
    parcel.tensor = channel.carries_tensors();
    if (!parcel.tensor) {
        parcel.ticket = inner_.post(dst, channel, data);
    } else {
        if (!parcel.written) parcel.written.emplace(gpu_);
        if (!parcel.read) parcel.read.emplace(gpu_);
        parcel.data = data.data();
        parcel.written->record(queues_.running());
        // The inner transport hands on where a message lies and how long it is; it never looks there.
        parcel.ticket = inner_.post(dst, channel, {reinterpret_cast<const std::byte*>(&parcel), data.size()});
    }
    free_.pop_back();
    return static_cast<Ticket>(index);
}

void CudaTransport::receive_together(std::span<const comm::Expected> messages, comm::Channel channel,
                                     const ConsumeTogether& consume) {
    if (!channel.carries_tensors()) return inner_.receive_together(messages, channel, consume);
    inner_.receive_together(messages, channel, [&](std::span<const Bytes> arrived) {
        std::vector<Bytes> data;
        data.reserve(arrived.size());
        Reading reading(queues_.running());
        for (const Bytes message : arrived) {
            const Parcel& parcel = parcel_of(message);
            reading.begin(*parcel.written, *parcel.read);
            data.emplace_back(parcel.data, message.size());
        }
        consume(data);
        reading.end();
    });
}

void CudaTransport::wait(Ticket ticket) {
    const auto index = static_cast<std::size_t>(ticket);
    Parcel& parcel = parcels_.at(index);
    inner_.wait(parcel.ticket);
    if (parcel.tensor) queues_.running().wait(*parcel.read);
    free_.push_back(index);
}

bool CudaTransport::done(Ticket ticket) {
    return inner_.done(parcels_.at(static_cast<std::size_t>(ticket)).ticket);
}

void CudaTransport::withdraw() noexcept {
    inner_.withdraw();
    // Whoever took a parcel has marked by now that its queue will have read it; one that nobody took marks
    // nothing, or an earlier message's end.
    for (const Parcel& parcel : parcels_)
        if (parcel.read) static_cast<void>(gpu_.table->event_synchronize(parcel.read->handle()));
}

std::unique_ptr<tensor::Device> CudaTransport::make_device() {
    auto device = std::make_unique<CudaDevice>(gpu_);
    queues_.compute_in(device->stream());
    return device;
}

}  // namespace meshscope::backends::cuda
