#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/base/memory_sink.h"

namespace meshscope::test {

/// A sink that remembers everything it is told.
class MemoryLog final : public MemorySink {
  public:
    struct Entry {
        int64_t bytes = 0;
        MemoryCategory category = MemoryCategory::temporaries;
        std::string label;
    };
    void on_allocate(uint64_t id, int64_t bytes, MemoryCategory category, std::string_view label) override {
        alive[id] = {bytes, category, std::string(label)};
        lines.push_back("+" + std::string(label));
        live_bytes += bytes;
        peak_bytes = std::max(peak_bytes, live_bytes);
    }
    void on_free(uint64_t id) override {
        const Entry entry = alive.at(id);
        lines.push_back("-" + entry.label);
        live_bytes -= entry.bytes;
        alive.erase(id);
    }

    std::map<uint64_t, Entry> alive;
    std::vector<std::string> lines;  ///< "+label" and "-label" in order
    int64_t live_bytes = 0;
    int64_t peak_bytes = 0;
};

}  // namespace meshscope::test
