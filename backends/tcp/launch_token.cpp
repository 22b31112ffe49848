#include "backends/tcp/launch_token.h"

#include <cstdlib>

namespace meshscope::backends::tcp {

std::optional<Token> token_of_environment() {
    if (const char* text = std::getenv(kTokenVariable); text != nullptr && *text != '\0')
        return Token::from_hex(text);
    if (const char* path = std::getenv(kTokenFileVariable); path != nullptr && *path != '\0')
        return Token::from_file(path);
    return std::nullopt;
}

}  // namespace meshscope::backends::tcp
