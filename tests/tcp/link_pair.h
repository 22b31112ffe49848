#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backends/tcp/link.h"

#include "tests/test.h"

/// Two data links on one pair of sockets, moved by hand: no thread, no time.
namespace meshscope::backends::tcp {

inline constexpr comm::Channel kChannel{3};
inline constexpr std::size_t kLong = std::size_t{8} << 20;  // more than a socket holds

inline Buffer pattern(std::size_t n) {
    Buffer bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 251);
    return bytes;
}

struct Pair {
    RoomPool rooms;
    std::unique_ptr<Link> a, b;

    explicit Pair(bool near = false) {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
        a = std::make_unique<Link>(Fd(ends[0]), 1, rooms, near);
        b = std::make_unique<Link>(Fd(ends[1]), 0, rooms, near);
    }
    void move_all() {
        while (a->pump() | b->pump()) {
        }
    }
};

inline Outgoing outgoing(ByteSpan data) {
    Outgoing out;
    out.channel = kChannel;
    out.data = data;
    return out;
}

/// A long message that a near peer was offered and has not asked for.
struct Offered {
    Pair pair{true};
    const Buffer sent = pattern(kLong);
    Outgoing out = outgoing(sent);

    Offered() {
        pair.a->post(out);
        pair.move_all();
        REQUIRE(out.state == Outgoing::State::announced);
    }
};

}  // namespace meshscope::backends::tcp
