#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/error.h"
#include "core/comm/schedule/own/msccl.h"
#include "core/comm/schedule/own/program.h"
#include "core/comm/schedule/own/toml_form.h"
#include "core/comm/schedule/verify.h"

namespace meshscope::comm {

/// An algorithm that somebody wrote down: read from a TOML file or an MSCCL XML, and proved for every number
/// of ranks before it runs there. docs/algorithms.md describes both forms. Safe to use from many threads.
class OwnAlgorithm {
  public:
    /// Throws IoError, and InputError with every mistake of the file; nothing is proved yet.
    static std::shared_ptr<const OwnAlgorithm> read(const std::string& path);
    /// The same from text. `path` is the file's name, for messages.
    static std::shared_ptr<const OwnAlgorithm> parse(std::string text, const std::string& path);

    CollectiveOp op() const;
    /// What the file calls it, or the file's name without its ending.
    std::string name() const;
    /// The file's name, without its folder.
    std::string file_name() const;
    const std::string& path() const { return path_; }
    const std::string& text() const { return text_; }
    /// Of the file's content: equal on ranks that read the same.
    uint32_t checksum() const { return checksum_; }
    bool is_msccl() const { return std::holds_alternative<own::Msccl>(form_); }

    /// The number of ranks that the file is for; nothing where it is for several.
    std::optional<int32_t> ranks() const;
    /// Whether it is for so many ranks.
    bool fits(int32_t ranks) const;
    /// Why it is not.
    Message misfit(int32_t ranks) const;

    /// Its steps for so many ranks, not proved. Throws InputError where there are none.
    const own::Program& program(int32_t ranks) const;
    /// The same, proved (once for each number of ranks): throws InputError at the line of the step that is
    /// wrong.
    const own::Program& proved(int32_t ranks) const;

    /// Says the steps of query.rank; it is proved for query.ranks.
    int32_t say(const ScheduleQuery& query, const StepSink& sink) const {
        return proved(query.ranks).say(query, sink);
    }

  private:
    struct Made {
        own::Program program;
        bool is_proved = false;
    };
    explicit OwnAlgorithm(std::string text, const std::string& path);
    Made& made(int32_t ranks) const;
    void prove(const own::Program& program) const;

    std::string path_, text_;
    uint32_t checksum_ = 0;
    std::variant<own::Msccl, own::TomlForm> form_;
    mutable std::mutex mutex_;
    mutable std::map<int32_t, std::unique_ptr<Made>> made_;
};

/// "my_ring.toml, 1f2e3d4c": its file's name and checksum.
std::string description(const OwnAlgorithm& algorithm);

namespace own {

/// The collective that a program is proved for: each of its chunks is one element.
ScheduleCall call_of(const Program& program);
/// What is wrong with it, in words, at its line; nothing where it is proved.
std::optional<Diagnostic> flaw_of(const Program& program, const std::string& file, int line);

}  // namespace own
}  // namespace meshscope::comm
