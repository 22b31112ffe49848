#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// A fuzz target: a function over bytes that must come back, whatever they are, without a crash, a leak or
/// undefined behaviour, and throw nothing. Its file is compiled twice: into a program of libFuzzer's
/// (-DMESHSCOPE_LIBFUZZER, preset "fuzz"), and into test_fuzz, which replays tests/fuzz/corpus/NAME.
///
///     FUZZ_TARGET(scenario) { …input… }
#ifdef MESHSCOPE_LIBFUZZER
#define FUZZ_TARGET(name)                                                          \
    static void fuzz_##name(std::string_view input);                               \
    extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) { \
        fuzz_##name({reinterpret_cast<const char*>(data), size});                  \
        return 0;                                                                  \
    }                                                                              \
    static void fuzz_##name(std::string_view input)
#else
#define FUZZ_TARGET(name)                                                           \
    static void fuzz_##name(std::string_view input);                                \
    static const bool name##_is_known = meshscope::fuzz::add({#name, fuzz_##name}); \
    static void fuzz_##name(std::string_view input)
#endif

namespace meshscope::fuzz {

struct Target {
    std::string_view name;
    void (*run)(std::string_view input);
};

/// Every target of the program.
std::vector<Target>& targets();
bool add(Target target);

}  // namespace meshscope::fuzz
