#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/message.h"

namespace meshscope {

/// Lays values one behind the other in bytes, for another process of the same program on the same kind of
/// machine: numbers and plain structs as they lie in memory, lists and texts behind their count. Not a file
/// format. Cost: one copy.
class Packer {
  public:
    Packer();

    template <class T>
    requires std::is_trivially_copyable_v<T>
    void add(const T& value) { append(&value, sizeof value); }
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void add(const std::vector<T>& list) {
        add(static_cast<uint64_t>(list.size()));
        append(list.data(), list.size() * sizeof(T));
    }
    void add(const std::string& text);
    void add(const std::vector<std::string>& texts);
    void add(const std::vector<std::byte>& bytes) { add<std::byte>(bytes); }

    /// The bytes, closed with a CRC-32C; the packer is of no use after.
    std::vector<std::byte> take();

  private:
    void append(const void* data, std::size_t bytes);
    std::vector<std::byte> bytes_;
};

/// Reads what a Packer laid down, in the same order. Nothing is believed: every count is held against the
/// bytes that are left before anything is allocated. Every function throws InvalidArgument ("pack.damaged",
/// with the place) where the bytes are not a Packer's, or another build's.
class Unpacker {
  public:
    /// Checks the CRC. The bytes must outlive it.
    explicit Unpacker(std::span<const std::byte> bytes);

    template <class T>
    requires std::is_trivially_copyable_v<T> T get() {
        T value{};
        std::memcpy(&value, next(sizeof value), sizeof value);
        return value;
    }
    template <class T>
    requires std::is_trivially_copyable_v<T> std::vector<T> list() {
        const std::size_t n = count(sizeof(T));
        std::vector<T> values(n);
        if (n > 0) std::memcpy(values.data(), next(n * sizeof(T)), n * sizeof(T));
        return values;
    }
    std::string text();
    std::vector<std::string> texts();
    /// Throws unless everything was read.
    void finish() const;
    /// Throws unless `holds`: for what a caller knows of the values.
    void require(bool holds) const;

  private:
    const std::byte* next(std::size_t bytes);
    /// The count of a list whose elements take `each` bytes.
    std::size_t count(std::size_t each);

    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

/// A message with its typed arguments, so that what went wrong in one process can be told in another.
void pack(Packer& packer, const Message& message);
/// Throws InvalidArgument ("pack.damaged").
Message unpack_message(Unpacker& unpacker);

}  // namespace meshscope
