#include "core/run/checkpoint/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/base/cannot_write.h"
#include "core/run/checkpoint/manifest.h"

namespace meshscope::run::checkpoint {
namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kBetweenLooks{20};

}  // namespace

FolderLock::~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
}

void FolderLock::take(const std::string& folder) {
    if (taken_) return;
    if (folder_ < 0) folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) throw IoError(cannot_write(folder, errno));
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (::flock(folder_, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) break;  // no locks here
        if (std::chrono::steady_clock::now() >= until)
            refuse(folder, {"checkpoint.folder_taken", {}}, {"checkpoint.hint.folder_taken", {}});
        std::this_thread::sleep_for(kBetweenLooks);
    }
    taken_ = true;
}

}  // namespace meshscope::run::checkpoint
