// A trace file, byte by byte: SQLite's own format, our header and our checksums.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "core/trace/store.h"
#include "tests/fuzz/target.h"

namespace {

/// A file of this process, written anew for each input and removed at the end.
class Scratch {
  public:
    Scratch() {
        file_ = mkstemp(name_.data());
        if (file_ < 0) std::abort();
    }
    ~Scratch() {
        close(file_);
        unlink(name_.c_str());
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::string hold(std::string_view bytes) const {
        if (ftruncate(file_, 0) != 0 ||
            pwrite(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
            std::abort();
        return name_;
    }

  private:
    std::string name_ = (std::filesystem::temp_directory_path() / "meshscope-fuzz-XXXXXX").string();
    int file_ = -1;
};

}  // namespace

FUZZ_TARGET(trace_file) {
    static const Scratch scratch;
    try {
        static_cast<void>(meshscope::trace::read_trace(scratch.hold(input)));
    } catch (const meshscope::InputError&) {
    }
}
