#include "backends/tcp/store_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <thread>
#include <utility>

#include "backends/tcp/connection_acceptor.h"
#include "backends/tcp/limits.h"
#include "backends/tcp/store_protocol.h"
#include "core/base/cause.h"
#include "core/base/error.h"
#include "core/base/pack.h"
#include "core/base/start_thread.h"

namespace meshscope::backends::tcp {
namespace {

// A world's clients may all come at once; those who are crowded out try again.
constexpr std::size_t kMostStrangers = 64 + kSpareStrangers;
// An answer is at most kMostStoreBytes; a client that leaves more than that unread does not read at all.
constexpr std::size_t kMostUnread = 2 * kMostStoreBytes;

}  // namespace

class StoreServer::Service {
  public:
    explicit Service(const StoreServerOptions& options)
        : most_clients_(options.max_clients > 0 ? static_cast<std::size_t>(options.max_clients) : 1024),
          bind_(options.bind),
          log_(options.log),
          wake_(make_event()),
          acceptor_(
              listen(options), kMostStrangers, options.token, options.run_id,
              [this](const Hello& hello) { return judge(hello); },
              [this](Fd socket, const Hello&) { clients_.emplace_back(std::move(socket)); }, options.log) {
        thread_ = start_thread([this] { serve(); });
    }
    ~Service() {
        raise(wake_);
        thread_.join();
    }
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    uint16_t port() const { return port_; }
    std::string address() const { return Address{bind_, port_}.text(); }

  private:
    struct Waiting {
        uint64_t sequence = 0;
        std::string key;
        Deadline deadline;
    };
    struct Client {
        explicit Client(Fd s) : socket(std::move(s)) {}
        Fd socket;
        FrameCutter cutter{kMostStoreBytes};
        Buffer output;
        std::optional<Waiting> waiting;  ///< a client asks one thing at a time
    };

    Fd listen(const StoreServerOptions& options) {
        check_exposure(options.bind, options.token, options.run_id);
        Fd listener = listen_on({options.bind, options.port});
        port_ = port_of(listener);
        return listener;
    }

    Refusal judge(const Hello& hello) const {
        if (hello.kind != LinkKind::store) return Refusal::rank;
        return clients_.size() >= most_clients_ ? Refusal::full : Refusal::none;
    }

    void serve() {
        std::vector<pollfd> files;
        while (true) {
            files.assign(1, {wake_.get(), POLLIN, 0});
            Deadline next = acceptor_.next_deadline();
            for (const Client& client : clients_) {
                const bool unsent = !client.output.empty();
                files.push_back(
                    {client.socket.get(), static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN), 0});
                if (client.waiting) next = std::min(next, client.waiting->deadline);
            }
            const std::size_t n_clients = clients_.size();
            acceptor_.watch(files);
            ::poll(files.data(), files.size(), next == Deadline::max() ? -1 : ms_until(next));
            if (files[0].revents != 0) return;
            std::size_t at = 1;
            for (Client& client : clients_) {
                if (files[at++].revents != 0) hear(client);
                give_up_waiting(client);
            }
            acceptor_.serve(std::span(files).subspan(1 + n_clients));
            clients_.remove_if([](const Client& client) { return !client.socket.open(); });
        }
    }

    void hear(Client& client) {
        flush(client);
        std::array<std::byte, 65536> bytes;
        const ssize_t n =
            client.socket.open() ? ::recv(client.socket.get(), bytes.data(), bytes.size(), 0) : -1;
        if (n < 0 && client.socket.open() && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        if (n <= 0) return client.socket.close();
        client.cutter.push(ByteSpan(bytes).first(static_cast<std::size_t>(n)));
        while (client.socket.open()) {
            const std::optional<Frame> frame = client.cutter.next();
            if (!frame) break;
            on_frame(client, *frame);
        }
        if (client.cutter.fault() != FrameFault::none) drop(client, to_word(client.cutter.fault()));
    }

    void on_frame(Client& client, const Frame& frame) {
        const auto request =
            frame.header.type == FrameType::request ? decode_request(frame.payload) : std::nullopt;
        if (!request || client.waiting) return drop(client, "unexpected");
        const StoreAnswer answer = table_.apply(*request);
        if (request->op == StoreOp::wait && answer.status == StoreStatus::missing) {
            const auto most = std::chrono::milliseconds(std::clamp<int64_t>(request->number, 0, 86'400'000));
            client.waiting = Waiting{frame.header.sequence, request->key, Clock::now() + most};
            return;
        }
        reply(client, frame.header.sequence, answer);
        if (request->op == StoreOp::set && request->key == kRefusedKey) tell_refused(client, request->value);
        const bool may_have_set =
            request->op == StoreOp::set || request->op == StoreOp::add || request->op == StoreOp::compare_set;
        if (may_have_set) wake_waiting(request->key);
    }

    void tell_refused(const Client& client, const std::string& packed) const {
        if (!log_) return;
        try {
            Unpacker unpacker(ByteSpan(reinterpret_cast<const std::byte*>(packed.data()), packed.size()));
            const Message why = unpack_message(unpacker);
            unpacker.finish();
            log_(with_cause({"tcp.client_refused", {{"address", peer_address(client.socket)}}}, why));
        } catch (const Error&) {
            // No message of ours.
        }
    }

    void wake_waiting(const std::string& key) {
        for (Client& other : clients_) {
            if (!other.waiting || other.waiting->key != key) continue;
            StoreRequest get;
            get.key = key;
            const StoreAnswer answer = table_.apply(get);
            if (answer.status != StoreStatus::ok) return;
            const uint64_t sequence = other.waiting->sequence;
            other.waiting.reset();
            reply(other, sequence, answer);
        }
    }

    void give_up_waiting(Client& client) {
        if (!client.waiting || Clock::now() < client.waiting->deadline) return;
        const uint64_t sequence = client.waiting->sequence;
        client.waiting.reset();
        StoreAnswer late;
        late.status = StoreStatus::late;
        reply(client, sequence, late);
    }

    void reply(Client& client, uint64_t sequence, const StoreAnswer& answer) {
        append_frame(client.output, {.type = FrameType::answer, .sequence = sequence}, encode(answer));
        flush(client);
        if (client.output.size() > kMostUnread) drop(client, "too_slow");
    }

    void flush(Client& client) {
        if (client.socket.open() && !send_some(client.socket, client.output)) client.socket.close();
    }

    void drop(Client& client, const char* why) {
        if (!client.socket.open()) return;
        if (log_)
            log_({"tcp.client_dropped",
                  {{"address", peer_address(client.socket)}, {"reason", std::string(why)}}});
        client.socket.close();
    }

    std::size_t most_clients_;
    std::string bind_;
    Log log_;
    uint16_t port_ = 0;
    Fd wake_;
    std::list<Client> clients_;
    StoreTable table_;
    ConnectionAcceptor acceptor_;
    std::thread thread_;
};

StoreServer::StoreServer(const StoreServerOptions& options) : service_(std::make_unique<Service>(options)) {}
StoreServer::~StoreServer() = default;

uint16_t StoreServer::port() const {
    return service_->port();
}

std::string StoreServer::address() const {
    return service_->address();
}

}  // namespace meshscope::backends::tcp
