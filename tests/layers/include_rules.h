#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace meshscope::layers {

/// One line that breaks a rule.
struct Violation {
    std::string file;  ///< from the root: "core/mesh/layout.h"
    int line = 0;
    std::string what;

    std::string text() const { return file + ":" + std::to_string(line) + ": " + what; }
};

/// Reads every C++ file below core/, backends/, app/ and tests/ of `root` and checks
/// - who may include whom: the table of modules in include_rules.cpp (design: base ← mesh, tensor, trace ←
/// comm, memory,
///   nn, data, time ← parallel ← scenario ← run; backends see base, tensor, comm, trace and never each other;
///   the window's view-models see trace, mesh, time, memory, scenario; only the window's session sees run);
/// - every quoted include names a file from the root, never by "../", and every module is in the table;
/// - no window header (ImGui, OpenGL, GLFW, EGL) outside the window's drawing modules, no MPI, CUDA, NCCL or
/// socket header
///   in core;
/// - getenv only in app/ and in backends' launch code.
/// Code in tests/ may include any module, and helpers of its own folder by their bare name. Comments and text
/// in quotes are not looked at. Result in order of file and line.
std::vector<Violation> check_tree(const std::filesystem::path& root);

/// The module a file belongs to: "core/mesh", "backends/threads", "backends" (the registry), "app/gui/view",
/// "app/gui".
std::string module_of(const std::string& file);

}  // namespace meshscope::layers
