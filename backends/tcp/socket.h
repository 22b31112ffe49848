#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "backends/tcp/bytes.h"

namespace meshscope::backends::tcp {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// An open file of the system, closed with the object. All of ours are close-on-exec.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other) {
            close();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~Fd() { close(); }
    int get() const { return fd_; }
    bool open() const { return fd_ >= 0; }
    void close() noexcept;

  private:
    int fd_ = -1;
};

/// A host and a port, as "host:port" or "[::1]:port".
struct Address {
    std::string host;
    uint16_t port = 0;
    std::string text() const;
};

/// Throws InvalidArgument "tcp.address_malformed" {address}.
Address parse_address(const std::string& text);
/// 127.0.0.0/8, ::1 and "localhost": what no other machine can reach.
bool is_loopback(const std::string& host);
/// 0.0.0.0, :: and "": all of this machine's addresses.
bool is_any(const std::string& host);

/// A non-blocking listener; port 0 lets the system choose. SO_REUSEADDR, so that a port whose last
/// connections are still winding down can be used at once. Throws IoError "tcp.address_taken" {address} where
/// somebody listens there already, "tcp.cannot_listen" {address, reason}.
Fd listen_on(const Address& address);
uint16_t port_of(const Fd& socket);
/// This side's, and the other side's address of a connection; "?" when it is gone.
std::string own_host(const Fd& socket);
std::string peer_address(const Fd& socket);
/// Whether both ends have one host's address: on this machine, or at least said to be (a tunnel's end is).
bool is_near(const Fd& socket);

/// A connected, non-blocking socket, or one that is not open, with the reason.
Fd connect_to(const Address& address, Deadline deadline, std::string& reason);
/// Takes one connection; one that is not open, and errno's number, when none is there or it cannot be taken.
Fd accept_one(const Fd& listener, int& error);
/// Sends of `output` what the socket takes now without waiting, and removes that; false when the connection
/// is broken.
bool send_some(const Fd& socket, Buffer& output);
/// No delay of small packets. The buffers are left to the kernel, which makes them as large as a link can
/// use; every fixed size from 256 KiB to 4 MiB was slower.
void tune(const Fd& socket);

/// An event that polls as readable once it was raised.
Fd make_event();
void raise(const Fd& event) noexcept;
void lower(const Fd& event) noexcept;

/// How reading or writing all of something ended.
enum class Transfer : uint8_t { done, closed, late };
/// Both wait; for small exchanges outside the fast path.
Transfer read_exactly(const Fd& socket, std::span<std::byte> bytes, Deadline deadline);
Transfer write_all(const Fd& socket, ByteSpan bytes, Deadline deadline);

/// Milliseconds from now until `deadline`, rounded up, 0 … a day: what poll takes.
int ms_until(Deadline deadline);

}  // namespace meshscope::backends::tcp
