// A rank's standard error that nobody reads: what it has to say of strangers must not hold up the job.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tests/cli/program.h"
#include "tests/held_port.h"
#include "tests/launch/processes.h"
#include "tests/test.h"

namespace {

sockaddr_in loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// Says something that is no protocol of ours, and waits until it is sent away; false when nobody listens.
bool is_sent_away(uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(port);
    bool ended = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const std::string words = "GET / HTTP/1.0\r\n\r\n";
    if (ended) ended = ::send(socket, words.data(), words.size(), MSG_NOSIGNAL) > 0;
    const timeval most{5, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    char byte = 0;
    if (ended) ended = ::recv(socket, &byte, 1, 0) <= 0;
    ::close(socket);
    return ended;
}

}  // namespace

TEST_CASE("strangers whose refusal nobody reads do not keep the ranks from joining") {
    const program::Folder folder;
    const std::string scenario = folder.write(
        "s.toml",
        "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 8\n[mesh]\nshape = "
        "[2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n");
    const std::string unread = folder.file("err");
    REQUIRE(::mkfifo(unread.c_str(), 0600) == 0);
    const int full = ::open(unread.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const std::array<char, 4096> bytes{};
    while (::write(full, bytes.data(), bytes.size()) > 0) continue;
    const meshscope::test::HeldPort held;
    const uint16_t port = held.number();
    const auto place = [&](int rank) {
        const std::string text = std::to_string(rank);
        return std::vector<std::string>{"RANK=" + text,          "LOCAL_RANK=" + text,
                                        "WORLD_SIZE=2",          "LOCAL_WORLD_SIZE=2",
                                        "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port)};
    };
    processes::Child first({"run", scenario, "--backend", "tcp", "-q"}, folder.file("out"), unread, place(0));
    for (int i = 0; i < 3; ++i) CHECK(processes::within(20, [&] { return is_sent_away(port); }));
    processes::Child second({"run", scenario, "--backend", "tcp", "-q"}, folder.file("out1"),
                            folder.file("err1"), place(1));
    CHECK(second.wait(30) == 0);
    CHECK(first.wait(10) == 0);
    ::close(full);
}
