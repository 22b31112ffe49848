#include "app/gui/sandbox/draft.h"

#include <set>

#include "app/gui/sandbox/toml_text.h"

namespace meshscope::sandbox {

Draft::Draft(std::string text, std::string path) : path_(std::move(path)), texts_{std::move(text)} {
    read();
    first_ = reading_;
}

void Draft::read() {
    reading_ = std::make_shared<const Reading>(read_text(text(), path_));
    mistakes_ = reading_->mistakes;
}

std::vector<Mistake> Draft::mistakes_at(const std::string& key) const {
    std::vector<Mistake> found;
    for (const Mistake& mistake : mistakes_)
        if (mistake.key == key) found.push_back(mistake);
    return found;
}

bool Draft::edit(const std::vector<Change>& changes, bool typing) {
    std::string next = changed_text(text(), changes);
    if (next == text()) return false;
    const std::string key = typing && changes.size() == 1 ? changes.front().key : "";
    const bool goes_on = !key.empty() && key == typing_key_ && at_ > 0 && at_ + 1 == texts_.size();
    if (goes_on)
        texts_[at_] = std::move(next);
    else
        enter(std::move(next));
    typing_key_ = key;
    read();
    return true;
}

void Draft::enter(std::string next) {
    texts_.resize(at_ + 1);
    texts_.push_back(std::move(next));
    ++at_;
}

bool Draft::start_anew() {
    if (text() == texts_.front()) return false;
    enter(texts_.front());
    typing_key_.clear();
    read();
    return true;
}

bool Draft::undo() {
    if (!can_undo()) return false;
    --at_;
    typing_key_.clear();
    read();
    return true;
}

bool Draft::redo() {
    if (!can_redo()) return false;
    ++at_;
    typing_key_.clear();
    read();
    return true;
}

void Draft::run_ended_with(const std::vector<Diagnostic>& found) {
    mistakes_ = reading_->mistakes;
    for (const Diagnostic& diagnostic : found) mistakes_.push_back(locate(text(), diagnostic));
}

std::vector<std::string> Draft::changed_keys() const {
    std::set<std::string> keys;
    for (const auto& [key, value] : reading_->values)
        if (first_->value(key) != value) keys.insert(key);
    for (const auto& [key, value] : first_->values)
        if (reading_->values.count(key) == 0) keys.insert(key);
    // A table of several is there as a whole too: its own keys say more.
    std::vector<std::string> changed;
    for (const std::string& key : keys) {
        const auto inner = keys.upper_bound(key + ".");
        if (inner == keys.end() || !inner->starts_with(key + ".")) changed.push_back(key);
    }
    return changed;
}

std::string run_name(const std::string& base, const std::vector<std::string>& changed_keys) {
    if (changed_keys.empty()) return base;
    const std::string first = split_key(changed_keys.front()).back();
    if (changed_keys.size() == 1) return base + " · " + first;
    if (changed_keys.size() == 2) return base + " · " + first + ", " + split_key(changed_keys.back()).back();
    return base + " · " + first + " +" + std::to_string(changed_keys.size() - 1);
}

}  // namespace meshscope::sandbox
