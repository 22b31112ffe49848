// Every target over its corpus, and over what is near to it: each file cut short, and with bytes changed.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/base/random.h"
#include "tests/fuzz/target.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace meshscope::fuzz {

std::vector<Target>& targets() {
    static std::vector<Target> all;
    return all;
}

bool add(Target target) {
    targets().push_back(target);
    return true;
}

namespace {

std::vector<std::filesystem::path> corpus_of(std::string_view name) {
    std::vector<std::filesystem::path> files;
    const auto folder = std::filesystem::path(test::source_root()) / "tests/fuzz/corpus" / name;
    if (!std::filesystem::is_directory(folder)) return files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// `bytes` with one to four of its bytes replaced.
std::string changed(std::string bytes, uint64_t seed) {
    for (uint64_t i = 0; i <= uniform_below(4, seed, 0, 0) && !bytes.empty(); ++i)
        bytes[uniform_below(bytes.size(), seed, 1, i)] = static_cast<char>(uniform_below(256, seed, 2, i));
    return bytes;
}

}  // namespace

TEST_CASE("every fuzz target comes back from its corpus and from what is near to it") {
    constexpr int kCuts = 16;
    constexpr uint64_t kChanges = 48;
    REQUIRE(targets().size() >= 7);
    for (const Target& target : targets()) {
        CAPTURE(target.name);
        const auto files = corpus_of(target.name);
        REQUIRE_FALSE(files.empty());
        for (const auto& path : files) {
            CAPTURE(path);
            const std::string bytes = read(path);
            target.run(bytes);
            for (std::size_t cut = 0; cut < kCuts; ++cut)
                target.run(std::string_view(bytes).substr(0, bytes.size() * cut / kCuts));
            for (uint64_t seed = 0; seed < kChanges; ++seed) target.run(changed(bytes, seed));
        }
    }
}

}  // namespace meshscope::fuzz
