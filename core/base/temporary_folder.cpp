#include "core/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/base/error.h"

namespace meshscope {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const std::string& name, const std::string& place) {
    std::error_code error;
    const fs::path usual = fs::temp_directory_path(error), general = error ? fs::path("/tmp") : usual;
    path_ = ((place.empty() ? general : fs::path(place)) / (name + "-XXXXXX")).string();
    if (mkdtemp(path_.data()) == nullptr)
        throw IoError(
            {"file.cannot_write", {{"path", path_}, {"reason", std::generic_category().message(errno)}}});
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
}

}  // namespace meshscope
