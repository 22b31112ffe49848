#pragma once

#include <string>

namespace meshscope::run::checkpoint {

/// A folder of checkpoints is one run's while that run lasts: two would remove each other's unfinished ones,
/// and take the other's newest for their own. The system gives the folder back when the process ends, however
/// it ends (flock on the folder itself: nothing is written). Where a file system knows no locks, none is
/// kept.
class FolderLock {
  public:
    FolderLock() = default;
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

    /// Takes the folder, which exists; nothing when it was taken before. A run that is just ending is waited
    /// for, two seconds. Throws InputError ("checkpoint.folder_taken") when another one goes on saving there,
    /// IoError ("file.cannot_write").
    void take(const std::string& folder);
    bool taken() const { return taken_; }

  private:
    int folder_ = -1;
    bool taken_ = false;
};

}  // namespace meshscope::run::checkpoint
