#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "tests/test.h"

namespace meshscope::test {

/// A port of 127.0.0.1 that the system gives to nobody else as long as this lives, and where nobody listens
/// until somebody does who asks for this number. (Linux lets a socket listen where another is only bound,
/// when both were opened with SO_REUSEADDR, as listen_on() does.)
class HeldPort {
  public:
    HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int yes = 1;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        REQUIRE(::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
        REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size) == 0);
        REQUIRE(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
        number_ = ntohs(address.sin_port);
    }
    HeldPort(const HeldPort&) = delete;
    HeldPort& operator=(const HeldPort&) = delete;
    ~HeldPort() { ::close(socket_); }

    uint16_t number() const { return number_; }
    std::string text() const { return std::to_string(number_); }

  private:
    int socket_;
    uint16_t number_ = 0;
};

}  // namespace meshscope::test
