#include "core/run/checkpoint/manifest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/json_text.h"

namespace meshscope::run::checkpoint {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;

uint32_t from_hex(const std::string& text) {
    uint32_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != 8 || failure != std::errc() || end != text.data() + text.size())
        throw std::invalid_argument("no checksum");
    return value;
}

uint32_t crc_of(const std::string& text) {
    Crc32c crc;
    crc.add(text.data(), text.size());
    return crc.value();
}

/// JSON has no NaN: a loss that is none stands as null.
ordered_json numbers_json(const std::vector<double>& numbers) {
    ordered_json list = ordered_json::array();
    for (const double number : numbers)
        list.push_back(std::isfinite(number) ? ordered_json(number) : nullptr);
    return list;
}

template <class Whole>
Whole whole(const ordered_json& json) {
    const std::optional<Whole> number = json_whole<Whole>(json);
    if (!number) throw std::invalid_argument("no whole number");
    return *number;
}

template <class List>
List wholes(const ordered_json& json) {
    if (!json.is_array()) throw std::invalid_argument("no list");
    List list;
    for (const ordered_json& entry : json) list.push_back(whole<int64_t>(entry));
    return list;
}

std::vector<double> numbers_of(const ordered_json& list) {
    std::vector<double> numbers;
    for (const ordered_json& entry : list)
        numbers.push_back(entry.is_null() ? std::numeric_limits<double>::quiet_NaN() : entry.get<double>());
    return numbers;
}

ordered_json tensor_json(const SavedTensor& tensor) {
    ordered_json chunks = ordered_json::array();
    for (const SavedChunk& saved : tensor.chunks)
        chunks.push_back({{"offsets", saved.chunk.offsets},
                          {"sizes", saved.chunk.sizes},
                          {"file", saved.file},
                          {"key", saved.key}});
    return {{"name", tensor.name}, {"dtype", "float32"}, {"shape", tensor.shape}, {"chunks", chunks}};
}

SavedTensor tensor_of(const ordered_json& json) {
    SavedTensor tensor{json.at("name").get<std::string>(), wholes<Shape>(json.at("shape")), {}};
    if (json.at("dtype") != "float32") throw std::invalid_argument("dtype");
    for (const ordered_json& chunk : json.at("chunks"))
        tensor.chunks.push_back({{wholes<Shape>(chunk.at("offsets")), wholes<Shape>(chunk.at("sizes"))},
                                 whole<int32_t>(chunk.at("file")),
                                 chunk.at("key").get<std::string>()});
    return tensor;
}

ordered_json body_json(const Manifest& m) {
    ordered_json identity = ordered_json::object(), steps = ordered_json::object();
    for (const auto& [key, value] : m.identity) identity[key] = value;
    for (const auto& [name, count] : m.optimizer_steps) steps[name] = count;
    ordered_json files = ordered_json::array(), tensors = ordered_json::array();
    for (const SavedFile& file : m.files)
        files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"crc32c", hex_digits(file.crc32c)}});
    for (const SavedTensor& tensor : m.tensors) tensors.push_back(tensor_json(tensor));
    return {{"version", kVersion},
            {"kind", m.kind},
            {"steps", m.steps},
            {"world_size", m.world_size},
            {"mesh", {{"shape", m.mesh_shape}, {"names", m.mesh_names}}},
            {"strategy", m.strategy},
            {"strategy_state", m.strategy_state},
            {"scenario", identity},
            {"losses", numbers_json(m.losses)},
            {"grad_norms", numbers_json(m.grad_norms)},
            {"optimizer_steps", steps},
            {"files", files},
            {"tensors", tensors}};
}

Manifest manifest_of(const ordered_json& body) {
    Manifest m;
    m.kind = body.at("kind").get<std::string>();
    m.steps = whole<int32_t>(body.at("steps"));
    m.world_size = whole<int32_t>(body.at("world_size"));
    m.mesh_shape = wholes<std::vector<int64_t>>(body.at("mesh").at("shape"));
    m.mesh_names = body.at("mesh").at("names").get<std::vector<std::string>>();
    m.strategy = body.at("strategy").get<std::string>();
    m.strategy_state = wholes<std::vector<int64_t>>(body.at("strategy_state"));
    for (const auto& [key, value] : body.at("scenario").items())
        m.identity.emplace_back(key, value.get<std::string>());
    m.losses = numbers_of(body.at("losses"));
    m.grad_norms = numbers_of(body.at("grad_norms"));
    for (const auto& [name, count] : body.at("optimizer_steps").items())
        m.optimizer_steps.emplace_back(name, whole<int64_t>(count));
    for (const ordered_json& file : body.at("files"))
        m.files.push_back({file.at("name").get<std::string>(), whole<int64_t>(file.at("bytes")),
                           from_hex(file.at("crc32c").get<std::string>())});
    for (const ordered_json& tensor : body.at("tensors")) m.tensors.push_back(tensor_of(tensor));
    return m;
}

