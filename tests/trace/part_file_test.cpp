#include "core/trace/part_file.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/base/error.h"
#include "core/trace/record_bytes.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/thrown.h"
#include "tests/trace/enter.h"
#include "tests/trace/example.h"

using namespace meshscope;
using namespace meshscope::trace;

namespace {

std::vector<std::byte> bytes_of(const RankRecord& record) {
    Packer packer;
    pack(packer, record);
    return packer.take();
}

/// One step of something with everything in it: compute, a collective with hops and values, a dependency on
/// the step before, memory.
void record_step(Recorder& recorder, int32_t step) {
    recorder.set_step(step);
    recorder.set_phase(Phase::forward);
    const auto id = static_cast<uint64_t>(step + 1);
    recorder.on_allocate(id, 64 * (step + 1), MemoryCategory::activations, "a" + std::to_string(step));
    const int32_t linear = recorder.begin_compute("linear", "net" + std::to_string(step));
    recorder.end_compute(linear, 8, 8);
    Event draft;
    draft.op = CollectiveOp::all_gather;
    draft.stream = Stream::all_gather;
    draft.group = 0;
    draft.sequence = step;
    recorder.depend(Stream::all_gather, linear);
    if (step > 0) recorder.depend(Stream::all_gather, 0);
    const int32_t gather = trace::example::enter(recorder, draft, {"user.call", "net" + std::to_string(step)},
                                                 std::source_location::current());
    recorder.begin_collective(gather, Algorithm::ring);
    recorder.add_snapshot(gather, SnapshotKind::input, std::vector<float>{1.F, 2.F, float(step)});
    Hop hop;
    hop.event = gather;
    hop.elements = 2;
    recorder.add_hop(hop, std::vector<float>{3.F, float(step)});
    recorder.end_collective(gather, 16);
    recorder.depend(Stream::compute, gather);
    if (step % 2 == 1) recorder.on_free(id);
    ParameterRun run;
    recorder.keep_parameter("w" + std::to_string(step), "net", run);
}

PartHead head() {
    PartHead made;
    made.info = example::info();
    made.groups = example::groups();
    made.run = 77;
    made.rank = 1;
    return made;
}

std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("a record copied step by step is the record that is taken at the end") {
    for (const Level level : {Level::off, Level::collectives, Level::hops, Level::values}) {
        // Times apart, which two recorders cannot share, the copies are one recorder's own.
        Recorder recorder(GlobalRank{0}, level, 0);
        Recorder::Mark mark;
        RankRecord copied;
        copied.strings.clear();
        for (int32_t step = 0; step < 5; ++step) {
            record_step(recorder, step);
            if (step != 2) append(copied, recorder.since(mark));  // two steps at once are one copy
        }
        append(copied, recorder.since(mark));  // nothing new
        settle(copied);
        CHECK((bytes_of(copied) == bytes_of(recorder.take())));
    }
}

TEST_CASE("a part file gives back what was appended, and a cut one its whole chunks") {
    const test::Folder folder;
    const std::string trace = folder.file("t.mscope"), path = part_path(trace, 1);
    CHECK(path == trace + ".rank-1.part");
    Recorder recorder(GlobalRank{0}, Level::values, 0);
    Recorder::Mark mark;
    std::vector<RankRecord> after;  // [chunks]: what the file holds then
    std::vector<std::size_t> ends;  // [chunks]: its length
    RankRecord so_far;
    so_far.strings.clear();
    {
        PartWriter writer(trace, head());
        for (int32_t step = 0; step <= 3; ++step) {
            ends.push_back(content(path).size());
            after.push_back(so_far);
            settle(after.back());
            if (after.back().strings.empty()) after.back().strings.push_back("");
            if (step == 3) break;
            record_step(recorder, step);
            const RankRecord rows = recorder.since(mark);
            append(so_far, rows);
            writer.append(rows, std::vector<double>{0.5 * step}, {});
        }
        CHECK_FALSE(writer.failure());
    }
    const std::string whole = content(path);
    const Part part = read_part(path);
    CHECK_FALSE(part.cut);
    CHECK(part.head.run == 77);
    CHECK(part.head.rank == 1);
    CHECK(part.head.info.mesh_names == example::info().mesh_names);
    CHECK(part.head.info.world_size == example::info().world_size);
    CHECK(part.head.groups.size() == example::groups().size());
    CHECK(part.losses == std::vector<double>{0.0, 0.5, 1.0});
    CHECK(part.grad_norms.empty());
    CHECK((bytes_of(part.record) == bytes_of(after[3])));

    for (std::size_t length = 0; length < whole.size(); length += 13) {
        write(path, whole.substr(0, length));
        if (length < ends[0]) {
            CHECK(test::thrown_id<InputError>([&] { read_part(path); }) == "part.foreign");
            continue;
        }
        std::size_t chunks = 0;
        while (chunks + 1 < ends.size() && ends[chunks + 1] <= length) ++chunks;
        const Part cut = read_part(path);
        CHECK(cut.cut == (length != ends[chunks]));
        CHECK((bytes_of(cut.record) == bytes_of(after[chunks])));
        CHECK(cut.losses.size() == chunks);
    }
    // A byte that changed: what stands before its chunk is kept.
    for (std::size_t at = ends[0]; at < whole.size(); at += 29) {
        std::string flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ 0x20);
        write(path, flipped);
        std::size_t chunks = 0;
        while (ends[chunks + 1] <= at) ++chunks;
        const Part damaged = read_part(path);
        CHECK(damaged.cut);
        CHECK(damaged.losses.size() == chunks);
    }
    remove_parts(trace, 2);
    CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a chunk that points outside its values, or twice at one, is not taken") {
    const test::Folder folder;
    const std::string trace = folder.file("t.mscope");
    const auto is_cut = [&](std::vector<Snapshot> snapshots, std::vector<Hop> hops) {
        RankRecord rows;
        rows.values = {1.F, 2.F, 3.F};
        rows.snapshots = std::move(snapshots);
        rows.hops = std::move(hops);
        {
            PartWriter writer(trace, head());
            writer.append(rows, {}, {});
        }
        return read_part(part_path(trace, 1)).cut;
    };
    const auto hop = [](int64_t values, int64_t elements) {
        Hop made;
        made.values = values;
        made.elements = elements;
        return made;
    };
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    CHECK_FALSE(is_cut({{0, SnapshotKind::input, 0, 2}}, {hop(2, 1), hop(-1, 9)}));
    CHECK(is_cut({{0, SnapshotKind::input, 1, 3}}, {}));
    CHECK(is_cut({{0, SnapshotKind::input, 1000000000, 2}}, {}));
    CHECK(is_cut({{0, SnapshotKind::input, -1, 2}}, {}));
    CHECK(is_cut({{0, SnapshotKind::input, 0, -1}}, {}));
    CHECK(is_cut({{0, SnapshotKind::input, kMost, kMost}}, {}));
    CHECK(is_cut({}, {hop(3, 1)}));
    CHECK(is_cut({{0, SnapshotKind::input, 0, 2}}, {hop(0, 2)}));
}

