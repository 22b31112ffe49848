#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meshscope::run::checkpoint {

/// A folder of checkpoints holds one folder for each, called after the steps done: step_000010. While one is
/// being made it is called step_000010.tmp.
std::string step_name(int32_t steps);

/// The complete checkpoints (those with a manifest) in `folder`, oldest first: their paths. Empty where the
/// folder is absent.
std::vector<std::string> complete_checkpoints(const std::string& folder);

/// The newest complete one of fewer than `steps` steps; "" where there is none.
std::string newest_before(const std::string& folder, int32_t steps);

/// The checkpoint that `path` means: itself when it is one, else the newest complete one inside. Throws
/// InputError ("checkpoint.incomplete", "checkpoint.none_found"), IoError ("checkpoint.cannot_read").
std::string find_checkpoint(const std::string& path);

/// A whole file. Throws IoError ("checkpoint.cannot_read").
std::string read_bytes(const std::string& path);

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

/// Makes `folder`, takes it, and makes in it a step_….tmp with our mark alone, removing every one that an
/// earlier run left. Returns the new folder's path. Throws IoError ("file.cannot_write"), InputError as
/// FolderLock does, and "checkpoint.not_ours" or "checkpoint.not_ours_unfinished" where something that no run
/// made has one of the two names.
std::string begin_checkpoint(const std::string& folder, int32_t steps, FolderLock& lock);

/// Gives a finished step_….tmp its name, at once: a checkpoint of that name is replaced, and what somebody
/// else keeps in its folder lies in the new one. fsync before and after. Throws IoError
/// ("file.cannot_write"); whatever was complete before still is then, and the new one is unfinished again.
void commit_checkpoint(const std::string& folder, int32_t steps);

/// Refuses, before anything is trained, a folder in which one of the checkpoints that are saved after step
/// `after` could not get its name: those of each `every` steps (0: none) and that of step `steps`. Throws
/// InputError as begin_checkpoint() does.
void refuse_taken_places(const std::string& folder, int32_t after, int32_t steps, int32_t every);

/// Removes the oldest complete checkpoints beyond the newest `keep`; 0 keeps all. Only what a run made is
/// counted and removed (own_files.h), as below. What cannot be removed stays.
void prune_checkpoints(const std::string& folder, int32_t keep);

/// Removes the complete checkpoints of more than `steps` steps: those of a run that another one went back
/// behind. What cannot be removed stays.
void drop_checkpoints_after(const std::string& folder, int32_t steps);

/// Removes what a failed or killed save left: every step_….tmp. To be called by who holds the folder
/// (FolderLock): another might be giving one of them its name.
void remove_unfinished(const std::string& folder);

}  // namespace meshscope::run::checkpoint
