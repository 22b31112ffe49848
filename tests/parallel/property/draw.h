#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace meshscope::test {

/// Throws of a die, the same for the same seed on every machine.
class Dice {
  public:
    explicit Dice(uint64_t seed) : seed_(seed) {}
    /// Uniform in {0, …, n-1}.
    int64_t below(int64_t n);
    /// Uniform in {least, …, most}.
    int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
    bool chance(int percent) { return below(100) < percent; }
    template <class T>
    T one_of(const std::vector<T>& from) {
        return from[static_cast<std::size_t>(below(static_cast<int64_t>(from.size())))];
    }

  private:
    uint64_t seed_;
    uint64_t thrown_ = 0;
};

/// One table of a scenario: keys and their values as TOML text, in order.
class Keys {
  public:
    void set(const std::string& key, std::string value);
    void set(const std::string& key, int64_t value) { set(key, std::to_string(value)); }
    void set_word(const std::string& key, const std::string& word) { set(key, "\"" + word + "\""); }
    void drop(const std::string& key);
    /// The value as text, "" where there is none.
    std::string get(const std::string& key) const;
    int64_t number(const std::string& key) const { return std::stoll(get(key)); }
    std::string to_toml(const std::string& table) const;

  private:
    std::vector<std::pair<std::string, std::string>> keys_;
};

/// A drawn scenario, small enough that thousands run in a minute.
struct Case {
    Keys model, data, train, optimizer, parallel;
    std::vector<int64_t> shape;
    std::vector<std::string> names;
    int64_t idle = 0;  ///< ranks of the world beside the mesh's

    int64_t ranks() const;
    /// The whole file, for `meshscope run`.
    std::string to_toml() const;
    /// The same training on one rank, without any strategy.
    std::string alone() const;
    /// All that training holds is bfloat16: results agree to few digits.
    bool in_bfloat16() const { return train.get("dtype") == "\"bfloat16\""; }
};

/// A scenario that the reader must accept: at most eight ranks on a mesh of one to three dims, any model,
/// data strategy, tensor, sequence and context parallelism, pipeline, recomputation and their options, frozen
/// parameters, adapters, numbers in bfloat16, a pipeline's actions in any order.
Case draw_case(uint64_t seed);

/// Such a scenario with something changed that may or may not be possible: the reader must refuse it, or it
/// must run as any other.
Case draw_wild(uint64_t seed);

/// Such a scenario with something in it that is impossible for certain. `what` says what.
Case draw_impossible(uint64_t seed, std::string& what);

}  // namespace meshscope::test
