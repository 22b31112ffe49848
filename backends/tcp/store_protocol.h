#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/tcp/bytes.h"

namespace meshscope::backends::tcp {

inline constexpr std::size_t kMostKeyBytes = 256;
inline constexpr std::size_t kMostValueBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMostKeys = 65'536;
inline constexpr std::size_t kMostTableBytes = std::size_t{64} << 20;

/// Where a client that goes because of what the store holds (its rank is taken) says why, a packed message;
/// so whoever serves the store hears of it, too.
inline constexpr const char* kRefusedKey = "refused";

enum class StoreOp : uint8_t { set = 1, get = 2, wait = 3, add = 4, compare_set = 5, keys = 6, erase = 7 };

/// What a client asks.
struct StoreRequest {
    StoreOp op = StoreOp::get;
    std::string key;      ///< of keys: the prefix
    std::string value;    ///< of set; of compare_set: what it must be
    std::string desired;  ///< of compare_set
    int64_t number = 0;   ///< of add: the delta; of wait: milliseconds
};

enum class StoreStatus : uint8_t { ok = 0, missing = 1, late = 2, refused = 3 };

/// What the server says.
struct StoreAnswer {
    StoreStatus status = StoreStatus::ok;
    std::string text;  ///< a value; when refused, why
    int64_t number = 0;
    std::vector<std::string> keys;
};

Buffer encode(const StoreRequest& request);
Buffer encode(const StoreAnswer& answer);
/// Pure; nothing when the bytes are no request or one beyond the limits.
std::optional<StoreRequest> decode_request(ByteSpan bytes);
std::optional<StoreAnswer> decode_answer(ByteSpan bytes);

/// The keys and values, with their limits. No sockets.
class StoreTable {
  public:
    /// Answers at once; a wait for a missing key gives `missing`, and the caller keeps it. Refused:
    /// "store_full", "not_a_number", "overflow", "answer_too_long".
    StoreAnswer apply(const StoreRequest& request);
    std::size_t bytes() const { return bytes_; }

  private:
    StoreAnswer put(const std::string& key, const std::string& value);
    StoreAnswer add(const StoreRequest& request);
    StoreAnswer list(const std::string& prefix) const;

    std::map<std::string, std::string> values_;
    std::size_t bytes_ = 0;
};

}  // namespace meshscope::backends::tcp
