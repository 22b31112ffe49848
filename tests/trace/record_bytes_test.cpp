#include "core/trace/record_bytes.h"

#include "core/base/error.h"
#include "tests/test.h"
#include "tests/trace/example.h"

using namespace meshscope;
using namespace meshscope::trace;

TEST_CASE("records that went through bytes merge to the same trace") {
    for (const Level level : {Level::off, Level::collectives, Level::hops, Level::values}) {
        std::vector<RankRecord> copies;
        const std::vector<RankRecord> records = example::records(level);
        for (const RankRecord& record : records) {
            Packer packer;
            pack(packer, record);
            const std::vector<std::byte> bytes = packer.take();
            Unpacker unpacker(bytes);
            copies.push_back(unpack_record(unpacker));
            unpacker.finish();
        }
        CHECK(identical(merge(example::info(), example::groups(), std::move(copies)),
                        merge(example::info(), example::groups(), records)));
    }
}

TEST_CASE("damaged records are refused") {
    Packer packer;
    pack(packer, example::records()[0]);
    const std::vector<std::byte> whole = packer.take();
    const auto read = [](std::span<const std::byte> bytes) {
        Unpacker unpacker(bytes);
        unpack_record(unpacker);
        unpacker.finish();
    };
    for (std::size_t n = 0; n < whole.size(); n += 7)
        CHECK_THROWS_AS(read(std::span(whole).first(n)), InvalidArgument);
    for (std::size_t i = 0; i < whole.size(); i += 11) {
        std::vector<std::byte> flipped = whole;
        flipped[i] ^= std::byte{0x10};
        CHECK_THROWS_AS(read(flipped), InvalidArgument);
    }
    // Whole bytes of something else: the layout's number is wrong.
    Packer other;
    other.add(uint64_t{1});
    other.add(std::vector<std::string>{});
    const std::vector<std::byte> foreign = other.take();
    CHECK_THROWS_AS(read(foreign), InvalidArgument);
}
