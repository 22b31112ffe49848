#include "core/comm/transport.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/test.h"

using namespace meshscope;

namespace {

/// A rank that is a process: everything but what is asked here is not called.
class Alone final : public comm::Transport {
  public:
    Alone() : Transport({0}, 1) {}
    Ticket post(GlobalRank, comm::Channel, Bytes) override { return 0; }
    void receive_together(std::span<const comm::Expected>, comm::Channel, const ConsumeTogether&) override {}
    void wait(Ticket) override {}
    bool done(Ticket) override { return true; }
    void withdraw() noexcept override {}
    void give_up() noexcept override {}
};

}  // namespace

TEST_CASE("a rank that is a process dies by SIGKILL, which nothing in it can hold off") {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGTERM, SIG_IGN);
        Alone transport;
        comm::die(transport);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("channels for what travels beside tensors are apart from those of tensors") {
    for (const int32_t value : {0, 1, 2, 77}) {
        const comm::Channel channel{value};
        CHECK(channel.carries_tensors());
        CHECK_FALSE(channel.of_fingerprints().carries_tensors());
        CHECK_FALSE(channel.of_checksums().carries_tensors());
        CHECK(channel.of_checksums() != channel.of_fingerprints());
    }
    CHECK(comm::Channel{0}.of_fingerprints() != comm::Channel{1}.of_fingerprints());
}
