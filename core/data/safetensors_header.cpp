#include "core/data/safetensors_header.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

namespace meshscope::data {
namespace {

constexpr int64_t kHeaderBegin = 8;
constexpr std::size_t kMostDiagnostics = 20;

struct DTypeWord {
    std::string_view word;
    DType dtype;
};
constexpr std::array<DTypeWord, 4> kDTypeWords{
    {{"F32", DType::float32}, {"BF16", DType::bfloat16}, {"I32", DType::int32}, {"I64", DType::int64}}};

/// Walks over the header's text and tells how far the JSON lexer has come, which its callbacks do not.
class CountingIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, int64_t* consumed) : at_(at), consumed_(consumed) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        ++at_;
        ++*consumed_;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.at_ == b.at_; }
    friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

  private:
    const char* at_;
    int64_t* consumed_;
};

/// Takes the JSON apart while it is read. Knows the one structure a header may have and refuses anything else
/// at once, so nesting is never deeper than three and nothing but the entries is kept: { "__metadata__":
/// {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} }
class HeaderReader {
  public:
    HeaderReader(const std::string& path, const int64_t& consumed) : path_(path), consumed_(consumed) {}

    std::vector<HeaderEntry> take() { return std::move(entries_); }
    /// Arrays whose words are right JSON but cannot be.
    std::vector<Diagnostic> take_diagnostics() { return std::move(diagnostics_); }

    // The callbacks of nlohmann's SAX interface.
    bool null() { return unexpected(); }
    bool boolean(bool /*value*/) { return unexpected(); }
    bool number_float(double /*value*/, const std::string& /*text*/) { return unexpected(); }
    bool number_integer(int64_t value) { return value >= 0 ? number(value) : negative(value); }
    bool number_unsigned(uint64_t value) {
        // What does not fit becomes the largest number, which no file is long enough for.
        return number(static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max())));
    }
    bool string(std::string& text) {
        if (place_ == Place::metadata) return true;
        if (place_ != Place::entry || field_ != Field::dtype) return unexpected();
        const auto* found = std::ranges::find(kDTypeWords, text, &DTypeWord::word);
        if (found == kDTypeWords.end()) {
            broken_ = true;  // its size cannot be checked
            complain({"safetensors.dtype", {{"tensor", entry_.name}, {"dtype", text.substr(0, 40)}}});
        } else {
            entry_.dtype = found->dtype;
        }
        return true;
    }
    bool binary(nlohmann::json::binary_t& /*value*/) { return unexpected(); }

    bool start_object(std::size_t /*elements*/) {
        switch (place_) {
            case Place::outside:
                place_ = Place::top;
                return true;
            case Place::top:
                place_ = is_metadata_ ? Place::metadata : Place::entry;
                fields_seen_ = {};
                inner_keys_.clear();
                return true;
            default:
                return unexpected();
        }
    }
    bool key(std::string& text) {
        if (place_ == Place::top) {
            if (!names_.insert(text).second) duplicate(text);
            is_metadata_ = text == "__metadata__";
            entry_ = {};
            broken_ = false;
            entry_.name = text;
            entry_.position = position();
            return true;
        }
        if (!inner_keys_.insert(text).second) duplicate(text);
        if (place_ == Place::metadata) return true;
        constexpr std::array<std::string_view, 3> kFields{"dtype", "shape", "data_offsets"};
        const auto* found = std::ranges::find(kFields, text);
        if (found == kFields.end())
            refuse_safetensors(
                path_, position(),
                {"safetensors.field", {{"tensor", entry_.name}, {"field", text.substr(0, 40)}}});
        field_ = static_cast<Field>(found - kFields.begin());
        fields_seen_[static_cast<std::size_t>(field_)] = true;
        return true;
    }
    bool end_object() {
        if (place_ == Place::entry) finish_entry();
        place_ = place_ == Place::top ? Place::outside : Place::top;
        return true;
    }
    bool start_array(std::size_t /*elements*/) {
        if (place_ != Place::entry || field_ == Field::dtype) return unexpected();
        place_ = Place::numbers;
        offsets_.clear();
        return true;
    }
    bool end_array() {
        place_ = Place::entry;
        return true;
    }
    bool parse_error(std::size_t at, const std::string& /*token*/,
                     const nlohmann::json::exception& /*error*/) {
        // `at` counts characters from 1.
        const int64_t byte = kHeaderBegin + std::max<int64_t>(static_cast<int64_t>(at), 1) - 1;
        refuse_safetensors(path_, byte, {"safetensors.json", {}});
    }

  private:
    enum class Place { outside, top, metadata, entry, numbers };
    enum class Field { dtype, shape, data_offsets };

    int64_t position() const { return kHeaderBegin + std::max<int64_t>(consumed_, 1) - 1; }

    [[noreturn]] bool unexpected() const {
        refuse_safetensors(path_, position(), {"safetensors.structure", {}});
    }
    [[noreturn]] bool negative(int64_t value) const {
        refuse_safetensors(path_, position(),
                           {"safetensors.negative", {{"tensor", entry_.name}, {"value", value}}});
    }
    [[noreturn]] void duplicate(const std::string& text) const {
        refuse_safetensors(path_, position(), {"safetensors.duplicate_key", {{"key", text.substr(0, 200)}}});
    }
    void complain(Message message) {
        if (diagnostics_.size() < kMostDiagnostics)
            diagnostics_.push_back({std::move(message), {path_, 0, 0, entry_.position}, {}});
    }

    bool number(int64_t value) {
        if (place_ != Place::numbers) return unexpected();
        const bool in_shape = field_ == Field::shape;
        constexpr std::size_t kMost = tensor::Shape::kMostDims;
        if (in_shape && entry_.shape.size() == kMost)
            refuse_safetensors(
                path_, position(),
                {"tensor.too_many_dims",
                 {{"dims", static_cast<int64_t>(kMost + 1)}, {"most", static_cast<int64_t>(kMost)}}});
        if (!in_shape && offsets_.size() == 2) return unexpected();
        in_shape ? entry_.shape.push_back(value) : offsets_.push_back(value);
        return true;
    }

    void finish_entry() {
        constexpr std::array<const char*, 3> kFields{"dtype", "shape", "data_offsets"};
        for (std::size_t i = 0; i < kFields.size(); ++i) {
            if (fields_seen_[i]) continue;
            complain(
                {"safetensors.missing_field", {{"tensor", entry_.name}, {"field", std::string(kFields[i])}}});
            return;
        }
        if (offsets_.size() != 2) return void(unexpected());
        entry_.begin = offsets_[0];
        entry_.end = offsets_[1];
        if (!broken_) entries_.push_back(std::move(entry_));
    }

    const std::string& path_;
    const int64_t& consumed_;
    Place place_ = Place::outside;
    Field field_ = Field::dtype;
    bool is_metadata_ = false;
    HeaderEntry entry_;
    bool broken_ = false;
    std::vector<int64_t> offsets_;
    std::array<bool, 3> fields_seen_{};
    std::set<std::string> names_;
    std::set<std::string> inner_keys_;
    std::vector<HeaderEntry> entries_;
    std::vector<Diagnostic> diagnostics_;
};

