#pragma once

#include <string>

namespace meshscope {

/// A new, empty folder in the system's place for temporary files, readable by this user alone; gone with all
/// that lies in it when the object goes.
///
/// A process that is killed leaves its folder. So each holds a file, kTemporaryMarker, that its process keeps
/// locked: whoever makes another folder of that name removes those of this user whose marker nobody locks.
class TemporaryFolder {
  public:
    /// Its name begins with `name` and a dot; `place`: a folder to make it in, "" for the system's. Throws
    /// IoError "file.cannot_write" {path, reason}.
    explicit TemporaryFolder(const std::string& name, const std::string& place = "");
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
    int marker_ = -1;  ///< open, and locked
};

inline constexpr const char* kTemporaryMarker = ".meshscope-temporary";

}  // namespace meshscope