TEST_CASE("a part that cannot be written is told, and nothing else happens") {
    const test::Folder folder;
    PartWriter nowhere(folder.file("no/such/folder/t.mscope"), head());
    REQUIRE(nowhere.failure());
    CHECK(nowhere.failure()->id == "part.cannot_write");
    nowhere.append(RankRecord(), {}, {});
    // What somebody else has put where the part would be is not written through.
    const std::string taken = folder.file("taken.mscope");
    std::filesystem::create_symlink("/dev/full", part_path(taken, 1));
    const PartWriter writer(taken, head());
    REQUIRE(writer.failure());
    CHECK(writer.failure()->id == "part.taken");
}

TEST_CASE("a part that has no room for its head is not left") {
    const test::Folder folder;
    const std::string path = folder.file("t.mscope");
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handled = std::signal(SIGXFSZ, SIG_IGN);
    for (const rlim_t most : {0U, 4U, 20U}) {
        const rlimit limit{most, before.rlim_max};
        REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        const PartWriter writer(path, head());
        REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
        CHECK(writer.failure());
        CHECK_FALSE(std::filesystem::exists(part_path(path, 1)));
        CHECK(writer.failure()->id == "part.cannot_write");
    }
    std::signal(SIGXFSZ, handled);
}

TEST_CASE("a part that is a pipe or a device is not waited for") {
    const test::Folder folder;
    REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    for (const std::string& path : {folder.file("pipe"), std::string("/dev/zero")})
        CHECK(test::thrown_id([&] { read_part(path); }) == "file.not_regular_input");
}
