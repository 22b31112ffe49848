#include "app/cli/mesh_request.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "app/cli/command.h"
#include "core/mesh/question_text.h"

namespace meshscope::cli {

namespace {

int64_t number(const std::string& text, const char* option) {
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc::result_out_of_range)
        throw UsageError({"cli.mesh.number_too_large", {{"option", std::string(option)}, {"value", text}}});
    if (failure != std::errc() || end != text.data() + text.size())
        throw UsageError({"cli.mesh.bad_number", {{"option", std::string(option)}, {"value", text}}});
    return value;
}

std::vector<int64_t> numbers(const std::string& text, char separator, const char* option) {
    std::vector<int64_t> result;
    for (const std::string& word : split(text, separator)) result.push_back(number(word, option));
    return result;
}

/// How many ranks the mesh and the listed ranks need: the world when none was given. At most kUncounted.
int64_t smallest_world(const MeshRequest& request) {
    int64_t world = 1;
    for (const int64_t size : request.shape) {
        if (size < 1) return 1;  // the mesh is refused for its size anyway
        world = size > kUncounted / world ? kUncounted : world * size;
    }
    for (const int64_t rank : request.ranks.value_or(std::vector<int64_t>{}))
        world = std::max(world, std::min(rank, kUncounted - 1) + 1);
    return world;
}

mesh::Question read_unflatten(const std::string& text) {
    const size_t equals = text.find('=');
    const size_t colon = equals == std::string::npos ? std::string::npos : text.find(':', equals);
    if (colon == std::string::npos) throw UsageError({"cli.mesh.bad_unflatten", {{"value", text}}});
    mesh::Question question;
    question.kind = mesh::QuestionKind::unflatten;
    question.mesh_dim = text.substr(0, equals);
    question.sizes = numbers(text.substr(equals + 1, colon - equals - 1), 'x', "--unflatten");
    question.names = split(text.substr(colon + 1), ',');
    return question;
}

/// "dp_cp=dp,cp" or "dp,cp", to which PyTorch gives the name dp_cp.
mesh::Question read_flatten(const std::string& text) {
    mesh::Question question;
    question.kind = mesh::QuestionKind::flatten;
    const size_t equals = text.find('=');
    if (equals == 0) throw UsageError({"cli.mesh.bad_flatten", {{"value", text}}});
    if (equals != std::string::npos) question.new_name = text.substr(0, equals);
    question.names = split(equals == std::string::npos ? text : text.substr(equals + 1), ',');
    return question;
}

mesh::Question read_concatenate(const std::string& text) {
    mesh::Question question;
    question.kind = mesh::QuestionKind::concatenate;
    for (const std::string& part : split(text, ',')) question.parts.push_back(split(part, '+'));
    return question;
}

std::vector<mesh::Question> read_questions(RequestOption option, const std::string& text) {
    switch (option) {
        case RequestOption::flatten:
            return {read_flatten(text)};
        case RequestOption::unflatten:
            return {read_unflatten(text)};
        case RequestOption::concatenate:
            return {read_concatenate(text)};
        case RequestOption::ask:
            return mesh::parse_questions(text);
        case RequestOption::slice:
            break;
    }
    mesh::Question question;
    question.names = split(text, ',');
    return {question};
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    if (text.empty()) return parts;
    size_t begin = 0;
    for (size_t end = text.find(separator); end != std::string::npos; end = text.find(separator, begin)) {
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
}

const char* json_key(RequestOption option) {
    constexpr const char* kKeys[] = {"slices", "flatten", "unflatten", "concatenate", "asked"};
    return kKeys[static_cast<size_t>(option)];
}

MeshRequest read_request(const MeshWords& words) {
    MeshRequest request;
    request.shape = numbers(words.shape, ',', "--shape");
    request.names = split(words.names, ',');
    if (!words.ranks.empty()) request.ranks = numbers(words.ranks, ',', "--ranks");
    request.world = words.world ? *words.world : smallest_world(request);
    if (words.world && request.world > kLargestWorld)
        throw UsageError({"cli.mesh.world_too_large", {{"world", request.world}}});
    request.rank = words.rank;
    if (request.rank && (*request.rank < 0 || *request.rank >= request.world))
        throw UsageError({"cli.mesh.no_such_rank", {{"rank", *request.rank}, {"world", request.world}}});
    for (const auto& [option, text] : words.requests)
        for (mesh::Question& question : read_questions(option, text))
            request.questions.emplace_back(option, std::move(question));
    request.json = words.json;
    return request;
}

}  // namespace meshscope::cli
