#include "core/data/safetensors.h"

#include <sys/stat.h>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::data;
using test::content;
using test::Folder;

namespace {

/// A file from its header's text and so many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
    const auto length = std::bit_cast<std::array<char, 8>>(static_cast<uint64_t>(header.size()));
    return std::string(length.data(), 8) + header + std::string(data_bytes, 'd');
}

struct Refusal {
    std::vector<std::string> ids;
    int64_t byte = -1;
};

/// The ids of everything an InputError says, and the first one's byte.
Refusal refusal_of(const std::string& bytes) {
    try {
        parse_safetensors(bytes, "w.safetensors");
    } catch (const InputError& error) {
        Refusal refusal;
        for (const Diagnostic& d : error.diagnostics()) {
            refusal.ids.push_back(d.message.id);
            CHECK(d.position.file == "w.safetensors");
        }
        refusal.byte = error.diagnostics().front().position.byte;
        return refusal;
    }
    return {{"read without complaint"}, -1};
}

NamedTensor integers64(const std::string& name, const std::vector<int64_t>& numbers) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return {name, DType::int64, {static_cast<int64_t>(numbers.size())}, {bytes.begin(), bytes.end()}};
}

}  // namespace

TEST_CASE("what is written reads back, sorted and aligned") {
    const Folder folder;
    const std::string path = folder.file("out.safetensors");
    const std::vector<float> numbers{1.5F, -2.0F, 0.0F, 3.25F, 1e-40F, 7.0F};
    write_safetensors(
        path,
        {named_floats("net2.weight", {2, 3}, numbers),
         named_floats("net1.bias", {1}, std::span(numbers).first(1)),
         integers64("ids", {1, -5, int64_t{1} << 40U}),
         named_floats("empty", {0, 4}, {}),
         {"half", DType::bfloat16, {2}, {std::byte{0x80}, std::byte{0x3F}, std::byte{0x00}, std::byte{0xC0}}},
         {"名字 \"quoted\"", DType::int32, {1}, {std::byte{7}, std::byte{0}, std::byte{0}, std::byte{0}}}});
    const SafetensorsFile file = read_safetensors(path);
    REQUIRE(file.tensors.size() == 6);
    CHECK(file.tensors.front().name == "ids");  // the widest first
    CHECK(file.tensors.back().name == "half");
    REQUIRE(file.find("net2.weight") != nullptr);
    CHECK(file.find("net2.weight")->shape == tensor::Shape{2, 3});
    CHECK(file.find("net2.weight")->floats() == numbers);
    CHECK(file.find("ids")->integers() == std::vector<int64_t>{1, -5, int64_t{1} << 40U});
    CHECK(file.find("half")->floats() == std::vector<float>{1.0F, -2.0F});
    CHECK(file.find("empty")->n_elements() == 0);
    CHECK(file.find("名字 \"quoted\"")->integers() == std::vector<int64_t>{7});
    CHECK(file.find("absent") == nullptr);
    CHECK_THROWS_AS(file.find("ids")->floats(), InvalidArgument);
    CHECK_THROWS_AS(file.find("half")->integers(), InvalidArgument);

    uint64_t header = 0;
    std::memcpy(&header, content(path).data(), 8);
    CHECK(header % 8 == 0);
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) ==
          1);  // nothing left beside it
}

TEST_CASE("the bytes of a small file are the format's, one by one") {
    const Folder folder;
    write_safetensors(folder.file("a"), {named_floats("b", {1}, std::vector<float>{1.0F})});
    const std::string header = R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
    std::string wanted = file_of(padded, 0);
    wanted += std::string("\x00\x00\x80\x3f", 4);
    CHECK(content(folder.file("a")) == wanted);
}

TEST_CASE("PyTorch's own files are read, and written again with the same numbers") {
    const Folder folder;
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(test::golden_folder() + "/train")) {
        if (entry.path().extension() != ".safetensors") continue;
        CAPTURE(entry.path().string());
        ++files;
        const SafetensorsFile file = read_safetensors(entry.path().string());
        CHECK_FALSE(file.tensors.empty());
        for (const NamedTensor& t : file.tensors)
            if (t.dtype == DType::int64)  // tokens
                CHECK(static_cast<int64_t>(t.bytes.size()) == 8 * t.n_elements());
            else
                CHECK(static_cast<int64_t>(t.floats().size()) == t.n_elements());
        write_safetensors(folder.file("again"), file.tensors);
        const SafetensorsFile again = read_safetensors(folder.file("again"));
        REQUIRE(again.tensors.size() == file.tensors.size());
        for (const NamedTensor& t : file.tensors) CHECK(again.find(t.name)->bytes == t.bytes);
    }
    CHECK(files >= 36);
    const SafetensorsFile init =
        read_safetensors(test::golden_folder() + "/train/toy_single.init.safetensors");
    REQUIRE(init.find("net2.weight") != nullptr);
    CHECK(init.find("net2.weight")->shape == tensor::Shape{5, 10});
}

