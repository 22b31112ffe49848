#pragma once

#include <cstdint>
#include <optional>

namespace meshscope {

/// What a process may still map before a limit of its own stops it, however much memory the machine has.
struct AddressSpace {
    int64_t left_bytes = 0;
    bool data = false;  ///< it is the limit of data (ulimit -d), not that of all addresses (ulimit -v)
};

/// The tighter of RLIMIT_AS and RLIMIT_DATA, less what is mapped; nothing where there is no limit.
std::optional<AddressSpace> address_space_left();

/// Whether so many bytes more could be mapped, to be written: tried, and given back. Heeds what the kernel
/// heeds, also where it promises no more than it has. For libraries that do not see that mapping failed.
/// Cost: two system calls.
bool can_map(int64_t bytes);

/// Whether mapping may fail while the machine has memory: where one of the limits is set, or the kernel
/// promises no more than it has. Cost: some system calls.
bool is_mapping_limited();

/// The addresses that a new thread's stack takes (ulimit -s).
int64_t thread_stack_bytes();

/// For the beginning of a program, where addresses are limited: has malloc keep to few arenas (each thread
/// would take 64 MiB for its own), and holds back some memory, which the first allocation that fails gives up:
/// what comes to its end then, and tells of it, must not fail in its turn.
void spare_address_space();

/// Gives that up; for who finds that there is no memory without asking `new`.
void give_up_reserve() noexcept;

}  // namespace meshscope