/// What a manifest with a right checksum can still have wrong, when someone made it by hand.
void check(const Manifest& m, const std::string& path) {
    // Of a name with a slash the file would be another folder's, of one with a NUL the part before it.
    constexpr std::string_view kNotInNames("/\0", 2);
    for (const SavedFile& file : m.files)
        if (file.name.empty() || file.name.find_first_of(kNotInNames) != std::string::npos ||
            file.name.front() == '.' || file.bytes < 0)
            refuse(path, {"checkpoint.manifest_damaged", {}});
    const auto steps = static_cast<std::size_t>(m.steps);
    const bool counted =
        m.steps >= 0 && m.losses.size() == steps && (m.grad_norms.empty() || m.grad_norms.size() == steps);
    // Each parameter has its number of updates.
    std::set<std::string> parameters, updated;
    for (const SavedTensor& tensor : m.tensors)
        if (tensor.name.starts_with(model_key(""))) parameters.insert(tensor.name);
    bool named = m.kind == "sharded" || m.kind == "rank0";
    for (const auto& [parameter, updates] : m.optimizer_steps)
        named &= updates >= 0 && updates <= m.steps && updated.insert(model_key(parameter)).second;
    if (!counted || !named || parameters != updated) refuse(path, {"checkpoint.manifest_damaged", {}});
    for (const SavedTensor& tensor : m.tensors) {
        const int64_t wanted = tensor::count(tensor.shape);
        int64_t elements = 0;
        bool fits = true;
        for (const SavedChunk& saved : tensor.chunks) {
            fits &= inside(saved.chunk, tensor.shape) && saved.file >= 0 &&
                    static_cast<std::size_t>(saved.file) < m.files.size();
            if (fits) elements += saved.chunk.n_elements();  // no more than `wanted`, which is far from 2^63
            fits &= elements <= wanted;
        }
        if (!fits || elements != wanted)
            refuse(path, {"checkpoint.bad_chunks", {{"tensor", tensor.name}, {"shape", tensor.shape}}});
    }
}

}  // namespace

const SavedTensor* Manifest::find(std::string_view name) const {
    const auto found = std::ranges::find(tensors, name, &SavedTensor::name);
    return found == tensors.end() ? nullptr : &*found;
}

std::string model_key(const std::string& parameter) {
    return "model." + parameter;
}

std::string state_key(const std::string& parameter, const std::string& state) {
    return "optim." + parameter + "." + state;
}

std::string copy_key(const std::string& name, int32_t copy) {
    return copy == 0 ? name : "copy." + std::to_string(copy) + "." + name;
}

std::string chunk_key(const std::string& name, std::size_t c) {
    return c == 0 ? name : name + "#" + std::to_string(c);
}

std::string to_json(const Manifest& manifest) {
    const ordered_json body = body_json(manifest);
    return ordered_json{{"checkpoint", body}, {"crc32c", hex_digits(crc_of(body.dump()))}}.dump(1) + "\n";
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
    Manifest manifest;
    try {
        const auto manifest_json = parse_json<ordered_json>(text);
        const ordered_json& body = manifest_json.at("checkpoint");
        if (crc_of(body.dump()) != from_hex(manifest_json.at("crc32c").get<std::string>()))
            refuse(path, {"checkpoint.manifest_damaged", {}});
        if (body.at("version") != kVersion)
            refuse(path, {"checkpoint.unknown_version",
                          {{"found", whole<int64_t>(body.at("version"))}, {"known", int64_t{kVersion}}}});
        manifest = manifest_of(body);
        check(manifest, path);
    } catch (const ordered_json::exception&) {
        refuse(path, {"checkpoint.manifest_damaged", {}});
    } catch (const std::invalid_argument&) {
        refuse(path, {"checkpoint.manifest_damaged", {}});
    } catch (const InvalidArgument&) {  // more dims or elements than any array has
        refuse(path, {"checkpoint.manifest_damaged", {}});
    }
    return manifest;
}

void refuse(const std::string& path, Message message, Message hint) {
    throw InputError({{std::move(message), {path, 0, 0, -1}, std::move(hint)}});
}

}  // namespace meshscope::run::checkpoint
