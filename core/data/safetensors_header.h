#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/kinds.h"
#include "core/tensor/tensor.h"

namespace meshscope::data {

/// The most a header may take, as in the safetensors library.
inline constexpr uint64_t kMostHeaderBytes = 100'000'000;

/// The word of a dtype in a header ("F32"); "" where the format, or this reader, has none.
std::string_view safetensors_dtype(DType dtype);

/// What a header says of one array. Bytes count from the end of the header.
struct HeaderEntry {
    std::string name;
    DType dtype = DType::float32;
    tensor::Shape shape;
    int64_t begin = 0;
    int64_t end = 0;
    int64_t position = 0;  ///< where in the file the entry stands, for messages
};

/// Reads a header: `text` begins at byte 8 of the file at `path`, and `data_bytes` follow it. Returns the
/// arrays in the order of their bytes, which are known to lie side by side from 0 to `data_bytes`. Throws
/// InputError with every array that is wrong (at most 20), or the first mistake of the JSON.
std::vector<HeaderEntry> parse_safetensors_header(std::string_view text, int64_t data_bytes,
                                                  const std::string& path);

/// An InputError of one mistake at `byte` of `path`.
[[noreturn]] void refuse_safetensors(const std::string& path, int64_t byte, Message message);

}  // namespace meshscope::data
