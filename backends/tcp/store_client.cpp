#include "backends/tcp/store_client.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/tcp/connection_acceptor.h"
#include "backends/tcp/store_protocol.h"
#include "backends/tcp/wrong_token_detector.h"
#include "core/base/error.h"
#include "core/base/pack.h"
#include "core/base/wait_notifier.h"

namespace meshscope::backends::tcp {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{50};
// An address that does not answer at all would be waited for to the end.
constexpr std::chrono::milliseconds kOneTry{1000};

}  // namespace

class StoreClient::Connection {
  public:
    explicit Connection(const StoreClientOptions& options) : options_(options) { connect(); }

    StoreAnswer ask(const StoreRequest& request, std::chrono::milliseconds beyond = {}) {
        if (request.key.size() > kMostKeyBytes || request.value.size() > kMostValueBytes ||
            request.desired.size() > kMostValueBytes)
            throw InvalidArgument({"tcp.store_refused", {{"reason", std::string("too_long")}}});
        const std::lock_guard lock(mutex_);
        const Deadline deadline = Clock::now() + options_.answer + beyond;
        const uint64_t sequence = next_++;
        Buffer bytes;
        append_frame(bytes, {.type = FrameType::request, .sequence = sequence}, encode(request));
        Frame frame;
        HeaderBytes header{};
        bool good = socket_.open() && write_all(socket_, bytes, deadline) == Transfer::done &&
                    read_exactly(socket_, header, deadline) == Transfer::done &&
                    decode(header, frame.header) == FrameFault::none &&
                    frame.header.type == FrameType::answer && frame.header.sequence == sequence;
        if (good) {
            frame.payload.resize(frame.header.length);
            good = read_exactly(socket_, frame.payload, deadline) == Transfer::done &&
                   crc_of(frame.payload) == frame.header.payload_crc;
        }
        const auto answer = good ? decode_answer(frame.payload) : std::nullopt;
        if (!answer) {
            // Question and answer are out of step now; nothing later on this connection could be trusted.
            socket_.close();
            throw CommError({"tcp.store_lost", {{"address", options_.address}}}, GlobalRank{-1});
        }
        if (answer->status == StoreStatus::refused)
            throw InvalidArgument({"tcp.store_refused", {{"reason", answer->text}}});
        return *answer;
    }

    const std::string& address() const { return options_.address; }
    std::string host() const { return tcp::own_host(socket_); }

  private:
    void connect() {
        const Address address = parse_address(options_.address);
        const Deadline begin = Clock::now();
        const Deadline deadline = begin + options_.connect;
        std::string reason;
        WrongTokenDetector wrong_token;
        WaitNotifier notifier(WaitNotifier::kMeeting);
        const auto waited = [&] {
            return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
        };
        do {
            if (options_.stopped())
                throw Cancelled({"tcp.stopped_connecting", {{"address", options_.address}}});
            socket_ = connect_to(address, std::min(deadline, Clock::now() + kOneTry), reason);
            if (socket_.open()) {
                Hello hello;
                hello.run_id = options_.run_id;
                hello.nonce = random_bytes();
                const Refusal refusal = shake_hands(socket_, options_.token, hello,
                                                    std::min(deadline, Clock::now() + kHandshakeTime));
                if (refusal == Refusal::none) return;
                reason = to_word(refusal);
                socket_.close();
                if (wrong_token.is_settled_by(refusal))
                    throw InvalidArgument({"tcp.store_token_differs", {{"address", options_.address}}});
                // These do not change by waiting.
                if (refusal == Refusal::run_id || refusal == Refusal::other_version) break;
            }
            if (notifier.is_due(waited()))
                options_.tell({"tcp.still_connecting",
                               {{"address", options_.address},
                                {"reason", reason},
                                {"waited_s", WaitNotifier::seconds(waited())},
                                {"timeout_s", WaitNotifier::seconds(options_.connect)}}});
            std::this_thread::sleep_for(wrong_token.pause(kBetweenTries));
        } while (Clock::now() < deadline);
        throw CommError({"tcp.cannot_connect",
                         {{"address", options_.address},
                          {"reason", reason},
                          {"waited_ms", static_cast<int64_t>(waited().count())}}},
                        GlobalRank{-1});
    }

    StoreClientOptions options_;
    std::mutex mutex_;
    Fd socket_;
    uint64_t next_ = 0;
};

StoreClient::StoreClient(const StoreClientOptions& options)
    : connection_(std::make_unique<Connection>(options)) {}
StoreClient::~StoreClient() = default;

void StoreClient::set(const std::string& key, const std::string& value) {
    StoreRequest request;
    request.op = StoreOp::set;
    request.key = key;
    request.value = value;
    connection_->ask(request);
}

void StoreClient::tell_refused(const Message& why) noexcept {
    try {
        Packer packer;
        pack(packer, why);
        const std::vector<std::byte> bytes = packer.take();
        set(kRefusedKey, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    } catch (...) {
        // Who is refused knows why; the other side may have gone.
    }
}

std::optional<std::string> StoreClient::get(const std::string& key) {
    StoreRequest request;
    request.key = key;
    StoreAnswer answer = connection_->ask(request);
    return answer.status == StoreStatus::ok ? std::optional(std::move(answer.text)) : std::nullopt;
}

std::string StoreClient::wait(const std::string& key, std::chrono::milliseconds timeout) {
    StoreRequest request;
    request.op = StoreOp::wait;
    request.key = key;
    request.number = timeout.count();
    StoreAnswer answer = connection_->ask(request, timeout);
    if (answer.status != StoreStatus::ok)
        throw CommError({"tcp.store_timeout", {{"key", key}, {"waited_ms", int64_t{timeout.count()}}}},
                        GlobalRank{-1});
    return std::move(answer.text);
}

int64_t StoreClient::add(const std::string& key, int64_t delta) {
    StoreRequest request;
    request.op = StoreOp::add;
    request.key = key;
    request.number = delta;
    return connection_->ask(request).number;
}

std::string StoreClient::compare_set(const std::string& key, const std::string& expected,
                                     const std::string& desired) {
    StoreRequest request;
    request.op = StoreOp::compare_set;
    request.key = key;
    request.value = expected;
    request.desired = desired;
    return connection_->ask(request).text;
}

std::vector<std::string> StoreClient::keys(const std::string& prefix) {
    StoreRequest request;
    request.op = StoreOp::keys;
    request.key = prefix;
    return connection_->ask(request).keys;
}

bool StoreClient::erase(const std::string& key) {
    StoreRequest request;
    request.op = StoreOp::erase;
    request.key = key;
    return connection_->ask(request).number != 0;
}

const std::string& StoreClient::address() const {
    return connection_->address();
}

std::string StoreClient::own_host() const {
    return connection_->host();
}

}  // namespace meshscope::backends::tcp
