#include "core/jobs/facts.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/base/text.h"

namespace meshscope::jobs {
namespace {

bool same(const Value& a, const Value& b) {
    if (a == b) return true;
    const auto number = [](const Value& value) -> std::optional<double> {
        if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
        if (const auto* any = std::get_if<double>(&value)) return *any;
        return std::nullopt;
    };
    const std::optional<double> x = number(a), y = number(b);
    return x && y && *x == *y;
}

}  // namespace

std::string to_text(const Value& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
    if (const auto* word = std::get_if<std::string>(&value)) return *word;
    std::ostringstream out;
    out.precision(12);
    out << std::get<double>(value);
    return plain_exponent(out.str());
}

Message to_message(const Origin& origin) {
    switch (origin.kind) {
        case Origin::Kind::file:
            return {"jobs.origin.file", {{"source", origin.source}, {"key", origin.key}}};
        case Origin::Kind::fallback:
            return {"jobs.origin.fallback", {{"source", origin.source}, {"key", origin.key}}};
        case Origin::Kind::option:
            return {"jobs.origin.option", {{"key", origin.key}}};
        case Origin::Kind::derived:
            return {"jobs.origin.derived", {{"key", origin.key}}};
        case Origin::Kind::chosen:
            break;
    }
    return {origin.key, {}};
}

void Facts::put(std::string name, Value value, Origin origin, std::vector<Diagnostic>& found) {
    const Fact* const before = find(name);
    const bool yields = before != nullptr && before->origin.kind == Origin::Kind::fallback;
    if (before == nullptr || (yields && origin.kind != Origin::Kind::fallback))
        return replace(std::move(name), std::move(value), std::move(origin));
    if (origin.kind == Origin::Kind::fallback || same(before->value, value)) return;
    const std::string& other = before->origin.source;
    found.push_back({{other.empty() ? "jobs.contradiction_option" : "jobs.contradiction",
                      {{"key", origin.key},
                       {"value", to_text(value)},
                       {"other_file", other},
                       {"other_key", before->origin.key},
                       {"other_value", to_text(before->value)}}},
                     {origin.source.empty() ? other : origin.source, 0, 0, -1},
                     {"jobs.hint.agree", {}}});
}

void Facts::replace(std::string name, Value value, Origin origin) {
    const auto place = std::ranges::find(facts_, name, &Fact::name);
    Fact made{std::move(name), std::move(value), std::move(origin)};
    if (place == facts_.end())
        facts_.push_back(std::move(made));
    else
        *place = std::move(made);
}

void Facts::remove(std::string_view name) {
    std::erase_if(facts_, [&](const Fact& each) { return each.name == name; });
}

const Fact* Facts::find(std::string_view name) const {
    const auto found = std::ranges::find(facts_, name, &Fact::name);
    return found == facts_.end() ? nullptr : &*found;
}

bool Facts::said(std::string_view name) const {
    const Fact* const fact = find(name);
    return fact != nullptr && fact->origin.kind != Origin::Kind::fallback;
}

std::optional<int64_t> Facts::whole(std::string_view name) const {
    const Fact* const fact = find(name);
    const auto* const value = fact == nullptr ? nullptr : std::get_if<int64_t>(&fact->value);
    return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<double> Facts::number(std::string_view name) const {
    if (const std::optional<int64_t> n = whole(name)) return static_cast<double>(*n);
    const Fact* const fact = find(name);
    const auto* const value = fact == nullptr ? nullptr : std::get_if<double>(&fact->value);
    return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::string> Facts::text(std::string_view name) const {
    const Fact* const fact = find(name);
    const auto* const value = fact == nullptr ? nullptr : std::get_if<std::string>(&fact->value);
    return value == nullptr ? std::nullopt : std::optional(*value);
}

bool Facts::flag(std::string_view name) const {
    const Fact* const fact = find(name);
    const auto* const value = fact == nullptr ? nullptr : std::get_if<bool>(&fact->value);
    return value != nullptr && *value;
}

}  // namespace meshscope::jobs
