#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace meshscope::cli {

/// What this machine has, as far as it can be seen cheaply: files are looked at, nothing is started.
struct Machine {
    std::string cpu;
    int cores = 0;  ///< that this process may use
    int64_t memory_bytes = 0;
    int64_t memory_available_bytes = 0;
    std::vector<std::string> chinese_fonts;  ///< font files with Chinese glyphs that the window can load
    std::string display;                     ///< DISPLAY; "" = none
    bool egl = false;                        ///< libEGL.so.1 can be loaded (drawing without a display)
    bool opengl = false;                     ///< libGL.so.1 can be loaded
    std::string ffmpeg;            ///< path of the program; "" = none (films stay folders of pictures)
    int64_t open_files_limit = 0;  ///< -1 = unlimited
    int64_t address_space_limit_bytes = 0;  ///< -1 = unlimited
};

/// Looks. Missing facts stay empty or 0.
Machine look_at_machine(const std::function<std::string(const char*)>& environment);

/// Ties the calling thread to one of the usable cores: the one at `place`, counted around. Does nothing where
/// the system refuses.
void pin_thread(int place);

/// The program's path in the folders of PATH; "" when none has it.
std::string find_program(const std::string& name, const std::string& path_variable);

}  // namespace meshscope::cli
