#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace meshscope::fuzz {

/// A file of this process for readers that take a path, written anew for each input and removed at the end.
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

    /// The file's path; it holds `bytes`.
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

}  // namespace meshscope::fuzz
