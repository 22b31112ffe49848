#include "app/html/page.h"

#include <zlib.h>

#include <filesystem>
#include <functional>
#include <regex>

#include "app/html/packed_text.h"
#include "core/base/error.h"
#include "core/base/file_kind.h"
#include "core/trace/trace_bytes.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/trace/example.h"
#include "tests/tree.h"

using namespace meshscope;
using test::Folder;
namespace fs = std::filesystem;

namespace {

/// What scripts/web makes meshscope.html of.
std::string template_path() {
    return test::source_root() + "/app/web/page.html";
}

std::string written(std::string_view bytes, const html::PageRecord& record) {
    std::string text;
    html::write_page(bytes, record, template_path(), [&](std::string_view piece) { text += piece; });
    return text;
}

/// base64 of gzip, read by other means than it was written.
std::string unpacked(const std::string& text) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string packed;
    unsigned group = 0, bits = 0;
    for (const char c : text) {
        if (c == '=') break;
        group = group << 6 | static_cast<unsigned>(kLetters.find(c));
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        packed += static_cast<char>(group >> bits & 255);
    }
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    std::string bytes, piece(1 << 16, '\0');
    for (int code = Z_OK; code == Z_OK;) {
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        code = inflate(&stream, Z_NO_FLUSH);
        CHECK((code == Z_OK || code == Z_STREAM_END));
        bytes.append(piece, 0, piece.size() - stream.avail_out);
    }
    CHECK(stream.avail_in == 0);
    inflateEnd(&stream);
    return bytes;
}

std::string refused(const std::function<void()>& act) {
    try {
        act();
    } catch (const InvalidArgument& error) {
        return error.message().id;
    }
    return "";
}

}  // namespace

TEST_CASE("a page is the template with its mark and with the record in its place, byte for byte") {
    const std::string bytes = trace::trace_bytes(trace::example::merged());
    const std::string made = written(bytes, {"a.mscope", {{"view", "memory"}, {"step", "3"}}});
    // The mark stands behind the doctype.
    const std::string doctype = "<!DOCTYPE html>", mark(kXmlMark);
    REQUIRE(made.starts_with(doctype + mark));
    const std::string page = doctype + made.substr(doctype.size() + mark.size());
    const std::string whole = test::content(template_path());
    const std::size_t place = whole.find(html::kEmptyRecord);
    REQUIRE(place != std::string::npos);
    CHECK(whole.find(html::kEmptyRecord, place + 1) == std::string::npos);
    CHECK(page.substr(0, place) == whole.substr(0, place));
    CHECK(page.ends_with(whole.substr(place + html::kEmptyRecord.size())));
    std::smatch found;
    const std::string middle = page.substr(place);
    REQUIRE(std::regex_search(middle, found,
                              std::regex("^<script type=\"text/plain\" id=\"record\" data-name=\"a.mscope\" "
                                         "data-place=\"view=memory&amp;step=3\">([A-Za-z0-9+/=]*)</script>")));
    CHECK(unpacked(found[1]) == bytes);
    CHECK(written(bytes, {"a.mscope", {{"view", "memory"}, {"step", "3"}}}) == made);
    // A page with a record in it takes no second one.
    const Folder folder;
    folder.write("full.html", page);
    const auto again = [&](const std::string& path) {
        return refused([&] { html::export_page(bytes, {}, path, folder.file("b.html")); });
    };
    CHECK(again(folder.file("full.html")) == "html.not_a_page");
    CHECK(again(test::source_root() + "/README.md") == "html.not_a_page");
    CHECK(folder.files() == 1);
}

TEST_CASE("bytes of any length come back, in pieces of bounded size") {
    for (const std::size_t size : {0U, 1U, 2U, 3U, 4U, 100U, 786'431U, 786'432U, 786'433U, 3'000'000U}) {
        INFO(size);
        std::string bytes(size, '\0');
        uint32_t noise = 1;  // which gzip cannot make smaller
        for (char& c : bytes) c = static_cast<char>((noise = noise * 1'664'525 + 1'013'904'223) >> 24);
        std::string text;
        html::write_packed(bytes, [&](std::string_view piece) {
            CHECK(piece.size() <= 1 << 20);
            text += piece;
        });
        CHECK(text.size() % 4 == 0);
        CHECK(unpacked(text) == bytes);
    }
}

TEST_CASE("no name and no word of a place can end the attribute that holds it") {
    const std::string page =
        written("", {"a\"><script>b</script>.mscope", {{"view", "\"&'<>"}, {"at", "4.2µs"}}});
    CHECK(page.find("data-name=\"a%22%3E%3Cscript%3Eb%3C%2Fscript%3E.mscope\" "
                    "data-place=\"view=%22%26%27%3C%3E&amp;at=4.2%C2%B5s\">") != std::string::npos);
    using Words = std::vector<std::pair<std::string, std::string>>;
    CHECK(html::place_of({"meshscope-app", "a.mscope", "--step", "3", "--size", "1x1", "--lang", "zh"}) ==
          Words{{"step", "3"}, {"lang", "zh"}});
}

TEST_CASE("the page is the one that is named, else beside the program, else in the checkout") {
    const Folder folder;
    const std::string bin = folder.file("build/release/bin");
    fs::create_directories(bin);
    const auto found = [&](const std::string& named) { return html::find_page(named, bin); };
    CHECK(refused([&] { found(""); }) == "html.no_page");
    CHECK(refused([&] { found(folder.file("none.html")); }) == "html.no_such_page");
    fs::create_directories(folder.file("out/web"));
    folder.write("out/web/meshscope.html", "built");
    CHECK(found("") == folder.file("out/web/meshscope.html"));
    fs::create_directories(folder.file("build/release/share/meshscope"));
    folder.write("build/release/share/meshscope/meshscope.html", "installed");
    CHECK(found("") == folder.file("build/release/share/meshscope/meshscope.html"));
    CHECK(found(template_path()) == template_path());
}

TEST_CASE("a run too large for a page is refused with the steps that would fit, and those are taken") {
    const i18n::Catalogue catalogue = i18n::Catalogue::embedded();
    trace::Trace large = trace::example::large(2, 300'000, 0);  // ten steps of 60,000 events
    try {
        static_cast<void>(html::part_for_page(large, {}, catalogue));
        FAIL("600,000 events went in");
    } catch (const InvalidArgument& error) {
        CHECK(catalogue.text(error.message(), i18n::Language::en).find("--steps 0:8 would fit") !=
              std::string::npos);
    }
    large.info.title_en = "long";
    const auto part = html::part_for_page(large, trace::StepRange{8, 10}, catalogue);
    REQUIRE(part);
    CHECK(part->ranks[1].events.size() == 60'000);
    CHECK(part->info.title_en == "long · steps 8 to 9 of 10");
    CHECK(part->info.title_zh == "long · 第 8 到 9 步，共 10 步");
    CHECK_FALSE(html::part_for_page(trace::example::merged(), {}, catalogue));
    for (trace::RankTrace& rank : large.ranks)
        for (trace::Event& event : rank.events) event.step = 0;
    CHECK(refused([&] { static_cast<void>(html::part_for_page(large, {}, catalogue)); }) ==
          "html.step_too_large");
}
