#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace meshscope::tensor {

/// One block from the program's own memory, aligned to 64 bytes: vector loads and cache lines both like that.
/// Null where there is no room.
std::byte* new_block(int64_t bytes) noexcept;
void delete_block(std::byte* memory) noexcept;

/// Large blocks, mapped one by one, and the freed ones kept for the next request of their size or up to a
/// fifth less: a training step asks for what the step before gave back, and pages that stay mapped need not
/// be cleared again. When none fits, a new one is made of the oldest kept ones, as far as all of them
/// together would be half as much again as the most that was ever in use at once, which is what the memory
/// ledger says. (With a quarter, every step of FSDP2 asked the system for 1,600 pages again, 2 % of its time;
/// malloc's free lists, cut up by blocks of many sizes, held twice the ledger's bytes.)
class LargeBlocks {
  public:
    /// Blocks from this size on.
    static constexpr int64_t kLeastBytes = int64_t{256} << 10;

    LargeBlocks() = default;
    ~LargeBlocks();
    LargeBlocks(const LargeBlocks&) = delete;
    LargeBlocks& operator=(const LargeBlocks&) = delete;

    /// Null where the system has no room.
    std::byte* take(int64_t bytes);
    /// `bytes` as they were asked for.
    void put(std::byte* memory, int64_t bytes);

  private:
    struct Block {
        std::byte* memory = nullptr;
        int64_t bytes = 0;
    };
    /// Takes kept blocks out, the oldest first, until the rest is at most `bytes`, and unmaps all but the
    /// largest of them, which becomes the new block: its pages need not be cleared.
    Block victim(int64_t bytes);
    void unmap(const Block& block);

    std::mutex mutex_;
    std::deque<Block> kept_;                          ///< oldest first
    std::unordered_map<std::byte*, int64_t> longer_;  ///< in use, with more bytes than were asked for
    int64_t in_use_ = 0, most_in_use_ = 0;
    int64_t mapped_ = 0;  ///< in use and kept
};

/// Smaller blocks, kept by size for the next request of the same size: in a small model's step malloc would
/// take longer to find and to join them than the kernels to fill them. In use and kept together are at most a
/// quarter and 1 MiB more than the most that was ever in use at once; beyond that all kept ones are given up.
class SmallBlocks {
  public:
    SmallBlocks() = default;
    ~SmallBlocks();
    SmallBlocks(const SmallBlocks&) = delete;
    SmallBlocks& operator=(const SmallBlocks&) = delete;

    /// Null where there is no room.
    std::byte* take(int64_t bytes);
    /// `bytes` as they were asked for.
    void put(std::byte* memory, int64_t bytes) noexcept;

  private:
    bool is_too_much(int64_t more) const;
    void give_up_kept() noexcept;

    std::mutex mutex_;
    std::unordered_map<int64_t, std::vector<std::byte*>> kept_;  ///< by size in whole cache lines
    int64_t in_use_ = 0, most_in_use_ = 0, kept_bytes_ = 0;
};

}  // namespace meshscope::tensor