/// The bytes a shape needs; nothing where that does not fit in 63 bits.
std::optional<int64_t> bytes_of(const tensor::Shape& shape, DType dtype) {
    int64_t bytes = bytes_per_element(dtype);
    if (std::ranges::find(shape, 0) != shape.end()) return 0;
    for (const int64_t dim : shape) {
        if (bytes > std::numeric_limits<int64_t>::max() / dim) return std::nullopt;
        bytes *= dim;
    }
    return bytes;
}

/// What is wrong with one array by itself, if anything.
std::optional<Message> mistake_of(const HeaderEntry& entry, int64_t data_bytes) {
    const std::optional<int64_t> wanted = bytes_of(entry.shape, entry.dtype);
    if (!wanted) return Message{"safetensors.too_large", {{"tensor", entry.name}, {"shape", entry.shape}}};
    if (entry.end < entry.begin || entry.end > data_bytes)
        return Message{
            "safetensors.offsets",
            {{"tensor", entry.name}, {"begin", entry.begin}, {"end", entry.end}, {"available", data_bytes}}};
    if (entry.end - entry.begin != *wanted)
        return Message{"safetensors.size",
                       {{"tensor", entry.name},
                        {"shape", entry.shape},
                        {"wanted", *wanted},
                        {"bytes", entry.end - entry.begin}}};
    return std::nullopt;
}

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
    const auto* found = std::ranges::find(kDTypeWords, dtype, &DTypeWord::dtype);
    return found == kDTypeWords.end() ? std::string_view() : found->word;
}

void refuse_safetensors(const std::string& path, int64_t byte, Message message) {
    throw InputError({Diagnostic{std::move(message), {path, 0, 0, byte}, {}}});
}

std::vector<HeaderEntry> parse_safetensors_header(std::string_view text, int64_t data_bytes,
                                                  const std::string& path) {
    // The JSON reader takes a NUL for the end; safetensors' own allows nothing but blanks behind the object.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        refuse_safetensors(path, kHeaderBegin + static_cast<int64_t>(nul), {"safetensors.json", {}});
    int64_t consumed = 0;
    HeaderReader reader(path, consumed);
    nlohmann::json::sax_parse(CountingIterator(text.data(), &consumed),
                              CountingIterator(text.data() + text.size(), &consumed), &reader);
    std::vector<HeaderEntry> entries = reader.take();
    std::vector<Diagnostic> diagnostics = reader.take_diagnostics();
    const auto complain = [&](const HeaderEntry& entry, Message message) {
        if (diagnostics.size() < kMostDiagnostics)
            diagnostics.push_back({std::move(message), {path, 0, 0, entry.position}, {}});
    };
    for (const HeaderEntry& entry : entries)
        if (std::optional<Message> mistake = mistake_of(entry, data_bytes))
            complain(entry, std::move(*mistake));
    if (!diagnostics.empty()) throw InputError(std::move(diagnostics));

    std::ranges::sort(entries, [](const HeaderEntry& a, const HeaderEntry& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    int64_t reached = 0;
    for (const HeaderEntry& entry : entries) {
        if (entry.begin < reached)
            complain(entry, {"safetensors.overlap",
                             {{"tensor", entry.name}, {"begin", entry.begin}, {"reached", reached}}});
        if (entry.begin > reached)
            complain(entry, {"safetensors.hole",
                             {{"tensor", entry.name}, {"begin", entry.begin}, {"reached", reached}}});
        reached = std::max(reached, entry.end);
    }
    if (diagnostics.empty() && reached != data_bytes)
        refuse_safetensors(path, kHeaderBegin + static_cast<int64_t>(text.size()) + reached,
                           {"safetensors.trailing", {{"bytes", data_bytes - reached}}});
    if (!diagnostics.empty()) throw InputError(std::move(diagnostics));
    return entries;
}

}  // namespace meshscope::data
