// Runs close behind each other: no port of one stands in the way of the next.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace processes;
using program::content;
using program::Folder;

namespace {

std::string scenario_of(int steps) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n[train]\nsteps = " +
           std::to_string(steps) +
           "\nglobal_batch = 6\n[record]\nlevel = \"off\"\n[mesh]\nshape = [3]\nnames = [\"replicate\"]\n"
           "[parallel]\ndata = \"ddp\"\n";
}

int some_port() {
    const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0);
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    close(socket_);
    return ntohs(address.sin_port);
}

/// Whether somebody listens there: in the system's table of sockets, as asking it would be a connection.
bool listens(int port) {
    std::ostringstream local;
    local << "0100007F:" << std::uppercase << std::hex << std::setw(4) << std::setfill('0') << port;
    std::ifstream table("/proc/net/tcp");
    constexpr const char* kListening = "0A";
    for (std::string line; std::getline(table, line);) {
        std::istringstream words(line);
        std::string number, here, there, state;
        words >> number >> here >> there >> state;
        if (here == local.str() && state == kListening) return true;
    }
    return false;
}

/// A launcher whose ranks meet at a port that was asked for: rank 0 listens there.
std::vector<std::string> at_port(const std::string& scenario, int port) {
    return {"launch",
            "-n",
            "3",
            "--no-prefix",
            "--",
            meshscope::test::bin_folder() + "/meshscope",
            "run",
            scenario,
            "-q",
            "--init-method",
            "tcp://127.0.0.1:" + std::to_string(port)};
}

}  // namespace

/// MESHSCOPE_RUNS_IN_A_ROW says how many of each kind.
TEST_CASE("runs in a row, on ports of their own and on one and the same, never find an address in use") {
    const char* const wish = std::getenv("MESHSCOPE_RUNS_IN_A_ROW");
    const int runs = wish ? std::atoi(wish) : 10, port = some_port();
    const Folder folder;
    const std::string scenario = folder.write("s.toml", scenario_of(3)),
                      endless = folder.write("e.toml", scenario_of(1'000'000));
    for (int i = 0; i < runs; ++i) {
        INFO("run " << i);
        const auto own = program::run({"run", scenario, "-q", "--backend", "tcp"});
        CHECK(own.err == "");
        REQUIRE(own.exit_code == 0);
        const auto same = program::run(at_port(scenario, port));
        CHECK(same.err == "");
        REQUIRE(same.exit_code == 0);
        if (i % 5 != 4) continue;
        // One that is killed while rank 0 listens; the next begins as soon as its processes are gone.
        const std::string mark = folder.path.filename().string();
        Child killed(at_port(endless, port), folder.file("out"), folder.file("err"), {"TEST_MARK=" + mark});
        REQUIRE(within(60, [&] { return listens(port); }));
        killed.send(SIGKILL);
        killed.wait(60);
        REQUIRE(within(60, [&] { return having({{"TEST_MARK", mark}}).empty(); }));
    }
    if (wish) std::cout << runs << " of each kind in a row\n";
}
