#include "core/data/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/file_kind.h"
#include "core/base/replace_file.h"
#include "core/data/safetensors_header.h"
#include "core/tensor/dtype.h"

namespace meshscope::data {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian, and so are our copies");

constexpr int64_t kLengthBytes = 8;

/// Bytes that can be asked for by position.
class Source {
  public:
    virtual ~Source() = default;
    virtual int64_t size() const = 0;
    /// Fills `out` from `offset` on, which is known to lie inside.
    virtual void read(int64_t offset, std::span<std::byte> out) const = 0;
};

class MemorySource final : public Source {
  public:
    explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
    int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
    void read(int64_t offset, std::span<std::byte> out) const override {
        if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    }

  private:
    std::string_view bytes_;
};

class FileSource final : public Source {
  public:
    explicit FileSource(const std::string& path) : path_(path) {
        // Not blocking: a pipe of that name must not hang the program before it is refused.
        file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file_ < 0) refuse(errno);
        struct stat status {};
        if (fstat(file_, &status) != 0) close_and_refuse(errno);
        if (!S_ISREG(status.st_mode)) close_and_refuse(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
        size_ = status.st_size;
    }
    ~FileSource() override { close(file_); }
    FileSource(const FileSource&) = delete;
    FileSource& operator=(const FileSource&) = delete;

    int64_t size() const override { return size_; }
    void read(int64_t offset, std::span<std::byte> out) const override {
        while (!out.empty()) {
            const ssize_t got = pread(file_, out.data(), out.size(), offset);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) refuse(errno);
            if (got == 0) refuse(EIO);  // the file shrank while it was read
            offset += got;
            out = out.subspan(static_cast<std::size_t>(got));
        }
    }

  private:
    [[noreturn]] void refuse(int error) const {
        throw IoError({"safetensors.cannot_read",
                       {{"path", path_}, {"reason", std::generic_category().message(error)}}});
    }
    [[noreturn]] void close_and_refuse(int error) const {
        close(file_);
        refuse(error);
    }

    std::string path_;
    int file_ = -1;
    int64_t size_ = 0;
};

SafetensorsFile read_from(const Source& source, const std::string& path) {
    const int64_t size = source.size();
    if (size < kLengthBytes) refuse_safetensors(path, size, {"safetensors.too_short", {{"bytes", size}}});
    std::array<std::byte, kLengthBytes> length_bytes{};
    source.read(0, length_bytes);
    const auto length = std::bit_cast<uint64_t>(length_bytes);
    // In this order, so that the number is known to be small before it is used as one.
    if (length > kMostHeaderBytes)
        refuse_safetensors(
            path, 0,
            {"safetensors.header_too_large",
             {{"header", std::to_string(length)}, {"limit", static_cast<int64_t>(kMostHeaderBytes)}}});
    const auto header_bytes = static_cast<int64_t>(length);
    if (header_bytes > size - kLengthBytes)
        refuse_safetensors(path, 0,
                           {"safetensors.header_beyond_file", {{"header", header_bytes}, {"bytes", size}}});
    std::string header(static_cast<std::size_t>(header_bytes), '\0');
    source.read(kLengthBytes, std::as_writable_bytes(std::span(header)));
    if (header.empty() || header.front() != '{')
        refuse_safetensors(path, kLengthBytes, {"safetensors.header_start", {}});

    const int64_t data_begin = kLengthBytes + header_bytes;
    SafetensorsFile file;
    for (HeaderEntry& entry : parse_safetensors_header(header, size - data_begin, path)) {
        NamedTensor tensor{std::move(entry.name), entry.dtype, std::move(entry.shape), {}};
        tensor.bytes.resize(static_cast<std::size_t>(entry.end - entry.begin));
        source.read(data_begin + entry.begin, tensor.bytes);
        file.tensors.push_back(std::move(tensor));
    }
    return file;
}

/// A tensor's bytes as numbers of T.
template <class T>
std::vector<T> numbers_of(const std::vector<std::byte>& bytes) {
    std::vector<T> numbers(bytes.size() / sizeof(T));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
    return numbers;
}

