#include "app/gui/session/unfinished.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/gui/sandbox/edit_text.h"
#include "core/base/error.h"
#include "core/base/replace_file.h"

namespace meshscope::session {
namespace {

namespace fs = std::filesystem;

/// "63_hsdp · shape" as a file's name: 63_hsdp-shape.
std::string file_name(const std::string& run) {
    std::string name;
    for (const char c : run) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           c == '_' || c == '.';
        if (plain)
            name += c;
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    if (name.empty() || name.front() == '.') name = "scenario" + name;
    return name;
}

std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The text as a file of its own can have it; what is no scenario yet stays as it was typed.
std::string text_to_keep(const std::string& text, const std::string& path, const std::string& folder) {
    try {
        return sandbox::saved_text(text, sandbox::SaveForm::whole, fs::path(path).parent_path().string(),
                                   folder);
    } catch (const Error&) {
        return text;
    }
}

std::string keep(const std::string& text, const std::string& path, const std::string& name,
                 const std::string& folder) {
    std::error_code none;  // a folder that cannot be made is told by the file
    fs::create_directories(folder, none);
    const std::string kept = text_to_keep(text, path, folder);
    for (int i = 1;; ++i) {
        const fs::path file =
            fs::path(folder) / (file_name(name) + (i == 1 ? "" : "-" + std::to_string(i)) + ".toml");
        if (fs::exists(file, none) && content(file) != kept) continue;
        replace_file(file.string(), kept);
        return file.string();
    }
}

}  // namespace

std::vector<Unfinished> keep_unfinished(const AppState& s, const RunRequest* run, const std::string& saved,
                                        const std::string& folder,
                                        const std::function<void(const Message&)>& refused) {
    std::vector<Unfinished> kept;
    const auto keep_text = [&](const char* what, const std::string& name, const std::string& text,
                               const std::string& path) {
        try {
            kept.push_back({what, name, keep(text, path, name, folder)});
        } catch (const Error& error) {
            refused(error.message());
        }
    };
    if (run != nullptr) keep_text("run", run->name, run->text, run->path);
    const auto keep_edits = [&](const SandboxState& sandbox) {
        const sandbox::Draft& draft = sandbox.draft;
        const bool elsewhere = draft.text() == saved || (run != nullptr && draft.text() == run->text);
        if (draft.can_undo() && !elsewhere)
            keep_text("edits", sandbox::run_name(sandbox.name, draft.changed_keys()), draft.text(),
                      draft.path());
    };
    if (s.sandbox) keep_edits(*s.sandbox);
    for (const SandboxState& other : s.other_sandboxes) keep_edits(other);
    const bool runs = s.loading && s.loading->steps > 0 && !s.loading->file.empty();
    if (runs) kept.push_back({"run", s.loading->name, s.loading->file});
    if (s.exporting) kept.push_back({"export", "", s.exporting->path});
    return kept;
}

}  // namespace meshscope::session
