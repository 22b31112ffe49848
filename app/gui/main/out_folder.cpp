#include "app/gui/main/out_folder.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/base/cannot_write.h"
#include "core/base/error.h"

namespace meshscope::gui {

void make_out_folder(const std::string& name) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (fs::is_directory(name, error)) return;
    const fs::path folder = fs::absolute(name, error).lexically_normal();
    const fs::path parent = (folder.has_filename() ? folder : folder.parent_path()).parent_path();
    if (!fs::is_directory(parent, error))
        throw IoError({"window.no_folder", {{"path", name}, {"folder", parent.string()}}});
    // Of a name that something else has create_directory() says nothing, or that all is well.
    if (fs::exists(fs::symlink_status(name, error))) throw IoError(cannot_write(name, ENOTDIR));
    if (!fs::create_directory(name, error)) throw IoError(cannot_write(name, error.value()));
}

}  // namespace meshscope::gui