[[noreturn]] void wrong_dtype(DType dtype, DType wanted) {
    throw InvalidArgument(
        {"tensor.wrong_dtype", {{"dtype", std::string(name(dtype))}, {"wanted", std::string(name(wanted))}}});
}

/// What the caller may not ask to be written.
void expect_writable(const std::vector<NamedTensor>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const NamedTensor& t = tensors[i];
        const bool twice =
            i > 0 && std::any_of(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(i),
                                 [&](const NamedTensor& other) { return other.name == t.name; });
        const bool fits = static_cast<int64_t>(t.bytes.size()) == t.n_elements() * bytes_per_element(t.dtype);
        if (twice || !fits || t.name == "__metadata__" || safetensors_dtype(t.dtype).empty())
            throw InvalidArgument({"safetensors.write",
                                   {{"tensor", t.name},
                                    {"dtype", std::string(name(t.dtype))},
                                    {"shape", t.shape},
                                    {"bytes", static_cast<int64_t>(t.bytes.size())}}});
    }
}

}  // namespace

int64_t NamedTensor::n_elements() const {
    return tensor::count(shape);
}

std::vector<float> NamedTensor::floats() const {
    if (dtype == DType::float32) return numbers_of<float>(bytes);
    if (dtype != DType::bfloat16) wrong_dtype(dtype, DType::float32);
    const std::vector<uint16_t> halves = numbers_of<uint16_t>(bytes);
    std::vector<float> numbers(halves.size());
    std::ranges::transform(halves, numbers.begin(), tensor::from_bfloat16);
    return numbers;
}

std::vector<int64_t> NamedTensor::integers() const {
    if (dtype == DType::int64) return numbers_of<int64_t>(bytes);
    if (dtype != DType::int32) wrong_dtype(dtype, DType::int64);
    const std::vector<int32_t> narrow = numbers_of<int32_t>(bytes);
    return {narrow.begin(), narrow.end()};
}

NamedTensor named_floats(std::string name, tensor::Shape shape, std::span<const float> numbers) {
    const auto bytes = std::as_bytes(numbers);
    return {std::move(name), DType::float32, std::move(shape), {bytes.begin(), bytes.end()}};
}

const NamedTensor* SafetensorsFile::find(std::string_view name) const {
    const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
    return found == tensors.end() ? nullptr : &*found;
}

SafetensorsFile read_safetensors(const std::string& path) {
    return read_from(FileSource(path), path);
}

SafetensorsFile parse_safetensors(std::string_view bytes, const std::string& path) {
    return read_from(MemorySource(bytes), path);
}

WrittenFile write_safetensors(const std::string& path, std::vector<NamedTensor> tensors, FileMark mark) {
    expect_writable(tensors);
    std::ranges::sort(tensors, [](const NamedTensor& a, const NamedTensor& b) {
        return std::pair(-bytes_per_element(a.dtype), std::string_view(a.name)) <
               std::pair(-bytes_per_element(b.dtype), std::string_view(b.name));
    });
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (mark == FileMark::own) header["__metadata__"] = {{kJsonMark, kJsonMarkValue}};
    int64_t offset = 0;
    for (const NamedTensor& t : tensors) {
        const auto end = offset + static_cast<int64_t>(t.bytes.size());
        header[t.name] = {
            {"dtype", safetensors_dtype(t.dtype)}, {"shape", t.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text;
    try {
        text = header.dump();
    } catch (const nlohmann::json::type_error&) {
        throw InvalidArgument({"safetensors.name", {}});  // a name that is no UTF-8
    }
    text.resize((text.size() + 7) / 8 * 8, ' ');

    ReplaceFile file(path);
    const auto length = std::bit_cast<std::array<char, kLengthBytes>>(static_cast<uint64_t>(text.size()));
    WrittenFile written;
    Crc32c crc;
    const auto write = [&](std::string_view bytes) {
        file.write(bytes);
        crc.add(bytes.data(), bytes.size());
        written.bytes += static_cast<int64_t>(bytes.size());
    };
    write({length.data(), length.size()});
    write(text);
    for (const NamedTensor& t : tensors) write({reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size()});
    file.commit();
    written.crc32c = crc.value();
    return written;
}

}  // namespace meshscope::data
