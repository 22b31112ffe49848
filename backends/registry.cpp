#include "backends/registry.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/threads/threads_world.h"
#include "core/base/error.h"

namespace meshscope::backends {
namespace {

struct Entry {
    std::string name;
    std::function<std::unique_ptr<comm::World>(const run::WorldRequest&)> open;
};

/// What this build has. A new backend is one more line.
std::vector<Entry> built() {
    return {{"threads", [](const run::WorldRequest& request) {
                 return std::make_unique<threads::ThreadsWorld>(request.size, request.chooser);
             }}};
}

/// Names that mean something, but are not in this build.
constexpr std::array<std::string_view, 4> kNotBuilt{"tcp", "mpi", "cuda", "nccl"};

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

class Registry final : public run::Backends {
  public:
    std::unique_ptr<comm::World> open(const std::string& name,
                                      const run::WorldRequest& request) const override {
        for (const Entry& entry : entries_)
            if (entry.name == name) return entry.open(request);
        const bool known = std::find(kNotBuilt.begin(), kNotBuilt.end(), name) != kNotBuilt.end();
        throw InvalidArgument(
            {known ? "backend.not_built" : "backend.unknown", {{"name", name}, {"known", joined(names())}}});
    }
    std::vector<std::string> names() const override {
        std::vector<std::string> words;
        for (const Entry& entry : entries_) words.push_back(entry.name);
        return words;
    }

  private:
    std::vector<Entry> entries_ = built();
};

}  // namespace

std::unique_ptr<run::Backends> make_registry() {
    return std::make_unique<Registry>();
}

}  // namespace meshscope::backends