TEST_CASE("a file cut at any byte is refused, and so is one with a byte too many") {
    const std::string whole = content(test::golden_folder() + "/train/toy_single.init.safetensors");
    REQUIRE(whole.size() > 500);
    CHECK_NOTHROW(parse_safetensors(whole, "w"));
    for (std::size_t n = 0; n < whole.size(); ++n) {
        const Refusal refusal = refusal_of(whole.substr(0, n));
        CAPTURE(n, refusal.ids.front());
        REQUIRE(refusal.ids.front().substr(0, 12) == "safetensors.");
        REQUIRE(refusal.byte >= 0);
    }
    CHECK(refusal_of(whole + "x").ids == std::vector<std::string>{"safetensors.trailing"});
    CHECK(refusal_of(whole + "x").byte == static_cast<int64_t>(whole.size()));
}

TEST_CASE("a file with any header byte changed is refused, or read in full") {
    const std::string whole = content(test::golden_folder() + "/train/toy_single.init.safetensors");
    uint64_t header = 0;
    std::memcpy(&header, whole.data(), 8);
    int refused = 0;
    int read = 0;
    for (std::size_t i = 0; i < 8 + header; ++i) {
        for (const char c :
             {'\0', '"', '{', '}', '[', ']', ',', ':', '0', '9', '-', 'e', '\\', ' ', '\x80', '\xff'}) {
            std::string changed = whole;
            if (changed[i] == c) continue;
            changed[i] = c;
            try {
                // A changed letter of a name, or a space for a space's neighbour, is still a right file.
                const SafetensorsFile file = parse_safetensors(changed, "w");
                std::size_t bytes = 0;
                for (const NamedTensor& t : file.tensors) bytes += t.bytes.size();
                REQUIRE(bytes == whole.size() - 8 - header);
                ++read;
            } catch (const InputError& error) {
                REQUIRE_FALSE(error.diagnostics().empty());
                ++refused;
            }
        }
    }
    CHECK(refused > read);
    CHECK(read > 0);
}

TEST_CASE("headers that lie are refused by name") {
    struct Lie {
        const char* header;
        std::size_t data_bytes;
        const char* id;
    };
    const auto lie = GENERATE(values<Lie>({
        {R"([])", 0, "safetensors.header_start"},
        {R"( {})", 0, "safetensors.header_start"},
        {R"({"a":)", 0, "safetensors.json"},
        {R"({} x)", 0, "safetensors.json"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],}})", 4, "safetensors.json"},
        {"{\"\xff\":{}}", 0, "safetensors.json"},
        {R"({})", 4, "safetensors.trailing"},
        {R"({"a":1})", 0, "safetensors.structure"},
        {R"({"a":null})", 0, "safetensors.structure"},
        {R"({"a":[[[[[[]]]]]]})", 0, "safetensors.structure"},
        {R"({"a":{"dtype":{"dtype":"F32"}}})", 0, "safetensors.structure"},
        {R"({"a":{"dtype":["F32"]}})", 0, "safetensors.structure"},
        {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, "safetensors.structure"},
        {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "safetensors.structure"},
        {R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4, "safetensors.structure"},
        {R"({"a":{"dtype":"F32","shape":[true],"data_offsets":[0,4]}})", 4, "safetensors.structure"},
        {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4,
         "tensor.too_many_dims"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "safetensors.structure"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4, "safetensors.structure"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,1e30]}})", 4, "safetensors.structure"},
        {R"({"__metadata__":{"format":1}})", 0, "safetensors.structure"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
         8, "safetensors.duplicate_key"},
        {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4,
         "safetensors.duplicate_key"},
        {R"({"__metadata__":{"x":"1","x":"2"}})", 0, "safetensors.duplicate_key"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"extra":"x"}})", 4, "safetensors.field"},
        {R"({"a":{"dtype":"F32","shape":[1]}})", 0, "safetensors.missing_field"},
        {R"({"a":{}})", 0, "safetensors.missing_field"},
        {R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", 8, "safetensors.dtype"},
        {R"({"a":{"dtype":"","shape":[1],"data_offsets":[0,8]}})", 8, "safetensors.dtype"},
        {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "safetensors.negative"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4, "safetensors.negative"},
        {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4,
         "safetensors.too_large"},
        {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4,
         "safetensors.too_large"},
        {R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", 4,
         "safetensors.too_large"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "safetensors.offsets"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3, "safetensors.offsets"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[9223372036854775804,9223372036854775807]}})", 4,
         "safetensors.offsets"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}})", 4,
         "safetensors.offsets"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "safetensors.size"},
        {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,8]}})", 8, "safetensors.size"},
        {R"({"a":{"dtype":"F32","shape":[0,9223372036854775807],"data_offsets":[0,4]}})", 4,
         "safetensors.size"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
         12, "safetensors.overlap"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
         4, "safetensors.overlap"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
         12, "safetensors.hole"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "safetensors.hole"},
        {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8, "safetensors.trailing"},
    }));
    CAPTURE(lie.header, lie.data_bytes);
    const Refusal refusal = refusal_of(file_of(lie.header, lie.data_bytes));
    CHECK(refusal.ids == std::vector<std::string>{lie.id});
    CHECK(refusal.byte >= 8);
}

