#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/sandbox/draft.h"

namespace meshscope::sandbox {

/// What may stand in a field.
enum class FieldKind : unsigned char {
    words,  ///< one of a few
    flag,   ///< true or false
    integer,
    number,
    list,   ///< integers: "2, 2"
    names,  ///< "replicate, shard"
    text,   ///< a string
    raw     ///< TOML as it is, of keys that take several types
};

/// One key that the sandbox offers.
struct Field {
    std::string_view table, name;
    FieldKind kind = FieldKind::integer;
    std::span<const std::string_view> words = {};

    std::string key() const { return std::string(table) + "." + std::string(name); }
};

struct FieldGroup {
    std::string_view id;  ///< "mesh": its words are "sandbox.group.mesh"
    std::vector<Field> fields;
};

/// What can be edited: the fields that have a meaning for this model and strategy, and those that the text
/// gives anyway.
std::vector<FieldGroup> fields_of(const Reading& reading);

/// All fields there are, once each.
std::vector<Field> all_fields();

/// What stands in the field: the value without its quotes and brackets; "" where the text does not give it.
std::string shown(const Field& field, const Reading& reading);
/// What the key stands at when the text does not give it, where that is one value; else "".
std::string fallback(const Field& field);

/// What was typed or chosen as changes of the text. What is not of the field's type becomes a string, so that
/// the engine's reader says what is wrong with it; "" takes the key away (of a fault's kind: the fault).
std::vector<Change> changes_for(const Field& field, const std::string& typed, const Reading& reading);

}  // namespace meshscope::sandbox
