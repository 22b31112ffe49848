#include "backends/tcp/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "core/base/error.h"

namespace meshscope::backends::tcp {
namespace {

struct FreeAddresses {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(const Address& address, bool to_listen, std::string& reason) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = to_listen ? AI_PASSIVE | AI_NUMERICSERV : AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const std::string port = std::to_string(address.port);
    const int error =
        ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), port.c_str(), &hints, &list);
    if (error != 0) reason = error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error);
    return Addresses(error == 0 ? list : nullptr);
}

Address address_of(const sockaddr_storage& storage) {
    char text[INET6_ADDRSTRLEN] = "?";
    Address address;
    if (storage.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
        ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
        address.port = ntohs(v4.sin_port);
    } else if (storage.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
        ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
        address.port = ntohs(v6.sin6_port);
    }
    address.host = text;
    return address;
}

Address own_address(const Fd& socket) {
    sockaddr_storage storage{};
    socklen_t n = sizeof storage;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &n);
    return address_of(storage);
}

std::optional<Address> address_of_peer(const Fd& socket) {
    sockaddr_storage storage{};
    socklen_t n = sizeof storage;
    if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&storage), &n) != 0) return std::nullopt;
    return address_of(storage);
}

bool wait_for(const Fd& socket, short events, Deadline deadline) {
    pollfd one{socket.get(), events, 0};
    while (true) {
        const int n = ::poll(&one, 1, ms_until(deadline));
        if (n > 0) return true;
        if (n == 0 || errno != EINTR) return false;
    }
}

}  // namespace

void Fd::close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::string Address::text() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Address parse_address(const std::string& text) {
    const auto colon = text.rfind(':');
    Address address;
    bool good = colon != std::string::npos && colon > 0;
    if (good) {
        address.host = text.substr(0, colon);
        const bool bracketed = address.host.front() == '[' && address.host.back() == ']';
        if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
        good = bracketed || address.host.find(':') == std::string::npos;
        const char* const begin = text.data() + colon + 1;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(begin, end, address.port);
        good = good && error == std::errc{} && stop == end && begin != end;
    }
    if (!good) throw InvalidArgument({"tcp.address_malformed", {{"address", text}}});
    return address;
}

bool is_loopback(const std::string& host) {
    if (host == "localhost") return true;
    in_addr v4{};
    if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127U;
    in6_addr v6{};
    return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool is_any(const std::string& host) {
    return host.empty() || host == "0.0.0.0" || host == "::";
}

Fd listen_on(const Address& address) {
    std::string reason = "?";
    bool taken = false;
    const Addresses list = resolve(address, true, reason);
    for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
        Fd socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        const int yes = 1;
        if (socket.open() && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
            ::bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 && ::listen(socket.get(), 128) == 0)
            return socket;
        taken = errno == EADDRINUSE;
        reason = std::strerror(errno);
    }
    if (taken) throw IoError({"tcp.address_taken", {{"address", address.text()}}});
    throw IoError({"tcp.cannot_listen", {{"address", address.text()}, {"reason", reason}}});
}

uint16_t port_of(const Fd& socket) {
    return own_address(socket).port;
}

std::string own_host(const Fd& socket) {
    return own_address(socket).host;
}

std::string peer_address(const Fd& socket) {
    const std::optional<Address> peer = address_of_peer(socket);
    return peer ? peer->text() : "?";
}

bool is_near(const Fd& socket) {
    const std::optional<Address> peer = address_of_peer(socket);
    return peer && peer->host == own_host(socket);
}

Fd connect_to(const Address& address, Deadline deadline, std::string& reason) {
    const Addresses list = resolve(address, false, reason);
    for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
        Fd socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!socket.open()) {
            reason = std::strerror(errno);
            continue;
        }
        int error = ::connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
        if (error == EINPROGRESS) {
            socklen_t n = sizeof error;
            if (!wait_for(socket, POLLOUT, deadline))
                error = ETIMEDOUT;
            else
                ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &n);
        }
        // On loopback a socket can be given the very port it calls, and then reaches itself.
        if (error == 0 && own_address(socket).text() == peer_address(socket)) error = ECONNREFUSED;
        if (error == 0) {
            tune(socket);
            return socket;
        }
        reason = std::strerror(error);
    }
    return {};
}

Fd accept_one(const Fd& listener, int& error) {
    Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    error = socket.open() ? 0 : errno;
    if (socket.open()) tune(socket);
    return socket;
}

bool send_some(const Fd& socket, Buffer& output) {
    std::size_t sent = 0;
    bool broken = false;
    while (sent < output.size()) {
        const ssize_t n = ::send(socket.get(), output.data() + sent, output.size() - sent, MSG_NOSIGNAL);
        if (n > 0) {
            sent += static_cast<std::size_t>(n);
        } else if (errno != EINTR) {
            broken = errno != EAGAIN && errno != EWOULDBLOCK;
            break;
        }
    }
    output.erase(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(sent));
    return !broken;
}

void tune(const Fd& socket) {
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Fd make_event() {
    Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event.open()) throw IoError({"tcp.no_descriptor", {{"reason", std::string(std::strerror(errno))}}});
    return event;
}

void raise(const Fd& event) noexcept {
    const uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(event.get(), &one, sizeof one);
}

void lower(const Fd& event) noexcept {
    uint64_t count = 0;
    [[maybe_unused]] const auto n = ::read(event.get(), &count, sizeof count);
}

Transfer read_exactly(const Fd& socket, std::span<std::byte> bytes, Deadline deadline) {
    while (!bytes.empty()) {
        const ssize_t n = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
        if (n > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(socket, POLLIN, deadline)) return Transfer::late;
        } else if (n == 0 || errno != EINTR) {
            return Transfer::closed;
        }
        if (!bytes.empty() && Clock::now() >= deadline) return Transfer::late;
    }
    return Transfer::done;
}

Transfer write_all(const Fd& socket, ByteSpan bytes, Deadline deadline) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(socket, POLLOUT, deadline)) return Transfer::late;
        } else if (errno != EINTR) {
            return Transfer::closed;
        }
        if (!bytes.empty() && Clock::now() >= deadline) return Transfer::late;
    }
    return Transfer::done;
}

int ms_until(Deadline deadline) {
    const auto left = deadline - Clock::now();
    if (left <= Clock::duration::zero()) return 0;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    return static_cast<int>(std::min<int64_t>(ms, 86'400'000));
}

}  // namespace meshscope::backends::tcp
