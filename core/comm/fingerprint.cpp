#include "core/comm/fingerprint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "core/trace/interner.h"

namespace meshscope::comm {
namespace {

constexpr std::size_t kLeastRanks = 16;
constexpr uint64_t kPrime = 0x100000001B3;  // FNV-1a's

void mix(uint64_t& hash, uint64_t value) {
    // FNV-1a over words; the shift carries the high bits down, which FNV's product alone does not.
    hash = (hash ^ value) * kPrime;
    hash ^= hash >> 29;
}

struct Head {
    uint64_t hash = 0xCBF29CE484222325;
    uint64_t members_hash = 0, splits_hash = 0;
    int64_t in_elements = 0, out_elements = 0, count = 0;
    uint64_t factor_bits = 0;
    int32_t group = 0, sequence = 0, step = 0, peer = -1, members = 0, in_parts = 0, out_parts = 0;
    uint8_t op = 0, reduce_op = 0, dtype = 0, stream = 0, algorithm = 0, phase = 0;
    std::array<char, 48> own_algorithm{};
    std::array<char, 24> name{};
    std::array<char, 76> source{};
};

/// The last characters of `text` that fit: a path says most at its end.
template <std::size_t N>
void keep_end(std::array<char, N>& to, std::string_view text) {
    if (text.size() >= N) text.remove_prefix(text.size() - N + 1);
    std::copy(text.begin(), text.end(), to.begin());
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& from) {
    return {from.begin(), std::find(from.begin(), from.end(), '\0')};
}

std::size_t slots_of(std::size_t members) {
    return std::max(members, kLeastRanks);
}

/// What must be equal on all ranks of an op without splits.
int64_t count_of(const IssuedCall& call) {
    switch (call.op) {
        case CollectiveOp::broadcast:
            return std::max(call.in_elements, call.out_elements);
        case CollectiveOp::reduce:
        case CollectiveOp::all_reduce:
        case CollectiveOp::send:
            return call.in_elements;
        case CollectiveOp::recv:
            return call.out_elements;
        default:
            return 0;
    }
}

Head head_of(const std::vector<std::byte>& bytes) {
    Head head;
    if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
    return head;
}

template <class T>
T number_at(const std::vector<std::byte>& bytes, std::size_t at) {
    T number{};
    if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

/// Slots that fit into so many bytes behind the head.
std::size_t slots_in(const std::vector<std::byte>& bytes) {
    return bytes.size() < sizeof(Head) ? 0 : (bytes.size() - sizeof(Head)) / 20;
}

bool even(const std::vector<int64_t>& counts) {
    return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

/// A byte as an enumerator, where there is one of that number; the first otherwise.
template <class Enum>
Enum enumerator(uint8_t value) {
    const auto given = static_cast<Enum>(value);
    return name(given) == "unknown" ? Enum{} : given;
}

}  // namespace

Fingerprint::Fingerprint(const IssuedCall& call, int32_t me) {
    const IssuedCall& info = call;
    const std::vector<GlobalRank>& ranks = info.group->ranks;
    const std::size_t slots = slots_of(ranks.size());
    const bool pair = call.op == CollectiveOp::send || call.op == CollectiveOp::recv;
    bytes_.resize(sizeof(Head) + slots * 20);
    Head head;
    head.group = info.group->index;
    head.sequence = info.sequence;
    head.step = info.step;
    head.peer = info.peer;
    head.members = static_cast<int32_t>(ranks.size());
    head.op = static_cast<uint8_t>(info.op);
    head.reduce_op = static_cast<uint8_t>(info.reduce_op);
    head.dtype = static_cast<uint8_t>(info.dtype);
    head.stream = static_cast<uint8_t>(info.stream);
    head.algorithm = static_cast<uint8_t>(info.algorithm);
    head.phase = static_cast<uint8_t>(info.phase);
    head.in_elements = info.in_elements;
    head.out_elements = info.out_elements;
    head.count = count_of(call);
    if (info.reduce_op == ReduceOp::premul_sum) head.factor_bits = std::bit_cast<uint64_t>(info.factor);
    keep_end(head.name, info.group->name);
    keep_end(head.source, std::string(trace::path_below_root(info.source.file_name())) + ":" +
                              std::to_string(info.source.line()));

    if (info.algorithm == Algorithm::own) keep_end(head.own_algorithm, info.group->own_algorithm);
    uint64_t own_hash = 0;
    for (const char each : head.own_algorithm)
        mix(own_hash, static_cast<uint64_t>(static_cast<unsigned char>(each)));

    std::byte* at = bytes_.data() + sizeof(Head);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        mix(head.members_hash, static_cast<uint64_t>(ranks[r].value) + 1);
        std::memcpy(at + 4 * r, &ranks[r].value, 4);
    }
    const auto put = [&](const std::vector<Part>& parts, std::byte* to, int32_t& n, bool same_everywhere) {
        n = static_cast<int32_t>(parts.size());
        for (std::size_t r = 0; r < parts.size() && r < slots; ++r) {
            std::memcpy(to + 8 * r, &parts[r].elements, 8);
            if (same_everywhere) mix(head.splits_hash, static_cast<uint64_t>(parts[r].elements) + 1);
        }
    };
    // all_to_all's differ from rank to rank, rightly.
    const bool same = call.op != CollectiveOp::all_to_all;
    put(call.in_parts, at + 4 * slots, head.in_parts, same);
    put(call.out_parts, at + 12 * slots, head.out_parts, same);

    // A send and its recv: the op, the stream and the other side differ, rightly.
    for (const uint64_t value :
         {head.members_hash, static_cast<uint64_t>(head.group), static_cast<uint64_t>(head.sequence),
          pair ? uint64_t{99} : uint64_t{head.op},
          pair ? static_cast<uint64_t>(call.op == CollectiveOp::send ? info.peer : me)
               : static_cast<uint64_t>(head.peer + 1),
          uint64_t{head.reduce_op}, uint64_t{head.dtype}, static_cast<uint64_t>(head.count), head.splits_hash,
          head.factor_bits, pair ? uint64_t{0} : uint64_t{head.stream}, uint64_t{head.algorithm}, own_hash})
        mix(head.hash, value);
    std::memcpy(bytes_.data(), &head, sizeof head);
}

Fingerprint::Fingerprint(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

uint64_t Fingerprint::hash() const {
    return head_of(bytes_).hash;
}

CollectiveOp Fingerprint::op() const {
    return enumerator<CollectiveOp>(head_of(bytes_).op);
}

bool Fingerprint::same_group(const Fingerprint& other) const {
    const Head a = head_of(bytes_), b = head_of(other.bytes_);
    return a.members_hash == b.members_hash && a.group == b.group;
}

int64_t Fingerprint::in_part(std::size_t r) const {
    const std::size_t slots = slots_in(bytes_);
    return r >= slots ? 0 : number_at<int64_t>(bytes_, sizeof(Head) + 4 * slots + 8 * r);
}

int64_t Fingerprint::out_part(std::size_t r) const {
    const std::size_t slots = slots_in(bytes_);
    return r >= slots ? 0 : number_at<int64_t>(bytes_, sizeof(Head) + 12 * slots + 8 * r);
}

std::vector<const char*> Fingerprint::differences(const Fingerprint& other) const {
    const Head a = head_of(bytes_), b = head_of(other.bytes_);
    if (a.hash == b.hash) return {};
    if (!same_group(other)) return {"group"};
    const auto pair = [](const Head& head) {
        return head.op == static_cast<uint8_t>(CollectiveOp::send) ||
               head.op == static_cast<uint8_t>(CollectiveOp::recv);
    };
    const bool pairs = pair(a) && pair(b);
    if (a.op != b.op && !pairs) return {"op"};
    std::vector<const char*> found;
    if (a.sequence != b.sequence) found.push_back("sequence");
    if (!pairs && a.peer != b.peer) found.push_back("root");
    if (a.reduce_op != b.reduce_op) found.push_back("reduce_op");
    if (a.dtype != b.dtype) found.push_back("dtype");
    const bool splits = a.splits_hash != b.splits_hash;
    const auto uneven = [](const Fingerprint& f) {
        const CallReport report = f.report();
        return !report.in_counts.empty() || !report.out_counts.empty();
    };
    if (a.count != b.count || (splits && !uneven(*this) && !uneven(other))) found.push_back("count");
    if (splits && (uneven(*this) || uneven(other))) found.push_back("splits");
    if (a.factor_bits != b.factor_bits) found.push_back("factor");
    if (!pairs && a.stream != b.stream) found.push_back("stream");
    if (a.algorithm != b.algorithm || a.own_algorithm != b.own_algorithm) found.push_back("algorithm");
    return found;
}

CallReport Fingerprint::report() const {
    const Head head = head_of(bytes_);
    const std::size_t slots = slots_in(bytes_);
    const auto known = [&](int32_t n) { return std::min(static_cast<std::size_t>(std::max(n, 0)), slots); };
    CallReport report;
    report.op = name(op());
    report.group = text_of(head.name);
    for (std::size_t r = 0; r < known(head.members); ++r)
        report.group_ranks.push_back(number_at<int32_t>(bytes_, sizeof(Head) + 4 * r));
    report.sequence = head.sequence;
    if (head.peer >= 0 && static_cast<std::size_t>(head.peer) < report.group_ranks.size())
        report.peer = report.group_ranks[static_cast<std::size_t>(head.peer)];
    const auto reduce_op = enumerator<ReduceOp>(head.reduce_op);
    if (reduce_op != ReduceOp::none) report.reduce_op = name(reduce_op);
    if (op() != CollectiveOp::barrier) {
        report.dtype = name(enumerator<DType>(head.dtype));
        report.in_elements = head.in_elements;
        report.out_elements = head.out_elements;
    }
    for (std::size_t r = 0; r < known(head.in_parts); ++r) report.in_counts.push_back(in_part(r));
    for (std::size_t r = 0; r < known(head.out_parts); ++r) report.out_counts.push_back(out_part(r));
    // Even parts are said by the elements; all_to_all's are shown, since the ranks' differ.
    if (op() != CollectiveOp::all_to_all) {
        if (even(report.in_counts)) report.in_counts.clear();
        if (even(report.out_counts)) report.out_counts.clear();
    }
    report.factor = head.factor_bits == 0 ? 1.0 : std::bit_cast<double>(head.factor_bits);
    report.stream = name(enumerator<Stream>(head.stream));
    report.algorithm = name(enumerator<Algorithm>(head.algorithm));
    if (head.own_algorithm[0] != '\0') report.algorithm += " (" + text_of(head.own_algorithm) + ")";
    report.phase = name(enumerator<Phase>(head.phase));
    report.step = head.step;
    report.source = text_of(head.source);
    return report;
}

}  // namespace meshscope::comm
