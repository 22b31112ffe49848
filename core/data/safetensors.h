#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/kinds.h"
#include "core/tensor/tensor.h"

namespace meshscope::data {

/// One array of a safetensors file. float32, bfloat16, int32, int64 (F32, BF16, I32, I64), little-endian,
/// row-major.
struct NamedTensor {
    std::string name;
    DType dtype = DType::float32;
    tensor::Shape shape;
    std::vector<std::byte> bytes;

    int64_t n_elements() const;
    /// The numbers as float32; bfloat16 is widened, exactly. Throws InvalidArgument ("tensor.wrong_dtype")
    /// for integers.
    std::vector<float> floats() const;
    /// The numbers as int64, of int32 or int64. Throws InvalidArgument ("tensor.wrong_dtype") for others.
    std::vector<int64_t> integers() const;
};

/// A float32 array ready to be written.
NamedTensor named_floats(std::string name, tensor::Shape shape, std::span<const float> numbers);

/// A whole safetensors file.
struct SafetensorsFile {
    std::vector<NamedTensor> tensors;  ///< in the order their bytes stand in the file

    /// The tensor called `name`, or null. Cost: linear in the number of tensors.
    const NamedTensor* find(std::string_view name) const;
};

/// Reads a safetensors file and believes nothing it says: header of at most 100 MB that begins with '{',
/// objects no deeper than the format needs, no key twice, sizes that fit in 64 bits, bytes without holes or
/// overlaps from the end of the header to the end of the file. Nothing is allocated before its size was held
/// against the file's.
///
/// Throws InputError with the file and the byte ("safetensors.…"; the safetensors README and tensor.rs are
/// the rules), IoError ("safetensors.cannot_read": path, reason).
SafetensorsFile read_safetensors(const std::string& path);

/// The same from bytes in memory; `path` is used in messages.
SafetensorsFile parse_safetensors(std::string_view bytes, const std::string& path);

/// What was written: its size, and the CRC-32C of all its bytes.
struct WrittenFile {
    int64_t bytes = 0;
    uint32_t crc32c = 0;
};

/// Whether a file's metadata say that this program wrote it, so that it may be replaced unasked
/// (core/base/file_kind.h).
enum class FileMark : uint8_t { none, own };

/// Writes a safetensors file beside `path` and renames it: an old file stays as it was unless everything went
/// well. Tensors stand in the order of their names, wide dtypes first, so every one is aligned; the header is
/// padded with spaces to a multiple of 8. Throws IoError ("file.cannot_write"), InvalidArgument
/// ("safetensors.write": a name twice, a dtype the format lacks, bytes that do not fit the shape).
WrittenFile write_safetensors(const std::string& path, std::vector<NamedTensor> tensors,
                              FileMark mark = FileMark::none);

}  // namespace meshscope::data
