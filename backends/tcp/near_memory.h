#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/tcp/bytes.h"

namespace meshscope::backends::tcp {

/// Less costs more system calls, more pins more pages at once than they are quick for (measured).
inline constexpr std::size_t kNearBlockBytes = std::size_t{1} << 20;

/// An address as it travels between processes.
uint64_t address_of(const void* place);

/// Copies from another process of this machine (process_vm_readv); false when not all of it could be: the
/// process or the memory is not there, or the system does not let us. Cost: 5 to 13 GB/s, and about 1 µs.
bool read_memory(uint32_t pid, uint64_t address, std::span<std::byte> to);

/// Copies to another process (process_vm_writev), likewise.
bool write_memory(uint32_t pid, uint64_t address, ByteSpan from);

}  // namespace meshscope::backends::tcp
