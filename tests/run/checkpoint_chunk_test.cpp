// Boxes of an array: the pieces of any range fill it exactly, and what two boxes share is copied to its
// place.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/run/checkpoint/layout.h"
#include "core/run/checkpoint/manifest.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::run::checkpoint;

namespace {

/// The row-major positions of a box's elements in the whole array, in order: by the definition.
std::vector<int64_t> positions(const Chunk& chunk, const Shape& shape) {
    std::vector<int64_t> result;
    for (int64_t i = 0; i < tensor::count(shape); ++i) {
        int64_t rest = i;
        bool within = true;
        for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
            within &=
                rest % shape[d] >= chunk.offsets[d] && rest % shape[d] < chunk.offsets[d] + chunk.sizes[d];
        if (within) result.push_back(i);
    }
    return result;
}

}  // namespace

TEST_CASE("the boxes of every range of an array are that range, in order") {
    for (const Shape& shape : {Shape{7}, Shape{4, 5}, Shape{3, 1, 4}, Shape{2, 3, 2, 2}}) {
        const int64_t all = tensor::count(shape);
        for (int64_t first = 0; first <= all; ++first)
            for (int64_t n = 0; first + n <= all; ++n) {
                std::vector<int64_t> seen, expected(static_cast<std::size_t>(n));
                std::iota(expected.begin(), expected.end(), first);
                const std::vector<Chunk> chunks = chunks_of_range(shape, first, n);
                for (const Chunk& chunk : chunks) {
                    REQUIRE(inside(chunk, shape));
                    const std::vector<int64_t> places = positions(chunk, shape);
                    REQUIRE(std::cmp_equal(places.size(), chunk.n_elements()));
                    seen.insert(seen.end(), places.begin(), places.end());
                }
                REQUIRE(seen == expected);
                REQUIRE(chunks.size() <= 2 * shape.size() - 1);
            }
    }
    CHECK(chunks_of_range({5, 10}, 20, 20) == std::vector<Chunk>{{{2, 0}, {2, 10}}});
    CHECK(chunks_of_range({5, 10}, 50, 0) == std::vector<Chunk>{{{5, 0}, {0, 10}}});
}

TEST_CASE("what two boxes share is copied from the one's numbers to the other's") {
    const Shape shape{3, 4, 3};
    std::vector<Chunk> boxes;
    for (int64_t a = 0; a < 3; ++a)
        for (int64_t b = 0; b < 4; b += 2)
            for (int64_t c = 0; c < 3; c += 2)
                for (int64_t size = 0; size < 3; ++size)
                    boxes.push_back({{a, b, c}, {std::min(size, 3 - a), std::min(size + 1, 4 - b), 3 - c}});
    for (const Chunk& from : boxes)
        for (const Chunk& to : boxes) {
            const auto from_places = positions(from, shape), to_places = positions(to, shape);
            std::vector<float> source, expected, target(to_places.size(), -1.0F);
            for (const int64_t place : from_places) source.push_back(static_cast<float>(place));
            int64_t common = 0;
            for (const int64_t place : to_places) {
                const bool shared = std::ranges::find(from_places, place) != from_places.end();
                common += shared;
                expected.push_back(shared ? static_cast<float>(place) : -1.0F);
            }
            REQUIRE(copy_common(from, source, to, target) == common);
            REQUIRE(target == expected);
        }
}

TEST_CASE("a layout travels as whole numbers and comes back as it was") {
    Layout layout{{0.1, -0.0, 1e-300}, {2.5}, {3, 1, 2}, false, {{4, 7, 1, {{{0, 2}, {3, 1}}, {{3, 2}, {0, 1}}}}}};
    const Layout back = decode(encode(layout));
    CHECK(back.losses == layout.losses);
    CHECK(back.grad_norms == layout.grad_norms);
    CHECK(back.strategy_state == layout.strategy_state);
    CHECK_FALSE(back.finite);
    REQUIRE(back.pieces.size() == 1);
    CHECK(back.pieces[0].parameter == 4);
    CHECK(back.pieces[0].steps == 7);
    CHECK(back.pieces[0].chunks == layout.pieces[0].chunks);
    CHECK(back.pieces[0].n_elements() == 3);
}

