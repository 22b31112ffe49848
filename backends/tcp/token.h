#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace meshscope::backends::tcp {

/// 32 bytes: a nonce, a proof, or a key.
using Bytes32 = std::array<std::byte, 32>;

/// The secret that all processes of one job share: 32 random bytes, made by the launcher, handed on by
/// environment or in a file that only its owner can read, never as an argument (arguments are public). An
/// empty token is allowed on loopback alone; whoever can open a connection there may then join.
class Token {
  public:
    Token() = default;
    /// Throws IoError "tcp.no_random" when the system gives no random bytes.
    static Token random();
    /// 64 hex digits; white space around them is ignored. Throws InvalidArgument "tcp.token_malformed"
    /// {digits}; the text itself is never shown.
    static Token from_hex(std::string_view text);
    /// Reads 64 hex digits from a file. Throws IoError: "tcp.token_file_unreadable" {path, reason};
    /// "tcp.token_file_permissions" {path, mode} when others may read or write it, or it is not ours;
    /// InvalidArgument "tcp.token_malformed".
    static Token from_file(const std::string& path);
    /// Makes the file, which must not be there, readable by its owner alone. Throws IoError
    /// "file.cannot_write".
    void write_file(const std::string& path) const;

    bool empty() const { return !set_; }
    std::string hex() const;

    /// HMAC-SHA256 (RFC 2104) of the parts, one after the other, under this token. Each part's length goes
    /// in before it, so that no two lists of parts have the same text.
    Bytes32 prove(std::span<const std::span<const std::byte>> parts) const;

  private:
    Bytes32 key_{};
    bool set_ = false;
};

/// Equality whose time does not depend on where the two differ.
bool same_bytes(const Bytes32& a, const Bytes32& b);

/// 32 bytes that nobody can guess. Throws IoError "tcp.no_random".
Bytes32 random_bytes();

}  // namespace meshscope::backends::tcp
