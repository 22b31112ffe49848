// Several agents: two launchers on one machine are two nodes. Membership by torchrun's rules.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/test.h"

using namespace processes;
using program::content;
using program::Folder;

namespace {

/// Words for a node of a job; node 0 chooses a port, `endpoint` is where the others find it.
std::vector<std::string> node(int rank, const std::string& nodes, const std::string& endpoint,
                              const std::vector<std::string>& options, const std::string& script) {
    std::vector<std::string> words{"launch",
                                   "-n",
                                   "2",
                                   "--nodes",
                                   nodes,
                                   "--node-rank",
                                   std::to_string(rank),
                                   "--rdzv-endpoint",
                                   endpoint,
                                   "--last-call",
                                   "0.5",
                                   "--no-prefix"};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* word : {"--", "sh", "-c"}) words.emplace_back(word);
    words.push_back(script);
    return words;
}

/// Where node 0 said that it serves the rendezvous.
std::string endpoint_of(const std::string& err_file) {
    std::string found;
    within(60, [&] {
        const std::string text = content(err_file);
        const std::size_t at = text.find("rendezvous at "), comma = text.find(',', at);
        if (at == std::string::npos || comma == std::string::npos) return false;
        found = text.substr(at + 14, comma - at - 14);
        return true;
    });
    return found;
}

}  // namespace

TEST_CASE("two launchers with one endpoint are two nodes of one job") {
    const Folder folder;
    const std::string script =
        "echo $RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE node $GROUP_RANK/$GROUP_WORLD_SIZE >> " +
        folder.file("lines");
    Child first(node(0, "2", "127.0.0.1:0", {}, script), folder.file("o0"), folder.file("e0"));
    const std::string endpoint = endpoint_of(folder.file("e0"));
    REQUIRE(endpoint != "");
    Child second(node(1, "2", endpoint, {}, script), folder.file("o1"), folder.file("e1"));
    CHECK(first.wait(60) == 0);
    CHECK(second.wait(60) == 0);
    CHECK(sorted_lines(content(folder.file("lines"))) ==
          std::vector<std::string>{"0/4 local 0/2 node 0/2", "1/4 local 1/2 node 0/2",
                                   "2/4 local 0/2 node 1/2", "3/4 local 1/2 node 1/2"});
}

TEST_CASE("a launcher that waits for other nodes stops when it is told to") {
    const Folder folder;
    Child first(node(0, "2", "127.0.0.1:0", {}, "true"), folder.file("o0"), folder.file("e0"));
    REQUIRE(endpoint_of(folder.file("e0")) != "");
    kill(first.pid(), SIGTERM);
    CHECK(first.wait(60) == 128 + SIGTERM);
    CHECK(content(folder.file("e0")).find("interrupted while waiting for other nodes") != std::string::npos);
}

