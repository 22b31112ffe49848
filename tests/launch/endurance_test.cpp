// A long run needs no more memory, threads or files at its end than at its beginning.
// MESHSCOPE_LONG_STEPS=100000 makes it as long as one likes (the steps on threads; processes take a fourth of
// them).
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/test.h"

using namespace processes;
using program::Folder;
namespace fs = std::filesystem;

namespace {

int64_t long_steps() {
    const char* const asked = std::getenv("MESHSCOPE_LONG_STEPS");
    return asked != nullptr ? std::max<int64_t>(1000, std::atoll(asked)) : MESHSCOPE_DEFAULT_LONG_STEPS;
}

std::string scenario(int64_t steps, bool checked) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\nseed = 7\n[train]\nsteps "
           "= " +
           std::to_string(steps) +
           "\nglobal_batch = 8\nclip_norm = 1.0\n[optimizer]\nkind = \"adamw\"\nlr = 0.001\n"
           "[mesh]\nshape = [4]\n[parallel]\ndata = \"fsdp2\"\n[record]\nlevel = \"off\"\n[run]\nchecked = " +
           (checked ? "true" : "false") +
           "\n[checkpoint]\nfolder = \"saved\"\nevery = " + std::to_string(steps / 2) + "\n";
}

/// Whether the save after so many steps has begun, or ended. What is seen from the end of one to the
/// beginning of the next belongs to training, however long a machine takes to start the processes and to end
/// them.
enum class Save : uint8_t { begun, ended };
bool saved(const Folder& folder, int64_t steps, Save save) {
    std::string name = std::to_string(steps);
    name.insert(0, name.size() < 6 ? 6 - name.size() : 0, '0');
    const fs::path path = folder.path / "saved" / ("step_" + name);
    return fs::exists(path) || (save == Save::begun && fs::exists(path.string() + ".tmp"));
}

/// What a process has at one moment.
struct Sample {
    int64_t kib = 0, threads = 0, files = 0;
};

/// Gives zeros for one that has ended, or is about to.
Sample sample(pid_t process) {
    const std::string proc = "/proc/" + std::to_string(process);
    Sample taken;
    std::ifstream status(proc + "/status");
    for (std::string line; std::getline(status, line);) {
        std::istringstream words(line);
        std::string key;
        words >> key;
        if (key == "VmRSS:") words >> taken.kib;
        if (key == "Threads:") words >> taken.threads;
    }
    std::error_code error;
    for (fs::directory_iterator it(proc + "/fd", error), end; !error && it != end; it.increment(error))
        ++taken.files;
    return error ? Sample{} : taken;
}

/// A process's middle values over a part of the run, which a moment between two steps does not move.
Sample middle(std::vector<Sample> samples) {
    const auto of = [&](auto member) {
        std::ranges::sort(samples, {}, member);
        return samples[samples.size() / 2].*member;
    };
    return {of(&Sample::kib), of(&Sample::threads), of(&Sample::files)};
}

/// Runs to the end and watches every process of the job from a fourth of the steps to three fourths; each
/// must have at the end of that what it had at the beginning. Returns how many processes that were: those
/// that lived long enough to be seen 18 times.
std::size_t watch(const std::string& backend, int64_t steps, bool checked) {
    const Folder folder;
    const std::string mark = folder.path.filename().string();
    Child job({"run", folder.write("s.toml", scenario(steps, checked)), "-q", "--backend", backend},
              folder.file("out"), folder.file("err"),
              {"TEST_MARK=" + mark, "ASAN_OPTIONS=detect_leaks=0"});  // whose search is a process of its own
    // Its environment is what it was started with from the moment on in which it becomes the program.
    REQUIRE(within(60, [&] { return !having({{"TEST_MARK", mark}}).empty(); }));
    std::map<pid_t, std::vector<Sample>> seen;
    bool begun = false, over = false;
    const auto interval = std::chrono::milliseconds(steps > 20'000 ? 500 : 5);
    for (std::vector<pid_t> living{job.pid()}; !living.empty(); living = having({{"TEST_MARK", mark}})) {
        begun = begun || saved(folder, steps / 2, Save::ended);
        over = over || saved(folder, steps, Save::begun);
        for (const pid_t process : living)
            if (const Sample taken = sample(process); begun && !over && taken.files > 0)
                seen[process].push_back(taken);
        std::this_thread::sleep_for(interval);
    }
    const int code = job.wait(10);
    INFO(program::content(folder.file("err")));
    CHECK(code == 0);
    std::size_t long_lived = 0;
    for (const auto& [process, samples] : seen) {
        if (samples.size() < 18) continue;  // a shell of the launcher's
        ++long_lived;
        const auto at = [&](std::size_t part) {  // the part-th of six parts
            const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * part / 6);
            return middle({begin, begin + static_cast<std::ptrdiff_t>(samples.size() / 6)});
        };
        const Sample early = at(0), late = at(5);
        std::ostringstream figures;
        figures << backend << (checked ? ", checked, " : ", ") << steps << " steps, process " << process
                << ": " << early.kib << " KiB, " << early.threads << " threads, " << early.files
                << " files after half of them; " << late.kib << " KiB, " << late.threads << " threads, "
                << late.files << " files towards the end";
        INFO(figures.str());
        if (std::getenv("MESHSCOPE_LONG_STEPS") != nullptr) WARN(figures.str());
        CHECK(late.threads == early.threads);
        CHECK(late.files == early.files);
#ifdef MESHSCOPE_WATCH_MEMORY
        // Each rank keeps a loss and a gradient norm a step, which are results.
        CHECK(late.kib - early.kib < 256 + steps * 4 * 2 * 8 / 1024);
#endif
    }
    return long_lived;
}

/// The same with more steps until all are seen: machines differ in speed.
std::size_t watch_long(const std::string& backend, int64_t steps, std::size_t processes,
                       bool checked = false) {
    std::size_t seen = 0;
    for (int turn = 0; turn < 4 && seen < processes; ++turn, steps *= 4)
        seen = watch(backend, steps, checked);
    return seen;
}

}  // namespace

TEST_CASE("a long run on four threads grows in neither memory nor threads nor files") {
    CHECK(watch_long("threads", long_steps(), 1) == 1);
}

TEST_CASE("a long run of four processes grows in neither memory nor threads nor files") {
    CHECK(watch_long("tcp", long_steps() / 4, 4) >= 4);
}

TEST_CASE(
    "a long run of four processes whose calls are checked grows in neither memory nor threads nor files") {
    CHECK(watch_long("tcp", long_steps() / 8, 4, true) >= 4);
}

TEST_CASE("a long checked run over MPI grows in neither memory nor threads nor files") {
    for (const std::string& backend : mpi_backends())
        CHECK(watch_long(backend, long_steps() / 4, 4, true) >= 4);
}
