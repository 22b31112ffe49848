#pragma once

#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/comm/native.h"

namespace meshscope::comm {

/// A library that alone can reach the numbers' memory, so everything goes through it: run() also takes send
/// (which ends when its numbers were copied, as everywhere), recv, and the calls of a group of one.
class LibraryOnlyCollectives : public NativeCollectives {};

/// What a transport also is whose groups must all be its library's (LibraryOnlyCollectives), and that can
/// make several in one call, if it knows them all before.
class GroupFactory {
  public:
    virtual ~GroupFactory() = default;
    /// All groups that the ranks of a run will make, in the one order that all ranks share. All ranks say it,
    /// before they ask for any native().
    virtual void announce_groups(std::span<const std::vector<GlobalRank>> groups) = 0;
};

}  // namespace meshscope::comm
