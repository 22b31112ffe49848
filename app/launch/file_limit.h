#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace meshscope::launch {

/// What a launcher holds open while its workers run.
struct OpenFiles {
    int64_t least = 0;   ///< without these it cannot go on
    int64_t wanted = 0;  ///< with all that may come besides: further nodes, strangers at the store
};

/// This process's limit of open files (RLIMIT_NOFILE), raised where it is lower than what is wanted, as far
/// as the system lets us; as it was before when the object goes.
class FileLimit {
  public:
    /// Throws IoError "launch.too_few_files" {workers, needed, most} where not even the least is allowed.
    FileLimit(const OpenFiles& files, int32_t workers);
    ~FileLimit();
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

    /// The limit as this process was given it, which its workers shall have.
    const rlimit& given() const { return given_; }

  private:
    rlimit given_{};
    bool is_raised_ = false;
};

}  // namespace meshscope::launch