TEST_CASE("behind the header's object stand blanks or nothing, as safetensors writes and reads it") {
    const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    CHECK_NOTHROW(parse_safetensors(file_of(header + "   ", 4), "w"));
    for (const std::string& tail : {std::string(1, '\0'), std::string("  \0 ", 4), std::string("\0x", 2)}) {
        const Refusal refusal = refusal_of(file_of(header + tail, 4));
        CHECK(refusal.ids == std::vector<std::string>{"safetensors.json"});
        CHECK(refusal.byte == static_cast<int64_t>(8 + header.size() + tail.find('\0')));
    }
}

TEST_CASE("a header's length is checked before it is believed") {
    const auto with_length = [](uint64_t length) {
        const auto bytes = std::bit_cast<std::array<char, 8>>(length);
        return std::string(bytes.data(), 8) + "{}";
    };
    CHECK(refusal_of("").ids.front() == "safetensors.too_short");
    CHECK(refusal_of("1234567").ids.front() == "safetensors.too_short");
    CHECK(refusal_of(with_length(UINT64_MAX)).ids.front() == "safetensors.header_too_large");
    CHECK(refusal_of(with_length(100'000'001)).ids.front() == "safetensors.header_too_large");
    CHECK(refusal_of(with_length(100'000'000)).ids.front() == "safetensors.header_beyond_file");
    CHECK(refusal_of(with_length(3)).ids.front() == "safetensors.header_beyond_file");
    CHECK(refusal_of(with_length(0)).ids.front() == "safetensors.header_start");
    CHECK_NOTHROW(parse_safetensors(with_length(2), "w"));
}

TEST_CASE("deep nesting is refused at once, however deep") {
    std::string header = "{\"a\":";
    for (int i = 0; i < 1'000'000; ++i) header += "[";
    CHECK(refusal_of(file_of(header, 0)).ids.front() == "safetensors.structure");
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    CHECK(refusal_of(file_of(objects, 0)).ids.front() == "safetensors.field");
    std::string shape = R"({"a":{"dtype":"F32","shape":[1)";
    for (int i = 0; i < 100'000; ++i) shape += ",1";
    CHECK(refusal_of(file_of(shape + "]}}", 0)).ids.front() == "tensor.too_many_dims");
}

TEST_CASE("every wrong tensor is listed, at its own byte") {
    const std::string header =
        R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[3],"data_offsets":[8,16]},"c":{"dtype":"F32","shape":[1]}})";
    const Refusal refusal = refusal_of(file_of(header, 16));
    CHECK(refusal.ids ==
          std::vector<std::string>{"safetensors.dtype", "safetensors.missing_field", "safetensors.size"});
    CHECK(refusal.byte == 8 + 3);  // the closing quote of "a"
    CHECK(refusal_of(file_of(R"({"a":tru})", 0)).byte ==
          8 + 8);  // the byte at which "true" cannot come any more
}

TEST_CASE("an unreadable path is an IoError that names it") {
    const Folder folder;
    const auto reason = [](const std::string& path) {
        try {
            read_safetensors(path);
        } catch (const IoError& error) {
            CHECK(error.message().id == "safetensors.cannot_read");
            CHECK(std::get<std::string>(error.message().find("path")[0]) == path);
            return std::get<std::string>(*error.message().find("reason"));
        }
        return std::string("read without complaint");
    };
    CHECK(reason(folder.file("absent")) == "No such file or directory");
    CHECK(reason(folder.path.string()) == "Is a directory");
    REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    CHECK(reason(folder.file("pipe")) == "Invalid argument");  // and does not hang
}

TEST_CASE("a write that fails leaves the old file and nothing else") {
    const Folder folder;
    const std::string path = folder.file("w.safetensors");
    write_safetensors(path, {named_floats("a", {1}, std::vector<float>{1.0F})});
    const std::string before = content(path);
    const NamedTensor a = named_floats("a", {1}, std::vector<float>{2.0F});
    CHECK_THROWS_AS(write_safetensors(path, {a, a}), InvalidArgument);
    CHECK_THROWS_AS(write_safetensors(path, {named_floats("a", {2}, std::vector<float>{2.0F})}),
                    InvalidArgument);
    CHECK_THROWS_AS(write_safetensors(path, {named_floats("__metadata__", {0}, {})}), InvalidArgument);
    CHECK_THROWS_AS(write_safetensors(path, {named_floats("\xff", {0}, {})}), InvalidArgument);
    CHECK_THROWS_AS(write_safetensors(path, {{"a", DType::uint8, {0}, {}}}), InvalidArgument);
    CHECK_THROWS_AS(write_safetensors(folder.file("absent/w"), {a}), IoError);
    CHECK_THROWS_AS(write_safetensors(folder.path.string(), {a}), IoError);
    CHECK(content(path) == before);
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
}
