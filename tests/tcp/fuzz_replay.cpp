// Plays files and folders back to a fuzz target, as libFuzzer's own driver does for a corpus; and, after
// `-runs=N [-seed=S]`, N inputs made from them by small changes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<uint8_t>;

Input read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

uint64_t next(uint64_t& state) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return state;
}

void change(Input& input, const std::vector<Input>& corpus, uint64_t& state) {
    const auto place = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next(state) % n); };
    for (uint64_t times = 1 + next(state) % 4; times > 0; --times) {
        const auto at = static_cast<std::ptrdiff_t>(place(input.size() + 1));
        switch (next(state) % 5) {
            case 0:
                if (!input.empty())
                    input[place(input.size())] ^= static_cast<uint8_t>(1U << (next(state) % 8));
                break;
            case 1:
                input.insert(input.begin() + at, static_cast<uint8_t>(next(state)));
                break;
            case 2:
                input.erase(input.begin() + at,
                            input.begin() + at +
                                std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(next(state) % 8),
                                                         std::ssize(input) - at));
                break;
            case 3:
                if (!input.empty()) input[place(input.size())] = next(state) % 2 == 0 ? 0xFF : 0;
                break;
            default: {
                const Input& other = corpus[place(corpus.size())];
                const std::size_t from = place(other.size());
                input.insert(input.begin() + at, other.begin() + static_cast<std::ptrdiff_t>(from),
                             other.end());
            }
        }
    }
    if (input.size() > 4096) input.resize(4096);
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<Input> corpus;
    uint64_t runs = 0, state = 88'172'645'463'325'252U;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word.starts_with("-runs="))
            runs = std::strtoull(word.c_str() + 6, nullptr, 10);
        else if (word.starts_with("-seed="))
            state += std::strtoull(word.c_str() + 6, nullptr, 10);
        else if (std::filesystem::is_directory(word)) {
            std::vector<std::filesystem::path> files;
            for (const auto& entry : std::filesystem::directory_iterator(word)) files.push_back(entry.path());
            std::sort(files.begin(), files.end());
            for (const auto& file : files) corpus.push_back(read(file));
        } else
            corpus.push_back(read(word));
    }
    for (const Input& input : corpus) LLVMFuzzerTestOneInput(input.data(), input.size());
    if (corpus.empty()) corpus.emplace_back();
    for (uint64_t i = 0; i < runs; ++i) {
        Input input = corpus[next(state) % corpus.size()];
        change(input, corpus, state);
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    std::cout << corpus.size() << " files, " << runs << " made inputs" << std::endl;
    return corpus.size() > 1 ? 0 : 1;
}
