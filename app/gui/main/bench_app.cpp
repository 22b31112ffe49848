#include "app/gui/main/bench_app.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>

#include "app/gui/main/render_film.h"
#include "app/gui/panels/views.h"
#include "core/base/error.h"
#include "core/trace/store.h"

namespace meshscope::gui {
namespace {

constexpr int32_t kRanks = 1024;
constexpr int64_t kEvents = 1'000'000;
constexpr int kFrames = 15;

double ms_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Bytes of this process that are in memory.
int64_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    int64_t all = 0, resident = 0;
    in >> all >> resident;
    return resident * static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
}

/// Seconds of processor time of all threads of this process: what a busy machine does not change.
double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A file of its own that goes with the object.
class OwnFile {
  public:
    OwnFile()
        : path_((std::filesystem::temp_directory_path() /
                 ("meshscope-bench-" + std::to_string(::getpid()) + ".mscope"))
                    .string()) {}
    ~OwnFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    OwnFile(const OwnFile&) = delete;
    OwnFile& operator=(const OwnFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

double median(const std::vector<FrameCost>& costs, double FrameCost::*part) {
    std::vector<double> values;
    for (const FrameCost& cost : costs) values.push_back(cost.*part);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// The median frame of every view while the cursor runs from the start to the end: each frame is a seek.
/// Without shaders, then with them.
void frames(const std::shared_ptr<const session::Document>& document, Options options,
            const i18n::Catalogue& catalogue, const std::function<void(const std::string&)>& print) {
    options.bench = kFrames;
    const bool once = options.plain;
    for (size_t i = 0; i < 2 * std::size(view::kViewKinds); ++i) {
        const view::ViewKind kind = view::kViewKinds[i / 2];
        options.view = kind;
        options.plain = i % 2 == 0;
        if (once && !options.plain) continue;
        const Beside beside(panels::view_of(kind).least_runs - 1, document);
        const std::vector<FrameCost> costs = bench_frames(document, options, catalogue, beside);
        const double ms = median(costs, &FrameCost::ms), build = median(costs, &FrameCost::build_cpu_ms),
                     submit = median(costs, &FrameCost::submit_cpu_ms),
                     raster = median(costs, &FrameCost::raster_cpu_ms);
        double worst = 0, worst_build = 0;
        for (const FrameCost& cost : costs) {
            worst = std::max(worst, cost.ms);
            worst_build = std::max(worst_build, cost.build_cpu_ms);
        }
        // One thread builds and submits, then two draw.
        const double alone = build + submit + raster / 2;
        char line[512];
        std::snprintf(
            line, sizeof(line),
            "{\"bench\":\"app\",\"what\":\"frames\",\"trace\":\"%s\",\"view\":\"%s\",\"shaders\":%s,"
            "\"width\":%d,\"height\":"
            "%d,"
            "\"ms_median\":%.1f,\"ms_worst\":%.1f,\"fps\":%.1f,\"build_cpu_ms\":%.2f,\"submit_cpu_ms\":%.2f,"
            "\"raster_cpu_ms\":%.2f,\"build_cpu_ms_worst\":%.2f,\"fps_two_cores\":%.1f,\"vertices\":%lld,"
            "\"commands\":%lld}",
            document->name.c_str(), std::string(view::view_name(kind)).c_str(),
            options.plain ? "false" : "true", options.width, options.height, ms, worst, 1000 / ms, build,
            submit, raster, worst_build, 1000 / alone, static_cast<long long>(costs.back().vertices),
            static_cast<long long>(costs.back().commands));
        print(line);
    }
}

}  // namespace

void bench_app(const Options& options, const i18n::Catalogue& catalogue,
               const session::LessonFolders& folders, const std::string& lesson,
               const std::function<void(const std::string&)>& print) {
    frames(session::load_document(lesson, folders, nullptr), options, catalogue, print);
    const OwnFile file;
    int64_t events = 0;
    {
        const trace::Trace made = made_trace(kRanks, kEvents);
        for (const auto& rank : made.ranks) events += static_cast<int64_t>(rank.events.size());
        trace::write_trace(made, file.path());
    }
    ::malloc_trim(0);  // what the making held is no part of what the opened one needs
    const int64_t before = resident_bytes();
    const double cpu = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    auto document = session::load_document(file.path(), folders, nullptr);
    const double took_ms = ms_since(begin), cpu_ms = (cpu_seconds() - cpu) * 1000;
    char line[320];
    std::snprintf(line, sizeof(line),
                  "{\"bench\":\"app\",\"what\":\"open\",\"events\":%lld,\"ranks\":%d,\"ms\":%.0f,"
                  "\"cpu_ms\":%.0f,\"memory_bytes\":%lld}",
                  static_cast<long long>(events), kRanks, took_ms, cpu_ms,
                  static_cast<long long>(resident_bytes() - before));
    print(line);
    auto named = std::make_shared<session::Document>(*document);
    named->name = "made";
    document.reset();
    frames(named, options, catalogue, print);
    bench_idle(options, lesson, print);
}

}  // namespace meshscope::gui
