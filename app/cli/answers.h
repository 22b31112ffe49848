#pragma once

#include <istream>
#include <string>

namespace meshscope::cli {

/// A learner's answers, a line each: typed at a terminal, or what another program or a file writes.
class Answers {
  public:
    enum class From : unsigned char {
        nobody,    ///< every question is followed by its answer
        terminal,  ///< somebody sits there: prompts wait, wrong answers get a second try
        lines      ///< one line a question, no second try, no waiting between the parts
    };

    /// `in` outlives it.
    Answers(From from, std::istream& in) : from_(from), in_(in) {}

    From from() const { return from_; }

    /// The next line, without its line break and cut off where nobody could have typed it (4096 bytes; the
    /// rest of the line is skipped). False when there is none.
    bool next(std::string& line);

    /// The number of the line that was given last, from 1.
    int line() const { return line_; }

  private:
    From from_;
    std::istream& in_;
    int line_ = 0;
};

/// Where the answers of this process come from: nobody with `no_input` or where the questions cannot be seen;
/// a pipe or a file at standard input gives lines. Other things there (/dev/null, a socket, nothing) give
/// none.
Answers::From answers_from(bool no_input, bool in_is_tty, bool out_is_tty);

}  // namespace meshscope::cli
