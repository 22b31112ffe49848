#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/json_fields.h"
#include "core/jobs/document.h"
#include "core/jobs/job.h"

namespace meshscope::jobs {

/// A program's words, each with what it means here.
using Words = std::initializer_list<std::pair<std::string_view, const char*>>;

/// The keys of one table of a job's file: read one by one, and taken into the job as facts with their origin.
/// What is "auto" counts as absent and is noted as unsaid; a variable of a shell that nothing sets is a
/// mistake where a value is needed ("jobs.variable"), and so is a key that has two values ("jobs.twice").
class Table {
  public:
    /// The whole document.
    Table(const Document& document, Job& job);

    /// A table inside; where it is absent (or no table, which is reported) one without keys.
    Table table(std::string_view key) const;

    bool has(std::string_view key) const;
    /// Whether the key is there with null, which else counts as absent.
    bool is_null(std::string_view key) const;
    std::optional<int64_t> whole(std::string_view key, int64_t least = 1, int64_t most = kMostSize) const;
    std::optional<double> number(std::string_view key) const;
    std::optional<bool> flag(std::string_view key) const;
    bool is_set(std::string_view key) const { return flag(key).value_or(false); }
    std::optional<std::string> text(std::string_view key) const;
    /// What the key's word means, whatever its case: numbers, true and false are words too. Another word is a
    /// mistake ("jobs.unknown_word" {key, word}).
    std::optional<std::string> word(std::string_view key, Words words) const;
    /// The value as a person reads it, whatever its type.
    std::string shown(std::string_view key) const;

    // The same, and into the job as `fact`. The most is a scenario's number of ranks for what counts ranks,
    // kMostTotal for totals, else kMostSize: the product of two fits 64 bits.
    std::optional<int64_t> take_whole(std::string_view key, const char* fact, int64_t least = 1) const;
    std::optional<double> take_number(std::string_view key, const char* fact) const;
    std::optional<bool> take_flag(std::string_view key, const char* fact) const;
    std::optional<std::string> take_word(std::string_view key, const char* fact, Words words) const;
    /// A fact that follows from the key's value.
    void put(std::string_view key, const char* fact, Value value) const;

    Origin origin(std::string_view key) const;
    /// Notes that the scenario does not hold the key's value, and why.
    void unsaid(std::string_view key, Message why) const;
    /// The same where the key is there and its value asks for something: not false, 0, null, "none" or "no".
    void unsaid_if_set(std::string_view key, Message why = {"jobs.why.none", {}}) const;
    void report(Message message, Message hint = {}) const;
    /// Marks the key, with all within it, as read elsewhere.
    void seen(std::string_view key) const;
    /// Marks the keys as read; their values make no difference here.
    void pass_over(std::initializer_list<const char*> keys) const;
    /// The keys that nobody asked for go into the job.
    void note_unread() const;

    static constexpr int64_t kMostSize = int64_t{1} << 31, kMostTotal = int64_t{1} << 40;

  private:
    Table(const nlohmann::json& object, std::string within, const Table& outer);
    const nlohmann::json* node(std::string_view key) const;
    /// Whether the value can be read as what is wanted of it: not "auto", and no variable.
    bool readable(std::string_view key) const;
    void note_unread(const nlohmann::json& object, const std::string& within) const;
    void report_twice(const std::string& full, bool all_within) const;

    const Document* document_;
    const nlohmann::json* object_;
    std::string file_, within_;
    Job* job_;
    std::shared_ptr<std::set<std::string>> read_;  ///< full keys
    JsonFields fields_;
};

}  // namespace meshscope::jobs
