#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/message.h"
#include "core/base/offer.h"
#include "core/mesh/device_mesh.h"
#include "core/mesh/roles.h"
#include "core/nn/model.h"

namespace meshscope::parallel {

struct StrategyOptions;
struct Declaration;

/// A value of the scenario file, whatever its type; std::monostate: no value, or a table or a date.
struct KeyValue {
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<KeyValue>> is;

    template <class T>
    const T* as() const {
        return std::get_if<T>(&is);
    }
};

/// A key of the scenario and why its value cannot be.
struct Refusal {
    /// Of what is wrong: the key's value, the key itself (it should not be there), or that it is missing.
    enum class Of : uint8_t { value, key, absence };

    std::string key;  ///< "units"; of a table in [parallel]: "powersgd.start_iteration"
    Message message;
    Message hint = {};
    std::vector<Offer> offers = {};  ///< what could be written instead
    Of of = Of::value;
    std::optional<std::size_t> element = {};  ///< of the array that the value is
    std::string_view table = "parallel";      ///< where the key stands
};

/// What else the scenario asks for, that a strategy or a mesh dim and its keys must go together with.
struct StrategyUse {
    mesh::Shape shape;
    mesh::Names names;
    bool mesh_known = true;  ///< false: the mesh has a mistake, so that nothing is to be held against it
    nn::ModelSpec spec;
    const Declaration* strategy = nullptr;   ///< of [parallel] data
    std::function<nn::Model*()> model = {};  ///< made when asked for; null: could not be read
    std::function<KeyValue(std::string_view table, std::string_view key)> value_in = {};
    std::function<bool(std::string_view table, std::string_view key)> has_in = {}, sure_in = {};

    /// The value of a key of [parallel], [mesh], [model] or [train], or of one of the tables in them
    /// ("powersgd.seed"), as the file has it.
    KeyValue value(std::string_view key, std::string_view table = "parallel") const {
        return value_in(table, key);
    }
    /// Whether it is there.
    bool has(std::string_view key, std::string_view table = "parallel") const { return has_in(table, key); }
    /// Whether it is what the user meant: neither refused nor misspelt.
    bool sure(std::string_view key, std::string_view table = "parallel") const { return sure_in(table, key); }

    /// Sizes of the dims of replicas and shards, in mesh order.
    mesh::Shape data_sizes() const;
    /// The mesh dim of that role, by its place in `shape`.
    std::optional<std::size_t> dim(mesh::Role role) const;
    /// Keys of [model] that count heads, with their numbers: `heads`, and `kv_heads` where there are others.
    /// Those that the user is not sure of are left out.
    std::vector<std::pair<std::string_view, int64_t>> head_counts() const;
};

/// A key of [parallel] or [train] that means something to some of the strategies or to some mesh dims only,
/// and how its value becomes an option. Where several strategies take the same values they share one
/// constant.
struct StrategyKey {
    struct Integer {
        int64_t least, most;
        void (*put)(StrategyOptions&, int64_t);
    };
    struct Number {
        double least, most;
        bool least_itself;  ///< false: must be greater than `least`
        void (*put)(StrategyOptions&, double);
    };
    struct Flag {
        void (*put)(StrategyOptions&, bool);
    };
    struct Word {
        std::span<const std::string_view> words;
        void (*put)(StrategyOptions&, std::size_t place);
        bool any_case = false;  ///< upper and lower case alike
    };
    /// A boolean, or else a number or a word.
    struct FlagOr {
        Flag flag;
        std::optional<Integer> number;
        std::optional<Word> word;
    };
    /// A table with keys of its own.
    struct Table {
        std::span<const StrategyKey> (*keys)();
        /// Its keys mean something only where that key has that word; empty: always.
        std::string_view beside_key = {}, beside_word = {};
    };
    /// Of several types, or what must be held against the model or the mesh.
    struct Several {
        std::string_view type;  ///< as docs/scenario.md prints it
        /// Takes the value over; what is wrong with it goes into `found`. False: it is of another type.
        bool (*read)(const KeyValue&, StrategyOptions&, const StrategyUse&, std::vector<Refusal>& found);
    };

    std::string_view name;
    std::string_view fallback;  ///< as docs/scenario.md prints it: "required", "false", "1"
    std::variant<Integer, Number, Flag, Word, FlagOr, Table, Several> value;
    bool of_tokens = false;  ///< it has a meaning for models of tokens only

    /// Type names of TOML, "boolean" to "table", or Several's.
    std::string type() const;
    bool required() const { return fallback == "required"; }
};

/// The type of a key that strategies declare with different values, as docs/scenario.md prints it: "boolean
/// or integer" of a boolean and an integer.
std::string type_of(std::span<const StrategyKey* const> declared);

}  // namespace meshscope::parallel
