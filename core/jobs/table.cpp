#include "core/jobs/table.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/base/json_text.h"
#include "core/base/text.h"
#include "core/scenario/diagnostics.h"
#include "core/scenario/readers.h"

namespace meshscope::jobs {
namespace {

using nlohmann::json;

const json& no_keys() {
    static const json empty = json::object();
    return empty;
}

/// Longer lists and texts are cut: they are shown in one line.
constexpr std::size_t kMostShown = 60;

/// The most that a fact may be.
int64_t most_of(std::string_view fact) {
    constexpr std::array<std::string_view, 11> kRanks{
        "tp", "pp", "cp", "ep", "etp", "sp", "dp_replicate", "dp_shard", "world", "nodes", "ranks_per_node"};
    constexpr std::array<std::string_view, 3> kTotals{"steps", "samples", "bucket_elements"};
    if (std::ranges::find(kRanks, fact) != kRanks.end()) return scenario::kMostRanks;
    return std::ranges::find(kTotals, fact) != kTotals.end() ? Table::kMostTotal : Table::kMostSize;
}

}  // namespace

Table::Table(const Document& document, Job& job)
    : document_(&document),
      object_(&document.root),
      file_(document.file),
      job_(&job),
      read_(std::make_shared<std::set<std::string>>()),
      fields_(document.root, document.file, job.found) {}

Table::Table(const json& object, std::string within, const Table& outer)
    : document_(outer.document_),
      object_(&object),
      file_(outer.file_),
      within_(std::move(within)),
      job_(outer.job_),
      read_(outer.read_),
      fields_(object, outer.file_, outer.job_->found, within_) {}

void Table::report_twice(const std::string& full, bool all_within) const {
    for (const Twice& each : document_->twice) {
        const bool within = each.key.size() > full.size() && each.key.starts_with(full) &&
                            (each.key[full.size()] == '.' || each.key[full.size()] == '[');
        if (each.key != full && !(all_within && within)) continue;
        job_->found.push_back(
            {{"jobs.twice", {{"key", each.key}, {"first", each.first}, {"second", each.second}}},
             {file_, each.line, each.column, -1},
             {"jobs.hint.one_value", {}}});
    }
}

const json* Table::node(std::string_view key) const {
    if (const std::string full = within_ + std::string(key); read_->insert(full).second)
        report_twice(full, false);
    const auto found = object_->find(std::string(key));
    return found == object_->end() || found->is_null() ? nullptr : &*found;
}

Table Table::table(std::string_view key) const {
    const json* const value = node(key);
    const std::string within = within_ + std::string(key) + ".";
    if (value != nullptr && !value->is_object()) fields_.object(key);  // reported
    return {value != nullptr && value->is_object() ? *value : no_keys(), within, *this};
}

bool Table::has(std::string_view key) const {
    return node(key) != nullptr;
}

bool Table::is_null(std::string_view key) const {
    const auto found = object_->find(std::string(key));
    return !has(key) && found != object_->end();
}

bool Table::readable(std::string_view key) const {
    const json* const value = node(key);
    if (value == nullptr) return false;
    if (!value->is_string()) return true;
    const auto& word = value->get_ref<const std::string&>();
    if (word == "auto") {
        unsaid(key, {"jobs.why.auto", {}});
        return false;
    }
    if (word.find('$') == std::string::npos) return true;
    const char* const what = word.find("$(") == std::string::npos ? "jobs.variable" : "jobs.command";
    report({what, {{"key", within_ + std::string(key)}, {"value", word}}}, {"jobs.hint.variable", {}});
    return false;
}

std::optional<int64_t> Table::whole(std::string_view key, int64_t least, int64_t most) const {
    return readable(key) ? fields_.whole(key, least, most) : std::nullopt;
}

std::optional<double> Table::number(std::string_view key) const {
    constexpr double kLarge = 1e15;
    return readable(key) ? fields_.number(key, -kLarge, kLarge) : std::nullopt;
}

std::optional<bool> Table::flag(std::string_view key) const {
    return readable(key) ? fields_.boolean(key) : std::nullopt;
}

std::optional<std::string> Table::text(std::string_view key) const {
    return node(key) != nullptr ? fields_.text(key) : std::nullopt;
}

std::optional<std::string> Table::word(std::string_view key, Words words) const {
    if (!readable(key)) return std::nullopt;
    const std::string given = shown(key);
    std::vector<std::string_view> known;
    for (const auto& [theirs, ours] : words) {
        if (equal_ignoring_case(theirs, given)) return ours;
        known.push_back(theirs);
    }
    report({"jobs.unknown_word", {{"key", fields_.full(key)}, {"word", given}}},
           scenario::hint_for(given, known));
    return std::nullopt;
}

std::string Table::shown(std::string_view key) const {
    const json* const value = node(key);
    if (value == nullptr) return "";
    std::string text = value->is_string() ? value->get<std::string>() : json_text(*value);
    if (text.size() <= kMostShown) return text;
    std::size_t end = kMostShown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // no half character
    return text.substr(0, end) + "…";
}

std::optional<int64_t> Table::take_whole(std::string_view key, const char* fact, int64_t least) const {
    const std::optional<int64_t> value = whole(key, least, most_of(fact));
    if (value) put(key, fact, *value);
    return value;
}

std::optional<double> Table::take_number(std::string_view key, const char* fact) const {
    const std::optional<double> value = number(key);
    if (value) put(key, fact, *value);
    return value;
}

std::optional<bool> Table::take_flag(std::string_view key, const char* fact) const {
    const std::optional<bool> value = flag(key);
    if (value) put(key, fact, *value);
    return value;
}

std::optional<std::string> Table::take_word(std::string_view key, const char* fact, Words words) const {
    std::optional<std::string> value = word(key, words);
    if (value) put(key, fact, *value);
    return value;
}

void Table::put(std::string_view key, const char* fact, Value value) const {
    job_->facts.put(fact, std::move(value), origin(key), job_->found);
}

Origin Table::origin(std::string_view key) const {
    return {Origin::Kind::file, file_, within_ + std::string(key)};
}

void Table::unsaid(std::string_view key, Message why) const {
    const std::string full = within_ + std::string(key);
    for (const Unsaid& each : job_->unsaid)
        if (each.file == file_ && each.key == full) return;
    job_->unsaid.push_back({file_, full, shown(key), false, std::move(why)});
}

void Table::unsaid_if_set(std::string_view key, Message why) const {
    const json* const value = node(key);
    if (value == nullptr || *value == false || *value == 0 || *value == "none" || *value == "no" ||
        *value == "" || (value->is_structured() && value->empty()))
        return;
    unsaid(key, std::move(why));
}

void Table::report(Message message, Message hint) const {
    fields_.report(std::move(message), std::move(hint));
}

void Table::seen(std::string_view key) const {
    const std::string full = within_ + std::string(key);
    if (read_->insert(full + ".").second) report_twice(full, true);
}

void Table::pass_over(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) node(key);
}

void Table::note_unread() const {
    note_unread(*object_, within_);
}

void Table::note_unread(const json& object, const std::string& within) const {
    for (const auto& [key, value] : object.items()) {
        const std::string full = within + key;
        if (read_->contains(full + ".")) continue;
        if (value.is_object() && !value.empty())
            note_unread(value, full + ".");
        else if (!value.is_null() && !(value.is_structured() && value.empty()) && !read_->contains(full))
            job_->unread.emplace_back(file_, full);
    }
}

}  // namespace meshscope::jobs
