#include "app/html/packed_text.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>

namespace meshscope::html {
namespace {

constexpr std::size_t kPiece = std::size_t{3} << 18;  // bytes; a multiple of base64's three

/// RFC 4648, with padding where fewer than three bytes are left.
std::string base64(std::string_view bytes) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned group = 0;
        const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
        for (std::size_t k = 0; k < 3; ++k)
            group = group << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k) text += k <= n ? kLetters[group >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

/// zlib's stream, ended with it.
struct Deflater {
    Deflater() {
        constexpr int kGzip = 15 + 16, kUsualMemory = 8;
        if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kUsualMemory,
                         Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
    }
    ~Deflater() { deflateEnd(&stream); }
    Deflater(const Deflater&) = delete;
    Deflater& operator=(const Deflater&) = delete;
    z_stream stream{};
};

}  // namespace

void write_packed(std::string_view bytes, const trace::TextSink& out) {
    Deflater deflater;
    z_stream& stream = deflater.stream;
    std::string piece(kPiece, '\0');
    std::size_t read = 0;
    for (int code = Z_OK; code != Z_STREAM_END;) {
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        // In pieces, since zlib counts in 32 bits.
        while (stream.avail_out > 0 && code != Z_STREAM_END) {
            if (stream.avail_in == 0 && read < bytes.size()) {
                const std::size_t n = std::min(bytes.size() - read, kPiece);
                stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + read));
                stream.avail_in = static_cast<uInt>(n);
                read += n;
            }
            code = deflate(&stream, read == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
        }
        out(base64(std::string_view(piece).substr(0, piece.size() - stream.avail_out)));
    }
}

}  // namespace meshscope::html