TEST_CASE("a node whose output nobody reads is no lost one, and goes on when it is read") {
    const Folder folder;
    const std::string pager = folder.file("pager"), began = folder.file("began");
    REQUIRE(mkfifo(pager.c_str(), 0600) == 0);
    const int reader = open(pager.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    const std::string script = "echo >> " + began + "; test $LOCAL_RANK = 1 || yes | head -c 2000000";
    Child first(node(0, "2", "127.0.0.1:0", {}, script), folder.file("o0"), folder.file("e0"));
    const std::string endpoint = endpoint_of(folder.file("e0"));
    Child second(node(1, "2", endpoint, {}, script), pager, folder.file("e1"));
    REQUIRE(within(60, [&] { return content(began).size() == 4; }));
    std::this_thread::sleep_for(std::chrono::seconds(7));  // five of silence make a node a lost one
    int64_t bytes = 0;
    std::array<char, 65536> buffer{};
    std::thread pages([&] {
        pollfd one{reader, POLLIN, 0};
        while (bytes < 2'000'000 && poll(&one, 1, 60'000) > 0)
            bytes += std::max<ssize_t>(0, read(reader, buffer.data(), buffer.size()));
    });
    CHECK(first.wait(60) == 0);
    CHECK(second.wait(60) == 0);
    pages.join();
    close(reader);
    CHECK(bytes == 2'000'000);
    CHECK(content(began).size() == 4);  // in one round
    CHECK(content(folder.file("e1")) == "");
}

TEST_CASE("a worker that fails on one node restarts the workers of all nodes, and counts once") {
    const Folder folder;
    const std::string script = "echo $MESHSCOPE_ROUND $TORCHELASTIC_RESTART_COUNT $RANK >> " +
                               folder.file("lines") +
                               "; test $MESHSCOPE_ROUND = 1 && exit 0; test $RANK = 3 || sleep 60; "
                               // Its failure ends the others: not before each of them has written its line.
                               "while test $(wc -l < " +
                               folder.file("lines") + ") -lt 4; do sleep 0.02; done; exit 9";
    Child first(node(0, "2", "127.0.0.1:0", {"--max-restarts", "1"}, script), folder.file("o0"),
                folder.file("e0"));
    const std::string endpoint = endpoint_of(folder.file("e0"));
    Child second(node(1, "2", endpoint, {}, script), folder.file("o1"), folder.file("e1"));
    CHECK(first.wait(60) == 0);
    CHECK(second.wait(60) == 0);
    CHECK(sorted_lines(content(folder.file("lines"))) ==
          std::vector<std::string>{"0 0 0", "0 0 1", "0 0 2", "0 0 3", "1 1 0", "1 1 1", "1 1 2", "1 1 3"});
    for (const char* err : {"e0", "e1"}) {  // every node says why
        const std::string said = content(folder.file(err));
        INFO(said);
        CHECK(said.find("rank 3 (node 1) failed first, exit code 9") != std::string::npos);
        CHECK(said.find("restart 1 of at most 1") != std::string::npos);
    }
}

TEST_CASE("restarts used up on another node end all nodes with the first failure's exit code") {
    const Folder folder;
    const std::string script = "test $RANK = 1 && exit 9; sleep 60";
    Child first(node(0, "2", "127.0.0.1:0", {}, script), folder.file("o0"), folder.file("e0"));
    Child second(node(1, "2", endpoint_of(folder.file("e0")), {"--report", folder.file("r1")}, script),
                 folder.file("o1"), folder.file("e1"));
    CHECK(first.wait(60) == 9);
    CHECK(second.wait(60) == 9);
    CHECK(content(folder.file("e1")).find("rank 1 (node 0) failed first, exit code 9") != std::string::npos);
    CHECK(content(folder.file("r1")).find("\"exit_code\": 9") != std::string::npos);
}

TEST_CASE("nodes that come and go change the world size and count as no restart") {
    const Folder folder;
    // Each round writes its size; the job ends when somebody makes the file "end".
    const std::string script =
        "echo $MESHSCOPE_ROUND size $WORLD_SIZE restarts $TORCHELASTIC_RESTART_COUNT >> " +
        folder.file("lines") + "; while ! test -e " + folder.file("end") + "; do sleep 0.05; done";
    const auto lines = [&] { return sorted_lines(content(folder.file("lines"))); };
    Child first(node(0, "1:2", "127.0.0.1:0", {}, script), folder.file("o0"), folder.file("e0"));
    const std::string endpoint = endpoint_of(folder.file("e0"));
    REQUIRE(within(60, [&] { return lines().size() == 2; }));  // alone after the last call
    Child second(node(1, "1:2", endpoint, {}, script), folder.file("o1"), folder.file("e1"));
    REQUIRE(within(60, [&] { return lines().size() == 6; }));
    second.send(SIGKILL);  // its workers go with it; its silence is noticed
    second.wait(60);
    REQUIRE(within(60, [&] { return lines().size() == 8; }));
    Child third(node(1, "1:2", endpoint, {}, script), folder.file("o2"), folder.file("e2"));
    REQUIRE(within(60, [&] { return lines().size() == 12; }));
    third.send(SIGTERM);
    CHECK(third.wait(60) == 128 + SIGTERM);
    REQUIRE(within(60, [&] { return lines().size() == 14; }));
    std::ofstream(folder.file("end")) << "";
    CHECK(first.wait(60) == 0);
    const std::string said = content(folder.file("e0"));
    INFO(said);
    for (const char* words :
         {"another node is joining", "node 1 has sent nothing for 5 s", "node 1 was told to stop"})
        CHECK(said.find(words) != std::string::npos);
    CHECK(lines() ==
          std::vector<std::string>{"0 size 2 restarts 0", "0 size 2 restarts 0", "1 size 4 restarts 0",
                                   "1 size 4 restarts 0", "1 size 4 restarts 0", "1 size 4 restarts 0",
                                   "2 size 2 restarts 0", "2 size 2 restarts 0", "3 size 4 restarts 0",
                                   "3 size 4 restarts 0", "3 size 4 restarts 0", "3 size 4 restarts 0",
                                   "4 size 2 restarts 0", "4 size 2 restarts 0"});
}

TEST_CASE("a second node with the same --node-rank is refused, and the job goes on") {
    const Folder folder;
    const std::string end = folder.file("end"), script = "while ! test -e " + end + "; do sleep 0.05; done";
    Child first(node(0, "3", "127.0.0.1:0", {}, script), folder.file("o0"), folder.file("e0"));
    const std::string endpoint = endpoint_of(folder.file("e0"));
    const auto refused = [&] {
        const auto twin = program::run(node(1, "3", endpoint, {}, script));
        INFO(twin.err);
        CHECK(twin.exit_code == 65);
        CHECK(twin.err.find("another node, at 127.0.0.1, has --node-rank 1 already") != std::string::npos);
    };
    // It must be the second that is refused: the first says that it is there.
    Child second(node(1, "3", endpoint, {}, "echo began; " + script), folder.file("o1"), folder.file("e1"));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    refused();  // while others are waited for
    Child third(node(2, "3", endpoint, {}, script), folder.file("o2"), folder.file("e2"));
    REQUIRE(within(60, [&] { return content(folder.file("o1")) == "began\nbegan\n"; }));
    refused();  // while they run
    std::ofstream(end) << "";
    CHECK(first.wait(60) == 0);
    CHECK(second.wait(60) == 0);
    CHECK(third.wait(60) == 0);
    CHECK(content(folder.file("e1")) == "");
    // Node 0 says whom it refused, each time.
    const std::string said = content(folder.file("e0"));
    INFO(said);
    const std::string why = " was refused, and told: another node, at 127.0.0.1, has --node-rank 1 already";
    CHECK(said.find(why) != std::string::npos);
    CHECK(said.find(why) != said.rfind(why));
}

TEST_CASE("a second node 0 is told that another one serves the meeting place") {
    const Folder folder;
    Child first(node(0, "2", "127.0.0.1:0", {}, "true"), folder.file("o0"), folder.file("e0"));
    const std::string endpoint = endpoint_of(folder.file("e0"));
    Child second(node(0, "2", endpoint, {}, "true"), folder.file("o1"), folder.file("e1"));
    CHECK(second.wait(30) == 74);
    const std::string said = content(folder.file("e1"));
    INFO(said);
    CHECK(said.find(endpoint +
                    ", where the nodes are to meet (--rdzv-endpoint), is taken: by another node with "
                    "--node-rank 0") != std::string::npos);
    first.send(SIGTERM);
    CHECK(first.wait(30) == 128 + SIGTERM);
}

TEST_CASE("nodes say what they wait for after five seconds, and give up after --rdzv-timeout") {
    const Folder folder;
    // Kinds of waiting at once, since each takes its time: for a leader, for nodes, with others, for room.
    const auto started = [&](const char* name, const std::vector<std::string>& words) {
        return std::make_unique<Child>(words, folder.file(name), folder.file(std::string(name) + "-err"));
    };
    const std::vector<std::string> patience{"--rdzv-timeout", "6"};
    const auto orphan = started("orphan", node(1, "2", "127.0.0.1:1", patience, "true"));
    const auto lonely = started("lonely", node(0, "2", "127.0.0.1:0", patience, "true"));
    const auto waiting = started("waiting", node(0, "3", "127.0.0.1:0", {"--rdzv-timeout", "8"}, "true"));
    const auto joined = started("joined", node(1, "3", endpoint_of(folder.file("waiting-err")), {}, "true"));
    const std::string until = "until test -e " + folder.file("over") + "; do sleep 0.05; done";
    const auto leader = started("leader", node(0, "2", "127.0.0.1:0", {}, "echo; " + until));
    const std::string endpoint = endpoint_of(folder.file("leader-err"));
    const auto member = started("member", node(1, "2", endpoint, {}, until));
    REQUIRE(within(30, [&] { return !content(folder.file("leader")).empty(); }));
    const auto guest = started("guest", node(2, "2", endpoint, patience, "true"));

    const auto said = [&](const char* name) { return content(folder.file(std::string(name) + "-err")); };
    CHECK(orphan->wait(30) == 75);
    INFO(said("orphan"));
    CHECK(said("orphan").find("no connection to the rendezvous at 127.0.0.1:1 after 3") != std::string::npos);
    CHECK(said("orphan").find("no connection to the store at 127.0.0.1:1 within 6") != std::string::npos);
    CHECK(lonely->wait(30) == 75);
    INFO(said("lonely"));
    for (const char* words : {"1 of at least 2 nodes has joined at 127.0.0.1:", " after 3",
                              "only 1 of at least 2 nodes joined at 127.0.0.1:", " within 6"})
        CHECK(said("lonely").find(words) != std::string::npos);
    // Twice: while it waits, and at the end.
    const std::string missing = "missing --node-rank: ";
    CHECK(said("lonely").find(missing) != said("lonely").rfind(missing));
    CHECK(waiting->wait(30) == 75);
    CHECK(joined->wait(30) == 75);
    INFO(said("joined"));
    CHECK(said("joined").find("2 of at least 3 nodes have joined; missing --node-rank: 2") !=
          std::string::npos);
    CHECK(guest->wait(30) == 75);
    INFO(said("guest"));
    CHECK(said("guest").find("the job has its 2 nodes (--nodes), so this one has waited 3") !=
          std::string::npos);
    CHECK(said("guest").find("the job already has its 2 nodes") != std::string::npos);
    CHECK(said("leader").find(" was refused, and told: the job already has its 2 nodes") !=
          std::string::npos);
    folder.write("over", "");
    CHECK(leader->wait(30) == 0);
    CHECK(member->wait(30) == 0);
}

TEST_CASE("a worker that lost its peer with the peer's node used up no restart, and another node may come") {
    const Folder folder;
    const std::string gone = folder.file("gone");
    // As meshscope run does: it sees its peer's end long before the node counts as gone.
    const std::string script =
        "test $MESHSCOPE_ROUND = 0 || exit 0; echo >> " + folder.file("began") + "; until test -e " + gone +
        R"(; do sleep 0.02; done; echo '{"message":{"message":"rank 2 is gone"},"meshscope":{"id":)"
        R"("comm.peer_lost","exit_code":75,"time_ns":5}}' > $TORCHELASTIC_ERROR_FILE; exit 75)";
    Child first(node(0, "2", "127.0.0.1:0", {"--max-restarts", "0"}, script), folder.file("o0"),
                folder.file("e0"));
    const std::string endpoint = endpoint_of(folder.file("e0"));
    auto second =
        std::make_unique<Child>(node(1, "2", endpoint, {}, script), folder.file("o1"), folder.file("e1"));
    REQUIRE(within(60, [&] { return content(folder.file("began")).size() == 4; }));
    second->send(SIGKILL);
    second->wait(10);
    folder.write("gone", "");
    Child third(node(1, "2", endpoint, {}, script), folder.file("o2"), folder.file("e2"));
    CHECK(third.wait(60) == 0);
    CHECK(first.wait(60) == 0);
    const std::string said = content(folder.file("e0"));
    INFO(said);
    CHECK(said.find("node 1 has sent nothing for 5 s") != std::string::npos);
    CHECK(said.find(" (node 0) ended after it, exit code 75: rank 2 is gone") != std::string::npos);
    CHECK(said.find("failed first") == std::string::npos);
    CHECK(said.find("restarts so far: 0 of at most 0; this one does not count") != std::string::npos);
    CHECK(said.find("restart 0 of") == std::string::npos);
}

TEST_CASE("a node that starts another number of workers is refused, and the job goes on without it") {
    const Folder folder;
    Child first(node(0, "2", "127.0.0.1:0", {}, "true"), folder.file("o0"), folder.file("e0"));
    const std::string endpoint = endpoint_of(folder.file("e0"));
    std::vector<std::string> words = node(1, "2", endpoint, {}, "true");
    words[2] = "3";
    Child other(words, folder.file("o1"), folder.file("e1"));
    CHECK(other.wait(30) == 65);
    INFO(content(folder.file("e1")));
    for (const char* name : {"e1", "e0"})
        CHECK(content(folder.file(name)).find("node 0 starts 2 processes, this one 3") != std::string::npos);
    Child second(node(1, "2", endpoint, {}, "true"), folder.file("o2"), folder.file("e2"));
    CHECK(second.wait(60) == 0);
    CHECK(first.wait(60) == 0);
}

TEST_CASE("a leader that cannot be reached where it says that the nodes meet ends at once, and says why") {
    const Folder folder;
    // It listens on 127.0.0.1 alone, and all of 127.0.0.0/8 is this machine.
    Child leader(node(0, "2", "127.0.0.2:0", {}, "true"), folder.file("o"), folder.file("e"));
    CHECK(leader.wait(30) == 65);
    const std::string said = content(folder.file("e"));
    INFO(said);
    CHECK(said.find("does not reach itself at 127.0.0.2:") != std::string::npos);
    CHECK(said.find("since it listens on 127.0.0.1") != std::string::npos);
}
