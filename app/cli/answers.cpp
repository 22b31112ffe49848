#include "app/cli/answers.h"

#include <sys/stat.h>
#include <unistd.h>

namespace meshscope::cli {

bool Answers::next(std::string& line) {
    constexpr std::size_t kLongest = 4096;
    line.clear();
    int c = in_.get();
    if (c == std::istream::traits_type::eof()) return false;
    for (; c != std::istream::traits_type::eof() && c != '\n'; c = in_.get())
        if (line.size() < kLongest) line += static_cast<char>(c);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    ++line_;
    return true;
}

Answers::From answers_from(bool no_input, bool in_is_tty, bool out_is_tty) {
    if (no_input) return Answers::From::nobody;
    if (in_is_tty) return out_is_tty ? Answers::From::terminal : Answers::From::nobody;
    struct stat status {};
    if (fstat(STDIN_FILENO, &status) != 0) return Answers::From::nobody;
    const bool lines = S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode);
    return lines ? Answers::From::lines : Answers::From::nobody;
}

}  // namespace meshscope::cli
