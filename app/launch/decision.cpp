#include "app/launch/decision.h"

#include <span>

#include "core/base/pack.h"

namespace meshscope::launch {
namespace {

constexpr std::size_t kMostBytes = 60'000, kMostText = 1024, kMostJson = 4096;
constexpr std::size_t kNumbers = 64;  // about what a failure takes beside its texts

std::string as_text(Packer packer) {
    const std::vector<std::byte> bytes = packer.take();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Unpacker unpacker_of(const std::string& text) {
    return Unpacker(std::as_bytes(std::span(text.data(), text.size())));
}

void add(Packer& packer, const std::vector<Failure>& failures) {
    std::vector<Failure> kept;
    std::size_t bytes = 0;
    for (const Failure& failure : failures) {
        Failure f = failure;
        f.text = f.text.substr(0, kMostText);
        const std::size_t least = kNumbers + f.id.size() + f.text.size();
        if (bytes + least > kMostBytes) break;
        if (f.json.size() > kMostJson || bytes + least + f.json.size() > kMostBytes) f.json.clear();
        bytes += least + f.json.size();
        kept.push_back(std::move(f));
    }
    packer.add(static_cast<uint64_t>(kept.size()));
    for (const Failure& f : kept) {
        packer.add(f.rank), packer.add(f.local_rank), packer.add(f.node), packer.add(f.exit_code);
        packer.add(f.time_ns);
        packer.add(f.id);
        packer.add(f.text);
        packer.add(f.json);
        packer.add(static_cast<uint8_t>(f.secondary));
    }
}

std::vector<Failure> failures_of(Unpacker& unpacker) {
    std::vector<Failure> failures;
    const auto n = unpacker.get<uint64_t>();
    for (uint64_t i = 0; i < n; ++i) {
        Failure f;
        f.rank = unpacker.get<int32_t>(), f.local_rank = unpacker.get<int32_t>();
        f.node = unpacker.get<int32_t>(), f.exit_code = unpacker.get<int32_t>();
        f.time_ns = unpacker.get<int64_t>();
        f.id = unpacker.text();
        f.text = unpacker.text();
        f.json = unpacker.text();
        f.secondary = unpacker.get<uint8_t>() != 0;
        failures.push_back(std::move(f));
    }
    return failures;
}

}  // namespace

std::string pack_result(const RoundResult& result) {
    Packer packer;
    packer.add(result.outcome);
    packer.add(result.signal);
    add(packer, result.failures);
    return as_text(std::move(packer));
}

RoundResult unpack_result(const std::string& text) {
    Unpacker unpacker = unpacker_of(text);
    RoundResult result;
    result.outcome = unpacker.get<Outcome>();
    result.signal = unpacker.get<int>();
    result.failures = failures_of(unpacker);
    return result;
}

std::string pack_decision(const Decision& decision) {
    Packer packer;
    packer.add(decision.next);
    packer.add(decision.exit_code);
    packer.add(decision.restarts);
    packer.add(decision.max_restarts);
    packer.add(decision.lost);
    packer.add(decision.stopped);
    packer.add(decision.joined);
    add(packer, decision.failures);
    return as_text(std::move(packer));
}

Decision unpack_decision(const std::string& text) {
    Unpacker unpacker = unpacker_of(text);
    Decision decision;
    decision.next = unpacker.get<Decision::Next>();
    decision.exit_code = unpacker.get<int32_t>();
    decision.restarts = unpacker.get<int32_t>();
    decision.max_restarts = unpacker.get<int32_t>();
    decision.lost = unpacker.list<int32_t>();
    decision.stopped = unpacker.list<int32_t>();
    decision.joined = unpacker.get<bool>();
    decision.failures = failures_of(unpacker);
    return decision;
}

}  // namespace meshscope::launch
