// What is scarce ends a run with its own exit code and a word of which limit it was: addresses, threads and
// processes, the size of files, open files. Nothing crashes, nothing waits for ever, nothing half is left.
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "tests/cli/program.h"
#include "tests/cli/toy.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

namespace fs = std::filesystem;

namespace {

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::function<void()> limited(__rlimit_resource resource, rlim_t most) {
    return [resource, most] {
        const rlimit limit{most, most};
        // A program that turns in a circle is ended, and seen to have been.
        const rlimit seconds{120, 120};
        if (setrlimit(resource, &limit) != 0 || setrlimit(RLIMIT_CPU, &seconds) != 0) _exit(126);
    };
}

/// Products large enough for each library, in a world of four.
std::string gpt(int ranks = 4) {
    return "format = 1\n[model]\nkind = \"gpt\"\ndim = 128\nhidden = 512\nlayers = 2\nheads = 4\nvocab = "
           "256\n"
           "seq = 256\n[train]\nsteps = 2\nglobal_batch = 4\n[mesh]\nshape = [" +
           std::to_string(ranks) + "]\n[parallel]\ndata = \"fsdp2\"\n";
}

/// The user for whom ulimit -u binds: root's processes are not counted. False where there is none.
bool becomes_nobody() {
    constexpr uid_t kNobody = 65534;
    return geteuid() != 0 || (setgid(kNobody) == 0 && setuid(kNobody) == 0);
}

/// As that user, with so many processes and threads of it at most, wherever it has them.
std::function<void()> as_nobody(rlim_t threads) {
    return [threads] {
        if (!becomes_nobody()) _exit(126);
        limited(RLIMIT_NPROC, threads)();
    };
}

/// A folder where that user may read and write too.
void open_to_all(const program::Folder& folder) {
    fs::permissions(folder.path, fs::perms::all);
}

/// Whether the limit of processes stops that user here, and it may start the program at all.
bool can_limit_threads() {
    const auto version = program::run({"--version"}, {.prepare = as_nobody(1)});
    const auto told = program::run({"bench", "step", "--help"}, {.prepare = as_nobody(1)});
    return version.exit_code == 0 && told.exit_code == 0;
}

}  // namespace

TEST_CASE("where addresses do not suffice a run ends with 71 and says so, whatever multiplies and sends") {
    if (meshscope::test::kSanitizer) return;  // which takes all addresses for itself
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", gpt());
    const char* const library = GENERATE("plain", "onednn", "openblas");
    const bool force = GENERATE(false, true);
    if (program::run({"doctor"}, {.environment = {std::string("MESHSCOPE_BLAS=") + library}}).exit_code != 0)
        return;  // not in this build
    int refused = 0;
    for (const rlim_t mib : {60, 90, 120, 160, 200, 240, 300, 400, 500}) {
        std::vector<std::string> words{"run", scenario, "-q"};
        if (force) words.emplace_back("--force");
        const auto ended = program::run(words, {.environment = {std::string("MESHSCOPE_BLAS=") + library},
                                                .prepare = limited(RLIMIT_AS, mib << 20)});
        CAPTURE(library, force, mib, ended.err);
        CHECK((ended.exit_code == 0 || ended.exit_code == 71));
        CHECK(ended.err.empty() == (ended.exit_code == 0));
        CHECK_FALSE(holds(ended.err, "unforeseen"));
        refused += ended.exit_code == 71 ? 1 : 0;
    }
    CHECK(refused > 0);
}

TEST_CASE(
    "processes have addresses of their own: what does not fit in one of them is refused before it starts") {
    if (meshscope::test::kSanitizer) return;
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", gpt(2));
    const std::string backend = GENERATE("tcp", "mpi-openmpi", "mpi-mpich");
    const auto run = [&](rlim_t mib) {
        return program::run(
            {"run", scenario, "-q", "--backend", backend},
            {.environment = {"MESHSCOPE_BLAS=plain"}, .prepare = limited(RLIMIT_AS, mib << 20)});
    };
    if (program::run({"run", scenario, "-q", "--backend", backend}).exit_code == 69) return;
    const auto small = run(60);
    INFO(small.err);
    CHECK(small.exit_code == 71);
    CHECK(holds(small.err, "ulimit -v"));
    CHECK(run(1024).exit_code == 0);
}

