#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/message.h"
#include "core/base/offer.h"
#include "core/mesh/device_mesh.h"
#include "core/nn/model.h"

namespace meshscope::parallel {

struct StrategyOptions;

/// A value of the scenario file, whatever its type; std::monostate: no value, or a table or a date.
struct KeyValue {
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<KeyValue>> is;

    template <class T>
    const T* as() const {
        return std::get_if<T>(&is);
    }
};

/// A key of [parallel] and why its value cannot be.
struct Refusal {
    /// Of what is wrong: the key's value, the key itself (it should not be there), or that it is missing.
    enum class Of : uint8_t { value, key, absence };

    std::string key;  ///< "units"; of a table in [parallel]: "powersgd.start_iteration"
    Message message;
    Message hint = {};
    std::vector<Offer> offers = {};  ///< what could be written instead
    Of of = Of::value;
    std::optional<std::size_t> element = {};  ///< of the array that the value is
};

/// What else the scenario asks for, that a strategy and its keys must go together with.
struct StrategyUse {
    mesh::Shape shape;
    mesh::Names names;
    bool mesh_known = true;  ///< false: the mesh has a mistake, so that nothing is to be held against it
    nn::ModelSpec spec;
    std::function<nn::Model*()> model;  ///< made when asked for; null: could not be read
    /// The value of a key of [parallel], or of one of its tables, as the file has it; has() says whether it
    /// is there.
    std::function<KeyValue(std::string_view key)> value;
    std::function<bool(std::string_view key)> has;
    /// Whether a key is what the user meant: neither refused nor misspelt.
    std::function<bool(std::string_view key)> sure;

    /// Sizes of the dims of replicas and shards, in mesh order.
    mesh::Shape data_sizes() const;
};

/// A key of [parallel] that means something to some of the strategies only, and how its value becomes an
/// option. Where several strategies take the same values they share one constant.
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

    /// Type names of TOML, "boolean" to "table", or Several's.
    std::string type() const;
    bool required() const { return fallback == "required"; }
};

/// The type of a key that strategies declare with different values, as docs/scenario.md prints it: "boolean
/// or integer" of a boolean and an integer.
std::string type_of(std::span<const StrategyKey* const> declared);

}  // namespace meshscope::parallel
