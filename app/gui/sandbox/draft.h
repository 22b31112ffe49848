#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/sandbox/edit_text.h"
#include "app/gui/sandbox/reading.h"

namespace meshscope::sandbox {

/// A scenario that is being edited: its text now, every text it had before, and what the engine's reader says
/// of it. Each edit can be taken back and done again; what is typed in one field without a pause is one edit.
class Draft {
  public:
    /// `text` as it was opened, of the file at `path`.
    Draft(std::string text, std::string path);

    const std::string& text() const { return texts_[at_]; }
    const std::string& path() const { return path_; }
    /// Of the text now. Cost: nothing; read once an edit.
    const Reading& reading() const { return *reading_; }
    /// Those of the text, then those that its last run ended with.
    const std::vector<Mistake>& mistakes() const { return mistakes_; }
    /// The mistakes at one key.
    std::vector<Mistake> mistakes_at(const std::string& key) const;

    /// One edit. `typing`: goes on with the edit of the same key before, if that was typing too. False where
    /// nothing changes.
    bool edit(const std::vector<Change>& changes, bool typing = false);
    /// The text as it was opened, as one more edit; false where it is that already.
    bool start_anew();
    bool can_undo() const { return at_ > 0; }
    bool can_redo() const { return at_ + 1 < texts_.size(); }
    bool undo();
    bool redo();

    /// What a run of the text now ended with: marked until the next edit.
    void run_ended_with(const std::vector<Diagnostic>& found);

    /// The keys that the text gives otherwise than it was opened with, in order.
    std::vector<std::string> changed_keys() const;

  private:
    void read();
    void enter(std::string next);
    std::string path_;
    std::vector<std::string> texts_;
    std::size_t at_ = 0;
    std::string typing_key_;  ///< of the last edit; "": it was no typing
    std::shared_ptr<const Reading> first_, reading_;
    std::vector<Mistake> mistakes_;
};

/// What to call a run of `base` with these keys changed: "63_hsdp · shape, names"; three or more: "63_hsdp ·
/// shape +2".
std::string run_name(const std::string& base, const std::vector<std::string>& changed_keys);

}  // namespace meshscope::sandbox
