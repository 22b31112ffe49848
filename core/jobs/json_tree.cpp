#include "core/jobs/json_tree.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/base/json_text.h"

namespace meshscope::jobs {
namespace {

using nlohmann::json;

/// A table or list that is not closed yet.
struct OpenTree {
    bool table = false;
    int64_t members = 0;                        ///< of a list
    std::string key;                            ///< of a table, whose value comes next
    std::map<std::string, std::string> values;  ///< a table's keys, each with its value as text
};

class KeyWatch {
  public:
    explicit KeyWatch(std::vector<Twice>& twice) : twice_(&twice) {}

    void see(json::parse_event_t event, const json& parsed) {
        switch (event) {
            case json::parse_event_t::object_start:
                open_.push_back({true, 0, {}, {}});
                break;
            case json::parse_event_t::array_start:
                open_.emplace_back();
                break;
            case json::parse_event_t::key:
                open_.back().key = parsed.get<std::string>();
                break;
            case json::parse_event_t::value:
                add(json_text(parsed), false);
                break;
            case json::parse_event_t::object_end:
            case json::parse_event_t::array_end: {
                const bool table = open_.back().table;
                open_.pop_back();
                add(table ? "{…}" : "[…]", true);
                break;
            }
        }
    }

  private:
    void add(std::string value, bool structured) {
        if (open_.empty()) return;
        OpenTree& top = open_.back();
        if (!top.table) {
            ++top.members;
            return;
        }
        const auto [held, fresh] = top.values.try_emplace(top.key, value);
        if (!fresh && (structured || held->second != value) && twice_->size() < kMostTwice)
            twice_->push_back({path(), held->second, value});
        held->second = std::move(value);
    }

    /// The innermost table's key with all that it stands in.
    std::string path() const {
        std::string path;
        for (const OpenTree& each : open_)
            if (each.table)
                path += (path.empty() ? "" : ".") + each.key;
            else
                path += "[" + std::to_string(each.members) + "]";
        return path;
    }

    std::vector<OpenTree> open_;
    std::vector<Twice>* twice_;
};

}  // namespace

json parse_json_tree(std::string_view text, std::vector<Twice>& twice) {
    if (!is_readable_json(text)) return {json::value_t::discarded};
    KeyWatch watch(twice);
    return json::parse(
        text,
        [&](int, json::parse_event_t event, json& parsed) {
            watch.see(event, parsed);
            return true;
        },
        false);
}

}  // namespace meshscope::jobs
