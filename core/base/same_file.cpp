#include "core/base/same_file.h"

#include <sys/stat.h>

#include <filesystem>

#include "core/base/error.h"

namespace meshscope {

bool is_same_file(const std::string& a, const std::string& b) {
    struct stat of_a {
    }, of_b{};
    const bool a_exists = stat(a.c_str(), &of_a) == 0, b_exists = stat(b.c_str(), &of_b) == 0;
    if (a_exists && b_exists) return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    if (a_exists || b_exists) return false;
    std::error_code error_a, error_b;
    // Absolute first: a path of which nothing exists is left relative otherwise.
    const auto canonical = [](const std::string& path, std::error_code& error) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    };
    const auto path_a = canonical(a, error_a), path_b = canonical(b, error_b);
    return !error_a && !error_b && path_a == path_b;
}

void refuse_to_overwrite(const std::string& output, std::span<const std::string> inputs) {
    if (output.empty() || output == "-") return;
    for (const std::string& input : inputs)
        if (!input.empty() && is_same_file(output, input))
            throw InvalidArgument(Message{"file.output_is_input", {{"output", output}, {"input", input}}});
}

}  // namespace meshscope
