#pragma once

namespace meshscope {

/// A file that is being written under a name of its own, for as long as this object lives: a signal's handler
/// that ends the process at once can remove it (remove_open_parts()). `path` must outlive the object. Of very
/// many at a time those above the 64th are not known.
class OpenPart {
  public:
    explicit OpenPart(const char* path) noexcept;
    OpenPart(const OpenPart&) = delete;
    OpenPart& operator=(const OpenPart&) = delete;
    ~OpenPart();

  private:
    int place_;  ///< -1: not known
};

/// Removes the files that are being written now. Calls nothing that a signal's handler may not call; only for
/// who ends the process next.
void remove_open_parts() noexcept;

}  // namespace meshscope
