#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

/// The built `meshscope` beside other processes: started, watched, killed.
namespace processes {

/// A started program whose output goes to files.
class Child {
  public:
    /// meshscope with these words; `environment`: "NAME=value" beside LC_ALL=C.
    Child(const std::vector<std::string>& words, const std::string& out, const std::string& err,
          const std::vector<std::string>& environment = {});
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const { return pid_; }
    void send(int signal) const;
    /// Exit code, 128 + signal where one ended it; -1 when it did not end within `seconds` (then it is
    /// killed).
    int wait(double seconds);

  private:
    pid_t pid_ = -1;
    bool ended_ = false;
    int code_ = -1;
};

/// What the processes of an MPI job need beside: both libraries leak inside themselves, which is none of our
/// finding.
inline const std::vector<std::string> kUnderMpi{"ASAN_OPTIONS=detect_leaks=0"};

/// The MPI backends that can be tried: none under the thread sanitizer, which would tell Open MPI's own
/// races.
std::vector<std::string> mpi_backends();

/// Every living process whose environment holds all of these.
std::vector<pid_t> having(const std::map<std::string, std::string>& variables);

/// The lines of what processes printed, in no order of theirs.
std::vector<std::string> sorted_lines(const std::string& text);

/// Whether `holds` became true within `seconds`.
bool within(double seconds, const std::function<bool()>& holds);

}  // namespace processes
