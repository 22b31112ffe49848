#pragma once

#include <string>
#include <vector>

/// The built `meshscope`, run as a user runs it.
namespace program {

struct Ended {
    int exit_code = -1;  ///< 128 + signal when one ended it
    std::string out, err;
};

struct How {
    int interrupt_after_ms = 0;            ///< > 0: SIGINT then
    std::string out_file;                  ///< where stdout goes instead of `out`
    std::vector<std::string> environment;  ///< "NAME=value" beside LC_ALL=C
};

Ended run(const std::vector<std::string>& words, const How& how = {});

/// The same on a terminal of its own, `typed` being typed into it; `out` is what the terminal showed.
Ended run_on_terminal(const std::vector<std::string>& words, const std::string& typed);

/// A folder of this test run, empty at first and removed at the end.
class Folder {
  public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string path(const std::string& file) const { return path_ + "/" + file; }
    /// Writes a file and gives its path.
    std::string write(const std::string& file, const std::string& text) const;

  private:
    std::string path_;
};

std::string read_file(const std::string& path);

}  // namespace program
