#include "backends/tcp/token.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "backends/tcp/socket.h"
#include "core/base/cannot_write.h"

namespace meshscope::backends::tcp {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

int value_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

Bytes32 random_bytes() {
    Bytes32 bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw IoError({"tcp.no_random", {{"reason", std::string(std::strerror(errno))}}});
    return bytes;
}

Token Token::random() {
    Token token;
    token.key_ = random_bytes();
    token.set_ = true;
    return token;
}

Token Token::from_hex(std::string_view text) {
    const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    Token token;
    bool good = text.size() == 2 * token.key_.size();
    for (std::size_t i = 0; good && i < token.key_.size(); ++i) {
        const int high = value_of(text[2 * i]);
        const int low = value_of(text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        token.key_[i] = static_cast<std::byte>(high * 16 + low);
    }
    if (!good)
        throw InvalidArgument({"tcp.token_malformed", {{"digits", static_cast<int64_t>(text.size())}}});
    token.set_ = true;
    return token;
}

Token Token::from_file(const std::string& path) {
    const auto unreadable = [&](int error) {
        return IoError(
            {"tcp.token_file_unreadable", {{"path", path}, {"reason", std::string(std::strerror(error))}}});
    };
    // Looked at through the open file, so that what is checked is what is read.
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!file.open()) throw unreadable(errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) throw unreadable(errno);
    if (!S_ISREG(status.st_mode)) throw unreadable(EINVAL);
    if ((status.st_mode & 077U) != 0 || (status.st_uid != ::geteuid() && status.st_uid != 0)) {
        std::string mode = "0";
        for (int shift = 6; shift >= 0; shift -= 3)
            mode += static_cast<char>('0' + ((status.st_mode >> static_cast<unsigned>(shift)) & 7U));
        throw IoError({"tcp.token_file_permissions", {{"path", path}, {"mode", mode}}});
    }
    std::array<char, 256> text{};
    const ssize_t n = ::read(file.get(), text.data(), text.size());
    if (n < 0) throw unreadable(errno);
    Token token = from_hex({text.data(), static_cast<std::size_t>(n)});
    OPENSSL_cleanse(text.data(), text.size());
    return token;
}

void Token::write_file(const std::string& path) const {
    const auto fail = [&] { return IoError(cannot_write(path, errno)); };
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.open()) throw fail();
    const std::string text = hex() + "\n";
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size())) return;
    if (written >= 0) errno = ENOSPC;  // a part of it: there is no room for the rest
    const IoError failed = fail();
    ::unlink(path.c_str());
    throw failed;
}

std::string Token::hex() const {
    std::string text;
    if (!set_) return text;
    for (const std::byte b : key_) {
        text += kDigits[std::to_integer<std::size_t>(b >> 4)];
        text += kDigits[std::to_integer<std::size_t>(b & std::byte{15})];
    }
    return text;
}

Bytes32 Token::prove(std::span<const std::span<const std::byte>> parts) const {
    std::vector<unsigned char> text;
    for (const auto part : parts) {
        for (std::size_t i = 0; i < 8; ++i)
            text.push_back(static_cast<unsigned char>(static_cast<uint64_t>(part.size()) >> (8 * i)));
        for (const std::byte b : part) text.push_back(std::to_integer<unsigned char>(b));
    }
    Bytes32 proof{};
    unsigned int n = 0;
    const unsigned char* const made =
        ::HMAC(EVP_sha256(), key_.data(), set_ ? static_cast<int>(key_.size()) : 0, text.data(), text.size(),
               reinterpret_cast<unsigned char*>(proof.data()), &n);
    // It can only fail when libcrypto is broken or has no memory; a proof of zeros must never pass.
    if (made == nullptr || n != proof.size()) throw std::runtime_error("HMAC-SHA256 failed");
    return proof;
}

bool same_bytes(const Bytes32& a, const Bytes32& b) {
    return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace meshscope::backends::tcp
