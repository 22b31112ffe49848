// Peers whose welcome comes too late: they gave up, and call again.
#include <thread>

#include "backends/tcp/connection_acceptor.h"
#include "backends/tcp/heartbeat_thread.h"
#include "tests/patience.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::backends::tcp;
using meshscope::test::kGuard;
using std::chrono::milliseconds;

namespace {

/// Rank 0 of two, which rank 1 calls.
struct Called {
    Token token = Token::random();
    WorldStatus world_status{0};
    uint16_t port = 0;
    std::unique_ptr<HeartbeatThread> heartbeat;

    Called() {
        Fd listener = listen_on({"127.0.0.1", 0});
        port = port_of(listener);
        heartbeat = std::make_unique<HeartbeatThread>(
            HeartbeatThread::Setup{0, 2, 0, "run", token, milliseconds(10'000), {}}, std::move(listener),
            world_status);
    }
    Hello hello(LinkKind kind) const {
        Hello made;
        made.kind = kind;
        made.from = 1;
        made.to = 0;
        made.world_size = 2;
        made.run_id = "run";
        made.nonce = random_bytes();
        return made;
    }
    Fd connect() const {
        std::string reason;
        Fd socket = connect_to({"127.0.0.1", port}, Clock::now() + kGuard, reason);
        REQUIRE(socket.open());
        return socket;
    }
    /// A call that is let in.
    Fd call(LinkKind kind) const {
        Fd socket = connect();
        REQUIRE(shake_hands(socket, token, hello(kind), Clock::now() + kGuard) == Refusal::none);
        return socket;
    }
    /// A call whose caller says all of its part and is gone before the welcome comes.
    void call_and_give_up(LinkKind kind) const {
        const Fd socket = connect();
        ClientHandshake handshake(token, hello(kind));
        REQUIRE(write_all(socket, handshake.take_output(), Clock::now() + kGuard) == Transfer::done);
        HeaderBytes header{};
        Frame challenge;
        REQUIRE(read_exactly(socket, header, Clock::now() + kGuard) == Transfer::done);
        REQUIRE(decode(header, challenge.header) == FrameFault::none);
        challenge.payload.resize(challenge.header.length);
        REQUIRE(read_exactly(socket, challenge.payload, Clock::now() + kGuard) == Transfer::done);
        handshake.on_frame(challenge);
        REQUIRE(write_all(socket, handshake.take_output(), Clock::now() + kGuard) == Transfer::done);
    }
    std::vector<int32_t> missing_after(milliseconds time) const {
        return heartbeat->await_peers(Clock::now() + time);
    }
};

/// What a caller says when it has its welcome on this link, and again when it has it on both.
void say_word(const Fd& control) {
    Buffer beat;
    append_frame(beat, {.type = FrameType::beat});
    REQUIRE(write_all(control, beat, Clock::now() + kGuard) == Transfer::done);
}

}  // namespace

TEST_CASE("a caller whose welcome came too late calls again, and is let in") {
    for (const LinkKind late : {LinkKind::control, LinkKind::data}) {
        Called rank;
        Fd control;
        if (late == LinkKind::data) say_word(control = rank.call(LinkKind::control));
        rank.call_and_give_up(late);
        CHECK(rank.missing_after(milliseconds(50)) == std::vector<int32_t>{1});
        CHECK_FALSE(rank.world_status.ended());
        if (late == LinkKind::control) say_word(control = rank.call(LinkKind::control));
        const Fd data = rank.call(LinkKind::data);
        CHECK(rank.missing_after(milliseconds(50)) == std::vector<int32_t>{1});
        say_word(control);
        CHECK(rank.missing_after(kGuard).empty());
        CHECK_FALSE(rank.world_status.ended());
        CHECK(rank.heartbeat->take_data_links()[1].open());
    }
}

TEST_CASE("a caller that is gone after its first word is lost, whether it has both links or not") {
    for (const bool has_both : {false, true}) {
        Called rank;
        {
            const Fd control = rank.call(LinkKind::control);
            say_word(control);
            Fd data;
            if (has_both) {
                data = rank.call(LinkKind::data);
                say_word(control);
                CHECK(rank.missing_after(kGuard).empty());
            }
        }
        rank.world_status.hear_out();
        const auto until = Clock::now() + kGuard;
        while (!rank.world_status.ended() && Clock::now() < until)
            std::this_thread::sleep_for(milliseconds(1));
        CHECK(rank.world_status.cause().message.id == "comm.peer_lost");
    }
}

TEST_CASE("a second caller of one rank is refused while the first is there") {
    Called rank;
    const Fd control = rank.call(LinkKind::control);
    const Fd again = rank.connect();
    CHECK(shake_hands(again, rank.token, rank.hello(LinkKind::control), Clock::now() + kGuard) ==
          Refusal::duplicate);
}
