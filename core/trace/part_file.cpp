#include "core/trace/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/base/cannot_write.h"
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
    packer.add(info.algorithm_file);
    packer.add(info.algorithm_text);
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
    info.algorithm_file = unpacker.text();
    info.algorithm_text = unpacker.text();
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

/// Whether each hop's pieces are there, one hop's behind the other's.
bool holds_its_pieces(const RankRecord& rows) {
    int64_t next = 0;
    const bool in_order = std::ranges::all_of(rows.hops, [&](const Hop& h) {
        if (h.n_pieces == 0) return h.pieces == -1;
        if (h.n_pieces < 0 || h.pieces != next) return false;
        next += h.n_pieces;
        return true;
    });
    return in_order && next == static_cast<int64_t>(rows.pieces.size());
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
                               [&](const Snapshot& s) {
                                   return (s.operand != 0 && s.values == -1) || take(s.values, s.elements);
                               }) &&
           std::ranges::all_of(rows.hops,
                               [&](const Hop& h) { return h.values < 0 || take(h.values, h.elements); }) &&
           holds_its_pieces(rows);
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
    // Opening a pipe would wait for a writer, and a device may have no end.
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
        throw IoError(Message{"file.not_regular_input", {{"path", path}}});
    std::ifstream in(path, std::ios::binary);
    if (!in) refuse(errno);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (in.bad()) refuse(EIO);
    std::vector<std::byte> bytes(text.size());
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

/// Whether something has this name that no run left: nothing like that is written over or removed.
bool is_others(const std::string& path) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) return false;
    if (!S_ISREG(status.st_mode)) return true;
    std::string begin(kMagic.size(), '\0');
    std::ifstream in(path, std::ios::binary);
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(in.gcount()));
    return !kMagic.starts_with(begin);  // one that was just begun is ours
}

}  // namespace

std::string part_path(const std::string& trace_path, int32_t rank) {
    return trace_path + ".rank-" + std::to_string(rank) + ".part";
}

bool has_parts(const std::string& trace_path, int32_t ranks) {
    for (int32_t rank = 0; !trace_path.empty() && rank < ranks; ++rank)
        if (access(part_path(trace_path, rank).c_str(), F_OK) == 0) return true;
    return false;
}

PartWriter::PartWriter(const std::string& trace_path, const PartHead& head)
    : path_(part_path(trace_path, head.rank)) {
    if (is_others(path_)) {
        failure_ = Message{"part.taken", {{"path", path_}}};
        return;
    }
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    write(std::as_bytes(std::span(kMagic)));
    Packer packer;
    pack(packer, head);
    write(chunk(packer));
    // Without its head nobody could read it.
    if (failure_ && file_ >= 0) unlink(path_.c_str());
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
            failure_ = Message{"part.cannot_write",
                               {{"path", path_}, {"reason", *cannot_write(path_, errno).find("reason")}}};
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
    for (int32_t rank = 0; rank < ranks; ++rank)
        if (const std::string path = part_path(trace_path, rank); !is_others(path)) unlink(path.c_str());
}

}  // namespace meshscope::trace
