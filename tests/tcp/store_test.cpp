#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "backends/tcp/launch_token.h"
#include "backends/tcp/store_client.h"
#include "backends/tcp/store_server.h"
#include "core/base/error.h"
#include "tests/folder.h"
#include "tests/patience.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::backends::tcp;
using std::chrono::milliseconds;
using test::thrown_id;

namespace {

struct Store {
    Token token = Token::random();
    StoreServer server;

    Store() : server(options(token)) {}
    static StoreServerOptions options(const Token& token) {
        StoreServerOptions made;
        made.token = token;
        made.run_id = "run";
        made.log = [](const Message&) {};
        return made;
    }
    StoreClientOptions client() const { return {server.address(), token, "run", test::kGuard, test::kGuard}; }
};

}  // namespace

TEST_CASE("a store keeps what it is given until it is taken away") {
    Store store;
    StoreClient client(store.client());
    CHECK_FALSE(client.get("a").has_value());
    client.set("a", "1");
    client.set("b", std::string("\0\xff two", 6));
    client.set("a", "3");
    StoreClient other(store.client());
    CHECK(other.get("a") == "3");
    CHECK(other.get("b") == std::string("\0\xff two", 6));
    other.set("empty", "");
    CHECK(client.get("empty") == "");
    CHECK(client.erase("a"));
    CHECK_FALSE(client.erase("a"));
    CHECK_FALSE(client.get("a").has_value());
}

TEST_CASE("a store counts, compares before it sets, and lists by prefix") {
    Store store;
    StoreClient client(store.client());
    CHECK(client.add("n", 5) == 5);
    CHECK(client.add("n", -7) == -2);
    CHECK(client.get("n") == "-2");
    // PyTorch, Store.compare_set: sets when the value is the expected one, or the key is not there and "" is
    // expected; gives what is there then.
    CHECK(client.compare_set("c", "", "first") == "first");
    CHECK(client.compare_set("c", "other", "second") == "first");
    CHECK(client.compare_set("c", "first", "second") == "second");
    CHECK(client.compare_set("missing", "x", "y") == "");
    client.set("p/2", "");
    client.set("p/10", "");
    client.set("q/1", "");
    CHECK(client.keys("p/") == std::vector<std::string>{"p/10", "p/2"});
    CHECK(client.keys("").size() == 5);
    CHECK(client.keys("zzz").empty());
}

TEST_CASE("a wait ends when the key is set, by whatever call, or when its time is over") {
    Store store;
    for (const int how : {0, 1, 2}) {
        const std::string key = "late" + std::to_string(how);
        std::string got;
        std::thread waiting([&] { got = StoreClient(store.client()).wait(key, test::kGuard); });
        StoreClient client(store.client());
        std::this_thread::sleep_for(milliseconds(20));
        if (how == 0) client.set(key, "7");
        if (how == 1) client.add(key, 7);
        if (how == 2) client.compare_set(key, "", "7");
        waiting.join();
        CHECK(got == "7");
    }
    StoreClient client(store.client());
    const auto begin = std::chrono::steady_clock::now();
    CHECK(thrown_id<CommError>([&] { client.wait("never", milliseconds(60)); }) == "tcp.store_timeout");
    CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(60));
    client.set("never", "now");  // the connection is still good
    CHECK(client.wait("never", milliseconds(0)) == "now");
}

