#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshscope::launch {

/// A program to start: its words, and what is added to (or, with an empty value, taken from) this process's
/// environment.
struct Command {
    std::vector<std::string> words;
    std::vector<std::pair<std::string, std::string>> environment;
    bool own_output =
        false;  ///< it writes where this process writes; else its output is read (Worker::out, err)
    std::optional<rlimit> open_files;  ///< its limit of them; else this process's
};

/// A started program: the leader of a process group of its own, and killed by the system when this process
/// dies.
struct Worker {
    pid_t pid = -1;
    int out = -1, err = -1;     ///< ends of pipes, non-blocking; -1: its own output, or at its end
    std::optional<int> status;  ///< as waitpid gives it, once it has ended
};

/// Starts it, from the main thread alone (the system's promise to kill it hangs on the thread that started
/// it). Throws IoError "launch.cannot_start" {program, reason}: also when the program cannot be executed.
Worker start(const Command& command);

/// Exit code as a shell says it: 128 + signal where one ended it.
int exit_code(int status);

/// Sends a signal to its process group, when it still runs.
void send_signal(const Worker& worker, int signal);

/// Looks whether it has ended; does not wait.
bool has_ended(Worker& worker);

/// Every other process on this machine whose environment holds `variable`=`value` and, unless it is "",
/// a variable `also`. Cost: reads /proc once.
std::vector<pid_t> marked(const std::string& variable, const std::string& value,
                          const std::string& also = "");

/// Kills every process on this machine, other than this one, whose environment holds `variable`=`value`:
/// whatever a worker started, in whatever session. Gives how many.
int kill_marked(const std::string& variable, const std::string& value);

/// A process beside this one that waits for its end, however it comes, and then kills all that are marked;
/// for two seconds, because what is being killed may still start something; then it removes `folders`, with
/// all that lies in them. Ends silently, and with nothing to do, when the object goes.
class Watchdog {
  public:
    Watchdog(std::string variable, std::string value, std::vector<std::string> folders);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    int pipe_ = -1;
    pid_t pid_ = -1;
};

}  // namespace meshscope::launch
