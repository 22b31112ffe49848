#include "backends/tcp/limits.h"

#include "backends/tcp/handshake.h"
#include "backends/tcp/socket.h"
#include "core/base/error.h"

namespace meshscope::backends::tcp {

void check_exposure(const std::string& bind, const Token& token, const std::string& run_id) {
    if (!is_loopback(bind) && token.empty()) throw InvalidArgument({"tcp.token_required", {{"bind", bind}}});
    if (run_id.size() > kMostRunIdBytes)
        throw InvalidArgument({"tcp.run_id_too_long",
                               {{"bytes", static_cast<int64_t>(run_id.size())},
                                {"most", static_cast<int64_t>(kMostRunIdBytes)}}});
}

}  // namespace meshscope::backends::tcp