TEST_CASE("sixteen clients that add at the same time lose no count") {
    Store store;
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i)
        threads.emplace_back([&] {
            StoreClient client(store.client());
            for (int k = 0; k < 50; ++k) client.add("n", 1);
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(StoreClient(store.client()).get("n") == "800");
}

TEST_CASE("a store refuses what is beyond its limits and goes on") {
    Store store;
    StoreClient client(store.client());
    CHECK(thrown_id([&] { client.set(std::string(257, 'k'), ""); }) == "tcp.store_refused");
    CHECK(thrown_id([&] { client.set("k", std::string((64 << 10) + 1, 'v')); }) == "tcp.store_refused");
    client.set(std::string(256, 'k'), std::string(64 << 10, 'v'));
    client.set("word", "three");
    CHECK(thrown_id([&] { client.add("word", 1); }) == "tcp.store_refused");
    client.set("most", "9223372036854775807");
    CHECK(thrown_id([&] { client.add("most", 1); }) == "tcp.store_refused");
    // 64 MiB in all: 1023 values of 64 KiB fit beside the one above.
    const std::string value(64 << 10, 'v');
    int64_t stored = 0;
    CHECK(thrown_id([&] {
              for (; stored < 1100; ++stored) client.set("v" + std::to_string(stored), value);
          }) == "tcp.store_refused");
    CHECK(stored >= 1020);
    CHECK(stored <= 1023);
    CHECK(client.get("word") == "three");
}

TEST_CASE("a store lets nobody in who has another token or another run id") {
    Store store;
    StoreClientOptions wrong = store.client();
    wrong.connect = milliseconds(200);
    wrong.token = Token::random();
    CHECK(thrown_id<CommError>([&] { StoreClient client(wrong); }) == "tcp.cannot_connect");
    const auto begin = std::chrono::steady_clock::now();
    wrong.connect = test::kGuard;
    CHECK(thrown_id<InvalidArgument>([&] { StoreClient client(wrong); }) == "tcp.store_token_differs");
    CHECK(std::chrono::steady_clock::now() - begin <
          test::kGuard / 2);  // no use to wait, and few lines to log
    wrong = store.client();
    wrong.run_id = "another";
    CHECK(thrown_id<CommError>([&] { StoreClient client(wrong); }) == "tcp.cannot_connect");
    CHECK(std::chrono::steady_clock::now() - begin < test::kGuard / 2);  // it was told; no use to wait
    StoreClient right(store.client());
    right.set("a", "1");
}

TEST_CASE("a store that is gone is an error, not a hang") {
    auto store = std::make_unique<Store>();
    StoreClient client(store->client());
    client.set("a", "1");
    const StoreClientOptions options = store->client();
    store.reset();
    CHECK(thrown_id<CommError>([&] { client.get("a"); }) == "tcp.store_lost");
    CHECK(thrown_id<CommError>([&] { client.get("a"); }) == "tcp.store_lost");
    StoreClientOptions late = options;
    late.connect = milliseconds(100);
    CHECK(thrown_id<CommError>([&] { StoreClient again(late); }) == "tcp.cannot_connect");
}

TEST_CASE("listening beyond loopback needs a token") {
    StoreServerOptions options;
    options.bind = "0.0.0.0";
    CHECK(thrown_id<InvalidArgument>([&] { StoreServer server(options); }) == "tcp.token_required");
    options.bind = "::";
    CHECK(thrown_id<InvalidArgument>([&] { StoreServer server(options); }) == "tcp.token_required");
    options.bind = "127.0.0.1";
    StoreServer open(options);
    CHECK(open.port() != 0);
    options.bind = "0.0.0.0";
    options.token = Token::random();
    StoreServer guarded(options);
    StoreClient client(
        {"127.0.0.1:" + std::to_string(guarded.port()), options.token, "", test::kGuard, test::kGuard});
    client.set("a", "1");
    CHECK(client.own_host() == "127.0.0.1");
}

TEST_CASE("a port that is taken is named") {
    Store store;
    StoreServerOptions options;
    options.port = store.server.port();
    std::string words;
    try {
        StoreServer second(options);
    } catch (const IoError& error) {
        words = error.what();
    }
    CHECK(words.starts_with("tcp.address_taken(address=127.0.0.1:" + std::to_string(options.port)));
}

TEST_CASE("the same fixed port can be served again at once, a hundred times") {
    uint16_t port = 0;
    for (int i = 0; i < 100; ++i) {
        StoreServerOptions options;
        options.port = port;
        StoreServer server(options);
        port = server.port();
        StoreClient client({server.address(), {}, "", test::kGuard, test::kGuard});
        client.set("a", "1");
    }
}

TEST_CASE("a token is written and read as hex, and its file must be its owner's alone") {
    const test::Folder folder;
    const Token token = Token::random();
    CHECK(token.hex().size() == 64);
    CHECK(Token::from_hex(" " + token.hex() + "\n").hex() == token.hex());
    CHECK(Token::random().hex() != token.hex());
    for (const std::string& bad :
         {std::string(), token.hex().substr(1), token.hex() + "0", "g" + token.hex().substr(1)})
        CHECK(thrown_id<InvalidArgument>([&] { Token::from_hex(bad); }) == "tcp.token_malformed");

    const std::string path = folder.file("token");
    token.write_file(path);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
    CHECK(Token::from_file(path).hex() == token.hex());
    CHECK(thrown_id<IoError>([&] { token.write_file(path); }) == "file.cannot_write");  // never over another
    for (const mode_t mode : {0640, 0604, 0620, 0666, 0601}) {
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        CHECK(thrown_id<IoError>([&] { Token::from_file(path); }) == "tcp.token_file_permissions");
    }
    REQUIRE(::chmod(path.c_str(), 0400) == 0);
    CHECK(Token::from_file(path).hex() == token.hex());
    CHECK(thrown_id<IoError>([&] { Token::from_file(folder.file("none")); }) == "tcp.token_file_unreadable");
    CHECK(thrown_id<IoError>([&] { Token::from_file(folder.path.string()); }) == "tcp.token_file_unreadable");
}

TEST_CASE("the environment's token goes before the environment's file") {
    const test::Folder folder;
    const Token a = Token::random(), b = Token::random();
    b.write_file(folder.file("b"));
    ::unsetenv(kTokenVariable);
    ::unsetenv(kTokenFileVariable);
    CHECK_FALSE(token_of_environment().has_value());
    ::setenv(kTokenFileVariable, folder.file("b").c_str(), 1);
    CHECK(token_of_environment()->hex() == b.hex());
    ::setenv(kTokenVariable, a.hex().c_str(), 1);
    CHECK(token_of_environment()->hex() == a.hex());
    ::setenv(kTokenVariable, "short", 1);
    CHECK(thrown_id<InvalidArgument>([&] { token_of_environment(); }) == "tcp.token_malformed");
    ::unsetenv(kTokenVariable);
    ::unsetenv(kTokenFileVariable);
}

TEST_CASE("a proof depends on where its parts are cut") {
    const Token token = Token::random();
    const std::string ab = "ab", c = "c", a = "a", bc = "bc";
    const auto bytes = [](const std::string& s) { return std::as_bytes(std::span(s.data(), s.size())); };
    const std::array<std::span<const std::byte>, 2> one{bytes(ab), bytes(c)}, other{bytes(a), bytes(bc)};
    CHECK_FALSE(same_bytes(token.prove(one), token.prove(other)));
    CHECK(same_bytes(token.prove(one), token.prove(one)));
}

TEST_CASE("a proof is the HMAC-SHA256 that another implementation makes") {
    // Python: hmac.new(key, struct.pack("<Q", 8) + b"Hi There" + struct.pack("<Q", 0), "sha256").hexdigest()
    const Token token = Token::from_hex("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
    const std::string text = "Hi There";
    const std::array<std::span<const std::byte>, 2> parts{std::as_bytes(std::span(text.data(), text.size())),
                                                          {}};
    const Bytes32 proof = token.prove(parts);
    std::string hex;
    for (const std::byte b : proof) {
        hex += "0123456789abcdef"[std::to_integer<std::size_t>(b >> 4)];
        hex += "0123456789abcdef"[std::to_integer<std::size_t>(b & std::byte{15})];
    }
    CHECK(hex == "e16d5f32dc46b5a33228d46981715bcf9bd967b30ad59b34a912ca4b2da5c216");
}
