#pragma once

#include <exception>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/message.h"

namespace meshscope {

/// Everything the engine throws. `message()` is what a person is told (in their language, by app/i18n);
/// `what()` is the same as describe(message()), for logs.
class Error : public std::exception {
  public:
    explicit Error(Message message);
    const Message& message() const noexcept { return message_; }
    const char* what() const noexcept override { return what_.c_str(); }

  private:
    Message message_;
    std::string what_;
};

/// A caller broke a function's contract, or asked a question that has no answer (an impossible mesh).
class InvalidArgument : public Error {
    using Error::Error;
};

/// Where in a user's file something stands. Lines and columns count from 1 (columns in code points); 0 =
/// unknown. `byte` counts from 0; -1 = unknown.
struct SourcePosition {
    std::string file;
    int line = 0;
    int column = 0;
    int64_t byte = -1;
};

/// One mistake in a user's file. `hint` (id may be empty) says what would be right.
struct Diagnostic {
    Message message;
    SourcePosition position;
    Message hint;
};

/// A user's file cannot be used: every mistake found in it, each once, in file order, never empty. Exit code 65.
class InputError : public Error {
  public:
    explicit InputError(std::vector<Diagnostic> diagnostics);
    const std::vector<Diagnostic>& diagnostics() const noexcept { return diagnostics_; }

  private:
    std::vector<Diagnostic> diagnostics_;
};

/// The system refused to read or write a file. Exit code 74.
class IoError : public Error {
    using Error::Error;
};

/// The user stopped the work. Exit code 130.
class Cancelled : public Error {
    using Error::Error;
};

/// A collective or a transfer failed: on which rank, in which group, at which call, and why.
class CommError : public Error {
  public:
    CommError(Message message, GlobalRank rank, bool secondary = false);
    GlobalRank rank() const noexcept { return rank_; }
    /// True when this rank only stopped because another failed first; the other's error is the cause.
    bool secondary() const noexcept { return secondary_; }

  private:
    GlobalRank rank_;
    bool secondary_;
};

/// A device (memory, driver) said no.
class DeviceError : public Error {
    using Error::Error;
};

}  // namespace meshscope
