#include "core/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/base/error.h"

namespace meshscope {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const std::string& name) {
    std::error_code error;
    const fs::path place = fs::temp_directory_path(error);
    path_ = ((error ? fs::path("/tmp") : place) / (name + "-XXXXXX")).string();
    if (mkdtemp(path_.data()) == nullptr)
        throw IoError(
            {"file.cannot_write", {{"path", path_}, {"reason", std::generic_category().message(errno)}}});
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
}

}  // namespace meshscope
