#include "core/base/pack.h"

#include "core/base/error.h"
#include "core/base/random.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

struct Pair {
    int32_t a = 0;
    double b = 0;
};

std::vector<std::byte> packed() {
    Packer packer;
    packer.add(int32_t{-5});
    packer.add(std::string("zwölf 字"));
    packer.add(std::vector<Pair>{{1, 0.5}, {2, -0.25}});
    packer.add(std::vector<std::string>{"", "one"});
    packer.add(std::vector<float>{});
    return packer.take();
}

/// Everything that packed() holds, as text.
std::string read(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    std::string text = std::to_string(unpacker.get<int32_t>());
    text += unpacker.text();
    for (const Pair& p : unpacker.list<Pair>()) text += " " + std::to_string(p.a) + ":" + std::to_string(p.b);
    for (const std::string& t : unpacker.texts()) text += " '" + t + "'";
    text += " " + std::to_string(unpacker.list<float>().size());
    unpacker.finish();
    return text;
}

}  // namespace

TEST_CASE("what a packer laid down an unpacker reads") {
    CHECK(read(packed()) == "-5zwölf 字 1:0.500000 2:-0.250000 '' 'one' 0");
}

TEST_CASE("every cut and every flipped bit of packed bytes is refused") {
    const std::vector<std::byte> whole = packed();
    for (std::size_t n = 0; n < whole.size(); ++n)
        CHECK_THROWS_AS(read(std::span(whole).first(n)), InvalidArgument);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::vector<std::byte> flipped = whole;
        flipped[bit / 8] ^= std::byte{1} << (bit % 8);
        CHECK_THROWS_AS(read(flipped), InvalidArgument);
    }
}

TEST_CASE("a count that asks for more than is there asks for no memory") {
    Packer packer;
    packer.add(~uint64_t{0});
    packer.add(uint64_t{1} << 61);  // times the size of an element it would wrap round to 0
    const std::vector<std::byte> bytes = packer.take();
    CHECK_THROWS_AS(Unpacker(bytes).text(), InvalidArgument);
    CHECK_THROWS_AS(Unpacker(bytes).list<double>(), InvalidArgument);
    CHECK_THROWS_AS(Unpacker(bytes).texts(), InvalidArgument);
    Unpacker second(bytes);
    second.get<uint64_t>();
    CHECK_THROWS_AS(second.list<double>(), InvalidArgument);
    Unpacker unread(bytes);
    CHECK_THROWS_AS(unread.finish(), InvalidArgument);
}

TEST_CASE("a message goes through bytes with every kind of argument") {
    const Message message{"some.id",
                          {{"n", int64_t{-3}},
                           {"x", 0.1},
                           {"words", std::string("déjà")},
                           {"list", std::vector<int64_t>{4, 5}}}};
    Packer packer;
    pack(packer, message);
    const std::vector<std::byte> bytes = packer.take();
    Unpacker unpacker(bytes);
    const Message copy = unpack_message(unpacker);
    unpacker.finish();
    CHECK(copy.id == message.id);
    REQUIRE(copy.args.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(copy.args[i].name == message.args[i].name);
        CHECK((copy.args[i].value == message.args[i].value));
    }
    Packer wrong;
    wrong.add(std::string("id"));
    wrong.add(uint64_t{1});
    wrong.add(std::string("n"));
    wrong.add(uint64_t{4});  // there is no fifth kind
    const std::vector<std::byte> bad = wrong.take();
    Unpacker of_bad(bad);
    CHECK_THROWS_AS(unpack_message(of_bad), InvalidArgument);
}