TEST_CASE("a manifest reads back, and no changed byte of it goes unseen") {
    Manifest manifest;
    manifest.kind = "sharded";
    manifest.steps = 5;
    manifest.world_size = 2;
    manifest.mesh_shape = {2};
    manifest.mesh_names = {"shard"};
    manifest.strategy = "fsdp2";
    manifest.identity = {{"model.kind", "toy"}, {"data.seed", "18446744073709551615"}};
    manifest.losses = {0.1, 1.0 / 3.0, 1, 0.5, 0.25};
    manifest.optimizer_steps = {{"w", 5}};
    manifest.files = {{"rank_00000.safetensors", 80, 0x0000ABCDU},
                      {"rank_00001.safetensors", 0, 0xFFFFFFFFU}};
    manifest.tensors = {
        {"model.w", {3, 2}, {{{{0, 0}, {3, 2}}, 0, "model.w"}, {{{3, 0}, {0, 2}}, 1, "model.w"}}}};
    const std::string text = to_json(manifest);
    const Manifest back = parse_manifest(text, "m");
    CHECK(back.identity == manifest.identity);
    CHECK(back.losses == manifest.losses);
    CHECK(back.files[0].crc32c == 0xABCDU);
    CHECK(back.files[1].crc32c == 0xFFFFFFFFU);
    REQUIRE(back.find("model.w") != nullptr);
    CHECK(back.find("model.w")->chunks[1].chunk == Chunk{{3, 0}, {0, 2}});
    CHECK(to_json(back) == text);

    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        INFO(i << ": " << changed.substr(i > 10 ? i - 10 : 0, 20));
        CHECK_THROWS_AS(parse_manifest(changed, "m"), InputError);
    }
    for (std::size_t n = 0; n + 2 < text.size(); ++n)  // without its last newline it is still whole
        CHECK_THROWS_AS(parse_manifest(std::string_view(text).substr(0, n), "m"), InputError);
}

TEST_CASE("a manifest made by hand must fit itself, checksum or not") {
    const auto refused = [](const std::function<void(Manifest&)>& change) {
        Manifest manifest;
        manifest.kind = "rank0";
        manifest.steps = 2;
        manifest.losses = manifest.grad_norms = {1, 2};
        manifest.optimizer_steps = {{"w", 2}};
        manifest.files = {{"whole.safetensors", 8, 1}};
        manifest.tensors = {{"model.w", {2}, {{{{0}, {2}}, 0, "model.w"}}}};
        change(manifest);
        try {
            parse_manifest(to_json(manifest), "m");
        } catch (const InputError& error) {
            return error.diagnostics().at(0).message.id;
        }
        return std::string();
    };
    CHECK(refused([](Manifest&) {}).empty());
    CHECK(refused([](Manifest& m) { m.grad_norms.clear(); }).empty());
    for (const std::function<void(Manifest&)>& change : std::initializer_list<std::function<void(Manifest&)>>{
             [](Manifest& m) { m.kind = "y"; }, [](Manifest& m) { m.losses = {1}; },
             [](Manifest& m) { m.grad_norms = {1}; }, [](Manifest& m) { m.optimizer_steps.clear(); },
             [](Manifest& m) {
                 m.optimizer_steps = {{"w", -1}};
             },
             [](Manifest& m) {
                 m.optimizer_steps.push_back({"v", 2});
             }})
        CHECK(refused(change) == "checkpoint.manifest_damaged");
}

