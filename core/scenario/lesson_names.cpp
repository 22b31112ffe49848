#include "core/scenario/lesson_names.h"

#include <algorithm>

namespace meshscope::scenario {
namespace {

/// "63_hsdp" is numbered; "my_lesson" is not, and "my" is no name of it.
bool is_numbered(const std::string& folder) {
    const std::size_t bar = folder.find('_');
    return bar != std::string::npos && bar > 0 && folder.find_first_not_of("0123456789") == bar;
}

std::string without_zeros(const std::string& digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

}  // namespace

std::string short_lesson_name(const std::string& folder) {
    return is_numbered(folder) ? folder.substr(folder.find('_') + 1) : folder;
}

bool names_lesson(const std::string& word, const std::string& folder) {
    if (word.empty()) return false;
    if (word == folder || word == short_lesson_name(folder)) return true;
    const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
    return is_number && is_numbered(folder) &&
           without_zeros(word) == without_zeros(folder.substr(0, folder.find('_')));
}

int32_t chapter_of_folder(const std::string& folder) {
    return is_numbered(folder) && folder.find('_') == 2 ? folder.front() - '0' : 0;
}

}  // namespace meshscope::scenario
