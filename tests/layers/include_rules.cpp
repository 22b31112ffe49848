#include "tests/layers/include_rules.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace meshscope::layers {

namespace fs = std::filesystem;

namespace {

using Modules = std::vector<std::string>;

Modules operator+(Modules a, const Modules& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// Who may include whom; a module may always include itself.
const std::map<std::string, Modules>& table() {
    static const std::map<std::string, Modules> modules = [] {
        const Modules base{"core/base"};
        const Modules first = base + Modules{"core/mesh", "core/tensor", "core/trace"};
        const Modules second =
            first + Modules{"core/comm", "core/memory", "core/nn", "core/data", "core/time"};
        const Modules all_core = second + Modules{"core/parallel", "core/scenario", "core/jobs",
                                                  "core/run",      "core/launch",   "core/estimate"};
        const Modules backend{"core/base", "core/tensor", "core/comm", "core/trace"};
        const Modules seen_by_view{"core/base", "core/trace",  "core/mesh",
                                   "core/time", "core/memory", "core/scenario"};
        const Modules window = seen_by_view + Modules{"app/i18n",       "app/gui/view",    "app/gui/panels",
                                                      "app/gui/window", "app/gui/session", "app/gui/sandbox"};
        std::map<std::string, Modules> made{
            {"core/base", {}},
            {"core/mesh", base},
            {"core/tensor", base},
            {"core/trace", base},
            {"core/comm", first},
            {"core/memory", first},
            {"core/nn", first},
            {"core/data", first},
            {"core/time", first + Modules{"core/comm"}},  // for the steps of a collective that left no hops
            {"core/estimate", second},
            {"core/parallel", second},
            {"core/scenario", second + Modules{"core/parallel", "core/estimate"}},
            {"core/jobs", second + Modules{"core/parallel", "core/scenario"}},
            {"core/run", all_core},
            {"core/launch", base},
            {"backends", backend + Modules{"core/run", "core/launch", "backends/*"}},  // the registry
            {"app/i18n", base},
            {"app/html", base + Modules{"core/trace", "core/time", "app/i18n"}},
            {"app/launch", base + Modules{"core/launch", "backends/tcp"}},
            {"app/cli", all_core + Modules{"app/html", "app/i18n", "app/launch", "backends"}},
            {"app/web",
             all_core + Modules{"app/cli", "app/i18n", "app/gui/main", "app/gui/session", "backends"}},
            {"app/gui/view", seen_by_view},
            {"app/gui/sandbox", base + Modules{"core/scenario", "core/parallel"}},  // what strategies declare
            {"app/gui/panels", window + Modules{"core/estimate"}},                  // the figures of a plan
            {"app/gui/window", window},
            // comm: to hold ranks; fibers: what a page, which has one thread, does beside drawing
            {"app/gui/session",
             window + Modules{"core/run", "core/comm", "core/estimate", "backends", "backends/fibers"}},
            {"app/gui/main", window + Modules{"app/html", "backends"}},
            {"app/gui", window + Modules{"app/gui/main", "backends"}},  // files beside the modules
        };
        for (const char* name : {"threads", "tcp", "mpi"}) made[std::string("backends/") + name] = backend;
        made["backends/fibers"] =
            backend + Modules{"backends/threads"};                      // the same, but for what ranks run on
        made["backends/cuda"] = backend + Modules{"backends/threads"};  // its ranks are threads
        made["backends/nccl"] = backend + Modules{"backends/cuda"};     // the table of a GPU module
        return made;
    }();
    return modules;
}

/// Modules that draw: only these may see a window header.
const std::set<std::string> kDrawing{"app/gui", "app/gui/main", "app/gui/panels", "app/gui/window",
                                     "app/gui/session"};

/// Headers outside the tree: generated (the version) or supplied by tests/stand_in.
const std::set<std::string> kGenerated{"meshscope_version.h", "simt.h"};

const std::regex kInclude(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
const std::regex kWindowHeader(
    R"re((^|/)(imgui|imconfig|imstb|stb_image)[^/]*$|^(GL|GLES\d?|GLFW|EGL|KHR|X11|epoxy)/)re");
const std::regex kOutsideHeader(
    R"re(^(mpi|cuda|cublas|nccl|nvml|hip)[^/]*\.h$|^(cuda|nccl)/|^sys/(socket|un|epoll)\.h$|^(netinet|arpa|net)/|^netdb\.h$)re");
const std::regex kGetenv(R"re(\b(secure_)?getenv\b)re");

/// Takes comments and quoted text out of a file, line by line.
class CodeOnly {
  public:
    std::string operator()(const std::string& line) {
        std::string code;
        char quote = 0;
        for (size_t i = 0; i < line.size(); ++i) {
            if (in_comment_) {
                if (line.compare(i, 2, "*/") == 0) {
                    in_comment_ = false;
                    ++i;
                }
            } else if (quote != 0) {
                if (line[i] == '\\') {
                    ++i;
                } else if (line[i] == quote) {
                    quote = 0;
                }
            } else if (line.compare(i, 2, "//") == 0) {
                break;
            } else if (line.compare(i, 2, "/*") == 0) {
                in_comment_ = true;
                ++i;
            } else if (line[i] == '"' ||
                       (line[i] == '\'' &&
                        (i == 0 || std::isalnum(static_cast<unsigned char>(line[i - 1])) == 0))) {
                quote = line[i];  // a ' after a digit is a separator: 1'000
            } else {
                code += line[i];
            }
        }
        return code;
    }
    bool in_comment() const { return in_comment_; }

  private:
    bool in_comment_ = false;
};

bool may_include(const std::string& module, const std::string& other) {
    if (module == other) return true;
    const Modules& allowed = table().at(module);
    const auto fits = [&](const std::string& entry) {
        return entry == other ||
               (entry.ends_with("/*") && other.starts_with(entry.substr(0, entry.size() - 1)));
    };
    return std::any_of(allowed.begin(), allowed.end(), fits);
}

struct File {
    fs::path root;
    std::string name;
    std::string module;
    bool is_test = false;
};

std::string judge_quoted(const File& file, const std::string& path) {
    if (path.find("../") != std::string::npos)
        return "include by \"../\": " + path + "; write the path from the root";
    if (kGenerated.contains(path)) return {};
    // A test may name a helper in its own folder shortly.
    if (file.is_test && fs::is_regular_file((file.root / file.name).parent_path() / path)) return {};
    if (!fs::is_regular_file(file.root / path)) return "no file " + path + " below the root";
    if (file.is_test) return {};
    const std::string other = module_of(path);
    if (path.starts_with("tests/")) return file.module + " may not include tests: " + path;
    if (!table().contains(other)) return other + " is no module of the table: " + path;
    if (!may_include(file.module, other)) return file.module + " may not include " + other + ": " + path;
    return {};
}

std::string judge_include(const File& file, bool quoted, const std::string& path) {
    if (!file.is_test && !kDrawing.contains(file.module) && std::regex_search(path, kWindowHeader))
        return file.module + " may not include a window header: " + path;
    if (!file.is_test && file.module.starts_with("core/") && std::regex_search(path, kOutsideHeader))
        return file.module + " may not include an outside dependency's header: " + path;
    if (quoted) return judge_quoted(file, path);
    if (path.find("../") != std::string::npos)
        return "include by \"../\": " + path + "; write the path from the root";
    return {};
}

bool may_getenv(const File& file) {
    const std::string leaf = fs::path(file.name).filename().string();
    return file.is_test || file.name.starts_with("app/") ||
           (file.name.starts_with("backends/") && leaf.starts_with("launch"));
}

void check_file(const File& file, std::vector<Violation>& found) {
    std::ifstream in(file.root / file.name);
    CodeOnly code_only;
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
        const bool commented = code_only.in_comment();
        const std::string code = code_only(line);
        std::smatch match;
        if (!commented && std::regex_search(line, match, kInclude)) {
            const std::string what = judge_include(file, match[1] == "\"", match[2]);
            if (!what.empty()) found.push_back({file.name, number, what});
        } else if (!may_getenv(file) && std::regex_search(code, kGetenv)) {
            found.push_back({file.name, number, "getenv belongs into app/ or a backend's launch code"});
        }
    }
}

bool is_code(const fs::path& path) {
    const std::string extension = path.extension().string();
    return extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh";
}

}  // namespace

std::string module_of(const std::string& file) {
    const fs::path folder = fs::path(file).parent_path();
    std::vector<std::string> parts;
    for (const fs::path& part : folder) parts.push_back(part.string());
    const size_t depth = parts.size() > 1 && parts[0] == "app" && parts[1] == "gui" ? 3 : 2;
    std::string module;
    for (size_t i = 0; i < std::min(depth, parts.size()); ++i) module += (i == 0 ? "" : "/") + parts[i];
    return module;
}

std::vector<Violation> check_tree(const fs::path& root) {
    std::vector<std::string> names;
    for (const char* top : {"core", "backends", "app", "tests"}) {
        if (!fs::is_directory(root / top)) continue;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top))
            if (entry.is_regular_file() && is_code(entry.path()))
                names.push_back(fs::relative(entry.path(), root).generic_string());
    }
    std::sort(names.begin(), names.end());
    std::vector<Violation> found;
    for (const std::string& name : names) {
        const File file{root, name, module_of(name), name.starts_with("tests/")};
        if (!file.is_test && !table().contains(file.module)) {
            found.push_back(
                {name, 1, file.module + " is no module of the table in tests/layers/include_rules.cpp"});
            continue;
        }
        check_file(file, found);
    }
    return found;
}

}  // namespace meshscope::layers
