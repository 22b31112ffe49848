#include "backends/tcp/handshake.h"

#include "tests/test.h"

using namespace meshscope::backends::tcp;

namespace {

using Server = ServerHandshake;
using Client = ClientHandshake;

Hello hello_of(int32_t from) {
    Hello hello;
    hello.kind = LinkKind::data;
    hello.from = from;
    hello.to = 0;
    hello.world_size = 4;
    hello.run_id = "run";
    hello.nonce = random_bytes();
    return hello;
}

Frame only_frame(const Buffer& bytes) {
    FrameCutter cutter(kMostHandshakeBytes);
    cutter.push(bytes);
    return cutter.next().value();
}

/// Lets both talk until neither has anything to say; gives all that the client sent.
Buffer talk(Client& client, Server& server) {
    Buffer sent;
    while (true) {
        const Buffer to_server = client.take_output();
        if (to_server.empty()) return sent;
        sent.insert(sent.end(), to_server.begin(), to_server.end());
        server.push(to_server);
        const Buffer to_client = server.take_output();
        if (!to_client.empty()) client.on_frame(only_frame(to_client));
    }
}

Refusal nobody(const Hello&) {
    return Refusal::none;
}

}  // namespace

TEST_CASE("two that share a token come together, and the server knows who came") {
    const Token token = Token::random();
    Server server(token, random_bytes(), nobody);
    Client client(token, hello_of(3));
    talk(client, server);
    CHECK(server.state() == Server::State::accepted);
    CHECK(client.state() == Client::State::accepted);
    CHECK(server.hello().from == 3);
    CHECK(server.hello().run_id == "run");
}

TEST_CASE("a client without the token learns nothing and is refused") {
    const Token token = Token::random();
    for (const Token& other : {Token::random(), Token()}) {
        Server server(token, random_bytes(), nobody);
        Client client(other, hello_of(1));
        talk(client, server);
        CHECK(server.state() == Server::State::refused);
        CHECK(server.refusal() == Refusal::wrong_token);
        CHECK(client.state() == Client::State::hearing);  // nobody answered its proof
    }
}

TEST_CASE("a server without the token is not believed") {
    const Token token = Token::random();
    Client client(token, hello_of(1));
    client.take_output();
    Buffer bytes;
    append_frame(bytes, {.type = FrameType::challenge}, random_bytes());
    client.on_frame(only_frame(bytes));
    const Frame proof = only_frame(client.take_output());
    // The most it can do is to send back what it was given.
    bytes.clear();
    append_frame(bytes, {.type = FrameType::welcome}, proof.payload);
    client.on_frame(only_frame(bytes));
    CHECK(client.state() == Client::State::refused);
    CHECK(client.refusal() == Refusal::wrong_token);
}

TEST_CASE("what one client sent is of no use to another") {
    const Token token = Token::random();
    Server first(token, random_bytes(), nobody);
    Client client(token, hello_of(2));
    const Buffer recorded = talk(client, first);
    Server second(token, random_bytes(), nobody);
    second.push(recorded);
    CHECK(second.refusal() == Refusal::wrong_token);
}

TEST_CASE("a hello that was changed on the way does not fit its proof") {
    const Token token = Token::random();
    Server server(token, random_bytes(), nobody);
    Client client(token, hello_of(2));
    client.take_output();
    Buffer bytes;
    append_frame(bytes, {.type = FrameType::hello}, encode_hello(hello_of(1)));
    server.push(bytes);
    client.on_frame(only_frame(server.take_output()));
    server.push(client.take_output());
    CHECK(server.refusal() == Refusal::wrong_token);
}

TEST_CASE("one that knows the token but does not fit is told why") {
    const Token token = Token::random();
    for (const Refusal why : {Refusal::run_id, Refusal::world_size, Refusal::duplicate, Refusal::full}) {
        Server server(token, random_bytes(), [&](const Hello&) { return why; });
        Client client(token, hello_of(1));
        talk(client, server);
        CHECK(server.refusal() == why);
        CHECK(client.state() == Client::State::refused);
        CHECK(client.refusal() == why);
    }
}

TEST_CASE("frames out of turn, damaged or too long end the handshake") {
    const Token token = Token::random();
    const auto refusal_of = [&](const Buffer& bytes) {
        Server server(token, random_bytes(), nobody);
        server.push(bytes);
        return server.refusal();
    };
    Buffer bytes;
    append_frame(bytes, {.type = FrameType::proof}, random_bytes());
    CHECK(refusal_of(bytes) == Refusal::unexpected);
    bytes.clear();
    append_frame(bytes, {.type = FrameType::message}, Buffer(10));
    CHECK(refusal_of(bytes) == Refusal::unexpected);
    bytes.clear();
    append_frame(bytes, {.type = FrameType::message}, Buffer(kMostHandshakeBytes + 1));
    CHECK(refusal_of(bytes) == Refusal::too_long);
    bytes.clear();
    append_frame(bytes, {.type = FrameType::hello}, encode_hello(hello_of(1)));
    bytes.back() ^= std::byte{1};
    CHECK(refusal_of(bytes) == Refusal::damaged);
    Hello long_name = hello_of(1);
    long_name.run_id = std::string(kMostRunIdBytes + 1, 'x');
    CHECK_FALSE(decode_hello(encode_hello(long_name)).has_value());
}
