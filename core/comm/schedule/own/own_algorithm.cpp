#include "core/comm/schedule/own/own_algorithm.h"

#include <filesystem>

#include "core/base/crc32c.h"
#include "core/base/text_file.h"
#include "core/comm/schedule/own/xml_text.h"

namespace meshscope::comm {
namespace {

std::variant<own::Msccl, own::TomlForm> form_of(const std::string& text, const std::string& path) {
    const std::size_t bom = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    const std::size_t first = text.find_first_not_of(" \t\r\n", bom);
    if (first != std::string::npos && text[first] == '<') return own::read_msccl(text, path);
    return own::read_toml_form(text, path);
}

}  // namespace

std::shared_ptr<const OwnAlgorithm> OwnAlgorithm::read(const std::string& path) {
    return parse(read_text_file(path, own::kMostXmlBytes), path);
}

std::shared_ptr<const OwnAlgorithm> OwnAlgorithm::parse(std::string text, const std::string& path) {
    return std::shared_ptr<const OwnAlgorithm>(new OwnAlgorithm(std::move(text), path));
}

OwnAlgorithm::OwnAlgorithm(std::string text, const std::string& path)
    : path_(path), text_(std::move(text)), form_(form_of(text_, path)) {
    Crc32c crc;
    crc.add(text_.data(), text_.size());
    checksum_ = crc.value();
}

CollectiveOp OwnAlgorithm::op() const {
    return std::visit([](const auto& form) { return form.op; }, form_);
}

std::string OwnAlgorithm::name() const {
    std::string name = std::visit([](const auto& form) { return form.name; }, form_);
    return name.empty() ? std::filesystem::path(path_).stem().string() : name;
}

std::string OwnAlgorithm::file_name() const {
    return std::filesystem::path(path_).filename().string();
}

std::optional<int32_t> OwnAlgorithm::ranks() const {
    if (const auto* msccl = std::get_if<own::Msccl>(&form_)) return static_cast<int32_t>(msccl->gpus.size());
    if (const auto& ranks = std::get<own::TomlForm>(form_).ranks) return static_cast<int32_t>(*ranks);
    return std::nullopt;
}

bool OwnAlgorithm::fits(int32_t p) const {
    if (p < 2 || p > own::kMostRanks) return false;
    if (const auto only = ranks(); only && *only != p) return false;
    const auto* form = std::get_if<own::TomlForm>(&form_);
    return form == nullptr || own::holds(*form, p, path_);
}

Message OwnAlgorithm::misfit(int32_t p) const {
    if (const auto only = ranks(); only && *only != p)
        return {"algorithm.other_ranks",
                {{"file", file_name()}, {"wanted", int64_t{*only}}, {"ranks", int64_t{p}}}};
    if (p < 2 || p > own::kMostRanks)
        return {"algorithm.ranks", {{"ranks", int64_t{p}}, {"most", int64_t{own::kMostRanks}}}};
    return {"algorithm.require", {{"file", file_name()}, {"ranks", int64_t{p}}}};
}

OwnAlgorithm::Made& OwnAlgorithm::made(int32_t p) const {
    std::unique_ptr<Made>& slot = made_[p];
    if (slot) return *slot;
    if (!fits(p)) throw InvalidArgument(misfit(p));
    auto made = std::make_unique<Made>();
    if (const auto* msccl = std::get_if<own::Msccl>(&form_))
        made->program = own::ordered(*msccl, path_);
    else
        made->program = own::expanded(std::get<own::TomlForm>(form_), p, path_);
    slot = std::move(made);
    return *slot;
}

const own::Program& OwnAlgorithm::program(int32_t p) const {
    const std::lock_guard lock(mutex_);
    return made(p).program;
}

const own::Program& OwnAlgorithm::proved(int32_t p) const {
    const std::lock_guard lock(mutex_);
    Made& found = made(p);
    if (!found.is_proved) prove(found.program);
    found.is_proved = true;
    return found.program;
}

void OwnAlgorithm::prove(const own::Program& program) const {
    const int line = std::visit([](const auto& form) { return form.line; }, form_);
    if (auto flaw = own::flaw_of(program, path_, line)) throw InputError({std::move(*flaw)});
}

std::string description(const OwnAlgorithm& algorithm) {
    return algorithm.file_name() + ", " + hex_digits(algorithm.checksum());
}

}  // namespace meshscope::comm
