#include "core/trace/part_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/base/error.h"
#include "core/base/pack.h"
#include "core/trace/record_bytes.h"

namespace meshscope::trace {
namespace {

constexpr std::string_view kMagic = "MESHPART";

void pack(Packer& packer, const PartHead& head) {
    const RunInfo& info = head.info;
    packer.add(info.engine_version);
    packer.add(head.run);
    packer.add(head.rank);
    packer.add(info.title_en);
    packer.add(info.title_zh);
    packer.add(info.scenario);
    packer.add(info.scenario_path);
    packer.add(info.backend);
    packer.add(info.level);
    packer.add(info.world_size);
    packer.add(info.mesh_shape);
    packer.add(info.mesh_names);
    packer.add(info.mesh_ranks);
    packer.add(info.node_of_rank);
    packer.add(static_cast<uint64_t>(head.groups.size()));
    for (const Group& group : head.groups) {
        packer.add(group.mesh_dim);
        packer.add(group.ranks);
    }
}

PartHead unpack_head(Unpacker& unpacker) {
    PartHead head;
    RunInfo& info = head.info;
    info.engine_version = unpacker.text();
    head.run = unpacker.get<int64_t>();
    head.rank = unpacker.get<int32_t>();
    info.title_en = unpacker.text();
    info.title_zh = unpacker.text();
    info.scenario = unpacker.text();
    info.scenario_path = unpacker.text();
    info.backend = unpacker.text();
    info.level = unpacker.get<Level>();
    info.world_size = unpacker.get<int32_t>();
    info.mesh_shape = unpacker.list<int64_t>();
    info.mesh_names = unpacker.texts();
    info.mesh_ranks = unpacker.list<int32_t>();
    info.node_of_rank = unpacker.list<int32_t>();
    for (auto groups = unpacker.get<uint64_t>(); groups > 0; --groups) {
        Group group;
        group.mesh_dim = unpacker.text();
        group.ranks = unpacker.list<int32_t>();
        head.groups.push_back(std::move(group));
    }
    unpacker.finish();
    return head;
}

/// Whether what `rows` points at in its values is there, and nothing twice: so it stands in what a recorder
/// gave, and so putting it in order costs no more than the file is long.
bool holds_its_values(const RankRecord& rows) {
    auto left = static_cast<int64_t>(rows.values.size());
    const auto take = [&](int64_t first, int64_t elements) {
        const auto size = static_cast<int64_t>(rows.values.size());
        if (first < 0 || elements < 0 || elements > left || first > size - elements) return false;
        left -= elements;
        return true;
    };
    return std::ranges::all_of(rows.snapshots,
                               [&](const Snapshot& s) { return take(s.values, s.elements); }) &&
           std::ranges::all_of(rows.hops,
                               [&](const Hop& h) { return h.values < 0 || take(h.values, h.elements); });
}

std::vector<std::byte> chunk(Packer& packer) {
    const std::vector<std::byte> bytes = packer.take();
    const uint64_t length = bytes.size();
    std::vector<std::byte> framed(sizeof length + bytes.size());
    std::memcpy(framed.data(), &length, sizeof length);
    if (length > 0) std::memcpy(framed.data() + sizeof length, bytes.data(), bytes.size());
    return framed;
}

/// The next chunk's bytes, which leave `rest`; none when they are not all there.
std::optional<std::span<const std::byte>> next_chunk(std::span<const std::byte>& rest) {
    uint64_t length = 0;
    if (rest.size() < sizeof length) return std::nullopt;
    std::memcpy(&length, rest.data(), sizeof length);
    if (length > rest.size() - sizeof length) return std::nullopt;
    const auto bytes = rest.subspan(sizeof length, length);
    rest = rest.subspan(sizeof length + length);
    return bytes;
}

std::vector<std::byte> whole_file(const std::string& path) {
    const auto refuse = [&](int error) {
        throw IoError(Message{"trace.cannot_open",
                              {{"path", path}, {"reason", std::generic_category().message(error)}}});
    };
    std::ifstream in(path, std::ios::binary);
    if (!in) refuse(errno);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (in.bad()) refuse(EIO);
    std::vector<std::byte> bytes(text.size());
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

}  // namespace

std::string part_path(const std::string& trace_path, int32_t rank) {
    return trace_path + ".rank-" + std::to_string(rank) + ".part";
}

PartWriter::PartWriter(const std::string& trace_path, const PartHead& head)
    : path_(part_path(trace_path, head.rank)) {
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    write(std::as_bytes(std::span(kMagic)));
    Packer packer;
    pack(packer, head);
    write(chunk(packer));
}

PartWriter::~PartWriter() {
    if (file_ >= 0) close(file_);
}

void PartWriter::append(const RankRecord& rows, std::span<const double> losses,
                        std::span<const double> grad_norms) {
    if (failure_) return;
    Packer packer;
    pack(packer, rows);
    packer.add(std::vector(losses.begin(), losses.end()));
    packer.add(std::vector(grad_norms.begin(), grad_norms.end()));
    write(chunk(packer));
}

void PartWriter::write(std::span<const std::byte> bytes) {
    while (!failure_ && !bytes.empty()) {
        const ssize_t written = file_ < 0 ? -1 : ::write(file_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0)
            failure_ = Message{"file.cannot_write",
                               {{"path", path_}, {"reason", std::generic_category().message(errno)}}};
        else
            bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

Part read_part(const std::string& path) {
    const std::vector<std::byte> bytes = whole_file(path);
    std::span<const std::byte> rest = bytes;
    const InputError foreign({{{"part.foreign", {{"path", path}}}, {path, 0, 0}, {}}});
    if (rest.size() < kMagic.size() || std::memcmp(rest.data(), kMagic.data(), kMagic.size()) != 0)
        throw foreign;
    rest = rest.subspan(kMagic.size());
    Part part;
    part.record.strings.clear();
    try {
        const auto head = next_chunk(rest);
        if (!head) throw foreign;
        Unpacker unpacker(*head);
        part.head = unpack_head(unpacker);
    } catch (const InvalidArgument&) {
        throw foreign;
    }
    while (!rest.empty() && !part.cut) {
        const auto next = next_chunk(rest);
        if (!next) {
            part.cut = true;
            break;
        }
        try {
            Unpacker unpacker(*next);
            RankRecord rows = unpack_record(unpacker);
            const auto losses = unpacker.list<double>(), norms = unpacker.list<double>();
            unpacker.finish();
            unpacker.require(holds_its_values(rows));
            append(part.record, std::move(rows));
            part.losses.insert(part.losses.end(), losses.begin(), losses.end());
            part.grad_norms.insert(part.grad_norms.end(), norms.begin(), norms.end());
        } catch (const InvalidArgument&) {
            part.cut = true;
        }
    }
    settle(part.record);
    if (part.record.strings.empty()) part.record.strings.push_back("");
    return part;
}

void remove_parts(const std::string& trace_path, int32_t ranks) noexcept {
    for (int32_t rank = 0; rank < ranks; ++rank) unlink(part_path(trace_path, rank).c_str());
}

}  // namespace meshscope::trace