TEST_CASE("where no thread or process may be started that is told, with the limit, in both languages") {
    if (meshscope::test::kSanitizer || !can_limit_threads()) return;
    const program::Folder folder;
    open_to_all(folder);
    const std::string scenario = folder.write("s.toml", kToy);
    for (const char* backend : {"threads", "tcp", "mpi-openmpi", "mpi-mpich"}) {
        std::vector<std::string> words{"run", scenario, "-q", "--backend", backend};
        if (program::run(words).exit_code == 69) continue;  // not in this build
        // One is this program itself.
        const auto ended = program::run(words, {.prepare = as_nobody(1)});
        CAPTURE(backend, ended.err);
        CHECK(ended.exit_code == 71);
        CHECK(holds(ended.err, "ulimit -u"));
        words.insert(words.begin(), {"--lang", "zh"});
        const auto chinese = program::run(words, {.prepare = as_nobody(1)});
        CHECK(chinese.exit_code == 71);
        CHECK(holds(chinese.err, "（ulimit -u）"));
    }
    const auto launched = program::run({"launch", "-n", "2", "--", "true"}, {.prepare = as_nobody(1)});
    INFO(launched.err);
    CHECK(launched.exit_code == 71);
    CHECK(holds(launched.err, "ulimit -u"));
}

TEST_CASE("a file that may not grow is told by name and limit, and no part of it is left") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    REQUIRE(program::run({"run", scenario, "-q", "--trace", folder.file("t.mscope")}).exit_code == 0);
    const auto saving = folder.write("c.toml", kToy + "[checkpoint]\nfolder = \"c\"\nevery = 1\n");
    const std::string trace = folder.file("t.mscope");
    const auto old = program::content(trace);
    std::vector<std::pair<std::vector<std::string>, std::string>> writers{
        {{"run", scenario, "-q", "--trace", trace}, trace},
        {{"run", scenario, "-q", "--save", folder.file("w.safetensors")}, folder.file("w.safetensors")},
        {{"run", scenario, "-q", "--json", folder.file("o.json")}, folder.file("o.json")},
        {{"run", saving, "-q"}, folder.file("c")},
        {{"trace", "export", "csv", trace, "-o", folder.file("o.csv")}, folder.file("o.csv")},
        {{"trace", "export", "perfetto", trace, "-o", folder.file("p.json")}, folder.file("p.json")},
        {{"trace", "export", "html", trace, "-o", folder.file("o.html")}, folder.file("o.html")}};
#ifdef MESHSCOPE_WITH_WINDOW
    writers.push_back({{"trace", "export", "svg", trace, "-o", folder.file("o.svg")}, folder.file("o.svg")});
#endif
    constexpr rlim_t kFileBytes = 700;  // less than each of them, and enough for what is said
    for (const auto& [words, path] : writers) {
        const auto ended = program::run(words, {.prepare = limited(RLIMIT_FSIZE, kFileBytes)});
        CAPTURE(words, ended.err, ended.out);
        CHECK(ended.exit_code == 74);
        CHECK(holds(ended.err, path));
        CHECK(holds(ended.err, "ulimit -f"));
        CHECK_FALSE(fs::exists(path) != (path == trace || path == folder.file("c")));
    }
    CHECK(program::content(trace) == old);
    CHECK(fs::is_empty(folder.path / "c"));
    // Of a run whose trace could not be written each rank's own record stays, as is told; nothing hidden
    // does.
    for (const auto& entry : fs::directory_iterator(folder.path))
        CHECK_FALSE(entry.path().filename().string().starts_with("."));
}

TEST_CASE("too few open files end a command with a word of it") {
    if (meshscope::test::kSanitizer) return;
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    for (const char* backend : {"threads", "tcp", "mpi-openmpi", "mpi-mpich"}) {
        std::vector<std::string> words{
            "run", scenario, "-q", "--backend", backend, "--trace", folder.file("t.mscope")};
        if (program::run(words).exit_code == 69) continue;
        for (const rlim_t files : {8, 12, 16, 24, 32}) {
            fs::remove(folder.file("t.mscope"));
            const auto ended = program::run(words, {.prepare = limited(RLIMIT_NOFILE, files)});
            CAPTURE(backend, files, ended.err);
            CHECK((ended.exit_code == 0 || ended.exit_code == 74));
            CHECK((ended.exit_code == 0 ||
                   !ended.err.empty()));  // that a crash could not be recovered may be told
            // What ranks recorded stays beside a trace that could not be written, and that is told.
            int parts = 0;
            for (int rank = 0; rank < 8; ++rank)
                parts += fs::remove(folder.file("t.mscope.rank-" + std::to_string(rank) + ".part")) ? 1 : 0;
            CHECK((parts == 0 || holds(ended.err, "trace recover")));
            CHECK(folder.files() == (ended.exit_code == 0 ? 2 : 1));
        }
    }
}
