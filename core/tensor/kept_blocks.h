#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace meshscope::tensor {

/// Whether the machine has so many bytes left. The kernel would promise them and kill the program later.
/// Cost: a file read from 64 MiB on.
bool has_room(int64_t bytes);

/// One block from the program's own memory, aligned to 64 bytes: vector loads and cache lines both like that.
/// Null where there is no room.
std::byte* new_block(int64_t bytes) noexcept;
void delete_block(std::byte* memory) noexcept;

/// Large blocks, mapped from the system. Freed ones are kept, neighbours joined, and a request takes
/// the beginning of the smallest that holds it: a training step asks for what the step before gave back,
/// and pages that stay mapped need not be cleared again. Where none holds it, the system is asked, and of the
/// kept ones the oldest go as far as all together would be 2 MiB, or a sixty-fourth, more than the most that
/// was ever in use at once, which is what the memory ledger says: a process' memory grows as its ledger does.
/// From 4 MiB on they ask for huge pages, where the kernel leaves that to programs: who reads another
/// process' memory has the kernel look up each page, which took up to half of the time. Cost: a look at each
/// kept region, some tens. (Unsplit blocks by size need half as much again to serve FSDP2 without page
/// faults, which are 2 to 4 % of its step; malloc's free lists, cut up by small blocks, held twice the
/// ledger's bytes.)
class LargeBlocks {
  public:
    /// Blocks from this size on.
    static constexpr int64_t kLeastBytes = int64_t{256} << 10;

    LargeBlocks() = default;
    ~LargeBlocks();
    LargeBlocks(const LargeBlocks&) = delete;
    LargeBlocks& operator=(const LargeBlocks&) = delete;

    /// Null where the system has no room, even when it gets all kept ones back.
    std::byte* take(int64_t bytes);
    /// `bytes` as they were asked for.
    void put(std::byte* memory, int64_t bytes) noexcept;

  private:
    struct Region {
        int64_t bytes = 0;
        int64_t freed = 0;  ///< when its youngest part was, counted in calls of put()
    };
    /// The smallest kept region that holds `size` bytes, of equal ones the youngest: its lines may still be
    /// close. Its rest stays kept. Null where there is none.
    std::byte* take_kept(int64_t size);
    /// From the system; null where it has no room.
    std::byte* map(int64_t size);
    /// Gives the system `bytes` of the oldest kept regions, or all there are.
    void unmap(int64_t bytes);

    std::mutex mutex_;
    std::map<std::byte*, Region> kept_;  ///< by where they begin; no two of them touch
    int64_t frees_ = 0;
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
    void count(int64_t size);
    /// Of what is in use and kept, where `most` was in use at once.
    static int64_t limit(int64_t most);
    void give_up_kept() noexcept;

    std::mutex mutex_;
    std::unordered_map<int64_t, std::vector<std::byte*>> kept_;  ///< by size in whole cache lines
    int64_t in_use_ = 0, most_in_use_ = 0, kept_bytes_ = 0;
};

}  // namespace meshscope::tensor
