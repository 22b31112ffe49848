#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/open_parts.h"

namespace meshscope {

/// Makes a file so that a reader of `path` sees the old file or the whole new one, never a part: what is
/// written goes to part_path(), beside it; commit() forces it to the disk and renames it. Without a commit
/// the part is removed and the old file stays as it was, also where a signal ends the process (open_parts.h).
/// When `path` is a symbolic link, what it leads to is written and the link stays.
class ReplaceFile {
  public:
    /// Creates the part. Throws IoError "file.cannot_write" {path, reason} when the folder does not allow it,
    /// or when `path` is a directory; "file.not_regular_output" {path} when it is a device, a pipe or a
    /// socket: a rename would put a file in its place.
    explicit ReplaceFile(std::string path);
    ReplaceFile(const ReplaceFile&) = delete;
    ReplaceFile& operator=(const ReplaceFile&) = delete;
    ~ReplaceFile();

    const std::string& path() const { return path_; }
    const std::string& part_path() const { return part_; }

    /// Appends to the part. Throws IoError "file.cannot_write". Not to be mixed with another writer of the
    /// part.
    void write(std::string_view bytes);

    /// fsync, rename, fsync of the folder. Throws IoError "file.cannot_write"; the old file is intact then,
    /// or, when it is the folder that could not be forced to the disk, the new one is in its place.
    void commit();

  private:
    std::string path_, target_, part_;  ///< target_: path_ with its links followed
    std::optional<OpenPart> open_;      ///< while part_ is there
    int file_ = -1;
    bool committed_ = false;
};

/// What `path` leads to when symbolic links are followed, for writers that are no ReplaceFile. Throws as its
/// constructor does for what is there but no regular file.
std::string file_to_write(const std::string& path);

/// Forces the names in a folder to the disk (fsync), as far as its file system can. Throws IoError
/// "file.cannot_write" {path, reason} when the disk refuses.
void sync_folder(const std::string& folder);

/// The whole of `bytes` as the new content of `path`, as ReplaceFile does it.
void replace_file(const std::string& path, std::string_view bytes);

}  // namespace meshscope
