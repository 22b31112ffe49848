// What a client may ask of the rendezvous store: any bytes. Nothing may crash, no limit may be passed, and
// what can be read must be read back the same.
#include <cstdint>
#include <cstdlib>

#include "backends/tcp/frame.h"
#include "backends/tcp/store_protocol.h"
#include "tests/fuzz/target.h"

namespace {

using namespace meshscope::backends::tcp;

void require(bool holds) {
    if (!holds) std::abort();
}

void check_request(StoreTable& table, ByteSpan bytes) {
    const auto request = decode_request(bytes);
    if (!request) return;
    require(request->key.size() <= kMostKeyBytes && request->value.size() <= kMostValueBytes);
    const Buffer again = encode(*request);
    require(again.size() == bytes.size() && std::equal(again.begin(), again.end(), bytes.begin()));
    const StoreAnswer answer = table.apply(*request);
    require(table.bytes() <= kMostTableBytes);
    const Buffer told = encode(answer);
    require(told.size() <= kMostStoreBytes);
    const auto heard = decode_answer(told);
    require(heard && heard->status == answer.status && heard->text == answer.text &&
            heard->number == answer.number && heard->keys == answer.keys);
}

}  // namespace

FUZZ_TARGET(store) {
    const ByteSpan bytes = std::as_bytes(std::span(input));
    StoreTable table;
    check_request(table, bytes);
    decode_answer(bytes);
    // The same bytes as a row of short requests, so that one meets what another has left.
    ByteReader reader(bytes);
    while (reader.ok() && !input.empty()) {
        StoreRequest request;
        request.op = static_cast<StoreOp>(1 + reader.u8() % 7);
        request.key = std::string(1, static_cast<char>('a' + reader.u8() % 3));
        request.number = reader.i64();
        const uint8_t n = reader.u8();
        for (uint8_t i = 0; i < n % 21; ++i) request.value += static_cast<char>(reader.u8());
        request.desired = request.value;
        if (!reader.ok()) break;
        check_request(table, encode(request));
    }
}
