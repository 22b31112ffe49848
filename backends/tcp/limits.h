#pragma once

#include <string>

#include "backends/tcp/token.h"

namespace meshscope::backends::tcp {

/// Refuses to listen where others could join unasked. Throws InvalidArgument: "tcp.token_required" {bind}
/// when `bind` is not loopback and there is no token, "tcp.run_id_too_long" {bytes, most}.
void check_exposure(const std::string& bind, const Token& token, const std::string& run_id);

}  // namespace meshscope::backends::tcp