TEST_CASE("boxes that do not make up their array are refused, checksum or not") {
    const auto refused = [](std::vector<SavedChunk> chunks) {
        Manifest manifest;
        manifest.kind = "rank0";
        manifest.optimizer_steps = {{"w", 0}};
        manifest.files = {{"whole.safetensors", 8, 1}};
        manifest.tensors = {{"model.w", {4, 2}, std::move(chunks)}};
        try {
            parse_manifest(to_json(manifest), "m");
        } catch (const InputError& error) {
            return error.diagnostics().at(0).message.id;
        }
        return std::string();
    };
    CHECK(refused({{{{0, 0}, {4, 2}}, 0, "w"}}).empty());
    CHECK(refused({{{{0, 0}, {3, 2}}, 0, "w"}}) == "checkpoint.bad_chunks");
    CHECK(refused({{{{1, 0}, {4, 2}}, 0, "w"}}) == "checkpoint.bad_chunks");
    CHECK(refused({{{{0, 0}, {4, 2}}, 1, "w"}}) == "checkpoint.bad_chunks");
    CHECK(refused({{{{0, 0}, {8}}, 0, "w"}}) == "checkpoint.bad_chunks");
    CHECK(refused({{{{-1, 0}, {4, 2}}, 0, "w"}}) == "checkpoint.bad_chunks");
    CHECK(refused({}) == "checkpoint.bad_chunks");
}

TEST_CASE(
    "of a manifest no number is taken that its place cannot hold, and no name that is another folder's") {
    using nlohmann::ordered_json;
    Manifest manifest;
    manifest.kind = "rank0";
    manifest.steps = 1;
    manifest.losses = {1};
    manifest.optimizer_steps = {{"w", 1}};
    manifest.files = {{"whole.safetensors", 8, 1}};
    manifest.tensors = {{"model.w", {2}, {{{{0}, {2}}, 0, "model.w"}}}};
    const auto refused = [&](const std::function<void(ordered_json&)>& change) {
        ordered_json whole = ordered_json::parse(to_json(manifest));
        change(whole["checkpoint"]);
        const std::string body = whole["checkpoint"].dump();
        Crc32c crc;
        crc.add(body.data(), body.size());
        std::array<char, 9> hex{};
        std::snprintf(hex.data(), hex.size(), "%08x", static_cast<unsigned>(crc.value()));
        whole["crc32c"] = hex.data();
        try {
            parse_manifest(whole.dump(), "m");
        } catch (const InputError& error) {
            return error.diagnostics().at(0).message.id;
        }
        return std::string();
    };
    CHECK(refused([](ordered_json&) {}).empty());
    const std::string damaged = "checkpoint.manifest_damaged";
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();  // 0 in its lower 32 bits
    for (const ordered_json& number :
         {ordered_json(kLeast), ordered_json(int64_t{1} << 32), ordered_json(1e300), ordered_json(0.0),
          ordered_json(std::numeric_limits<uint64_t>::max()), ordered_json("0"), ordered_json(true)}) {
        INFO(number.dump());
        const auto with = [&](const char* place) {
            return refused([&](ordered_json& body) { body[ordered_json::json_pointer(place)] = number; });
        };
        CHECK(with("/tensors/0/chunks/0/file") == damaged);
        CHECK(with("/steps") == damaged);
        CHECK(with("/world_size") == damaged);
        CHECK((number.is_number_integer() || with("/files/0/bytes") == damaged));
        CHECK_FALSE(with("/tensors/0/shape/0").empty());
        CHECK_FALSE(with("/optimizer_steps/w").empty());
    }
    for (const std::string& name : {std::string("../w"), std::string("/w"), std::string("a/b"),
                                    std::string(".."), std::string(), std::string("w\0x", 3)})
        CHECK(refused([&](ordered_json& body) { body["files"][0]["name"] = name; }) == damaged);
    std::string deep = "0";
    for (int i = 0; i < 30; ++i) deep = "[" + deep + "]";
    CHECK(refused([&](ordered_json& body) { body["more"] = ordered_json::parse(deep); }).empty());
    deep = std::string(100'000, '[') + std::string(100'000, ']');
    const std::string text = to_json(manifest);
    CHECK_THROWS_AS(parse_manifest("{\"deep\": " + deep + "," + text.substr(1), "m"), InputError);
}
