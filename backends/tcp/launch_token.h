#pragma once

#include <optional>

#include "backends/tcp/token.h"

namespace meshscope::backends::tcp {

/// Names of the environment variables that carry a token, or the path of a file with one.
inline constexpr const char* kTokenVariable = "MESHSCOPE_TOKEN";
inline constexpr const char* kTokenFileVariable = "MESHSCOPE_TOKEN_FILE";

/// The token of the environment: MESHSCOPE_TOKEN, else the file MESHSCOPE_TOKEN_FILE names, else none. Throws
/// as Token::from_hex and from_file do.
std::optional<Token> token_of_environment();

}  // namespace meshscope::backends::tcp
