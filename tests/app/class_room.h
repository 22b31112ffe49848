#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "display.h"
#include "tests/folder.h"

namespace meshscope::test {

/// The window of a class, under a display of its own, with settings of its own.
class ClassRoom {
  public:
    /// On the welcome page; a scenario "ring" was open lately, of two ranks that are to disagree on a root.
    ClassRoom();

    /// Opens the window; the one before must have been closed.
    void start(const std::vector<std::string>& words);
    DrivenApp& app() { return *app_; }
    const Folder& folder() const { return folder_; }
    nlohmann::json until(const std::string& what, const std::function<bool(const nlohmann::json&)>& wanted,
                         int patience = 1) const;
    nlohmann::json view(const std::string& key, const std::string& name) const;
    /// Finds a command or a lesson by its words, and does it.
    void palette(const std::string& words) const;
    /// Asks for an export of what is seen; returns when it is under way or was refused.
    void export_to(const std::string& path) const;

  private:
    Folder folder_;
    VirtualDisplay display_;
    std::unique_ptr<DrivenApp> app_;
};

/// Of the shapes of that kind the widest that is no higher than a line: the words, not what they stand by.
nlohmann::json line_of_words(const nlohmann::json& state, const std::string& kind, int a);

/// Whether PATH has a program of that name.
bool in_path(const std::string& program);

}  // namespace meshscope::test
