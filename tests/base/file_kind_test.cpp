// No file of one kind takes the place of another's unasked.
#include "core/base/file_kind.h"

#include <array>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/folder_mark.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace std::string_literals;

namespace {

/// A file's beginning and what it is.
struct Example {
    FileKind kind;
    std::string bytes;
};

std::vector<Example> examples() {
    std::string trace = "SQLite format 3\0"s + std::string(84, '\0');
    trace.replace(68, 4, "MScp");
    return {{FileKind::trace, trace},
            {FileKind::safetensors,
             "\x60\0\0\0\0\0\0\0{\"__metadata__\":{\"written_by\":\"meshscope\"},\"w\":{}}"s},
            {FileKind::json, " \n{\n \"written_by\": \"meshscope\",\n \"losses\": []}"},
            {FileKind::choices, "# Which algorithm was fastest: op\nall_reduce messages 2-3 1024 ring\n"},
            {FileKind::profile, "# meshscope bench profile\nname = \"x\"\n[compute]\nfloat32_gflops = 1\n"},
            {FileKind::scenario, "# meshscope scenario from job.yaml\nformat = 1\n"},
            {FileKind::csv, "id,rank,step,phase,op\r\n1,0,0,forward,all_reduce\r\n"},
            {FileKind::svg, "<?xml version=\"1.0\"?>\n<svg xmlns=\"x\"><!-- meshscope -->"},
            {FileKind::png, "\x89PNG\r\n\x1a\n"s + std::string(25, 'h') + std::string(kPngMark)},
            {FileKind::html, "\n<!DOCTYPE html><!-- meshscope --><html>"},
            {FileKind::gif, "GIF89a\1\0"s + std::string(9000, 'g') + std::string(kGifMark)},
            {FileKind::mp4, "\0\0\0\x20"s + "ftypisom" + std::string(9000, 'm') + std::string(kMp4Mark)},
            {FileKind::report, "<!-- meshscope report -->\n# Plan\n"},
            {FileKind::manual, ".\\\" meshscope manual\n.TH MESHSCOPE 1\n"}};
}

/// The same without what says that it is ours, as other programs and people write such files.
std::vector<Example> of_others() {
    return {{FileKind::safetensors, "\x20\0\0\0\0\0\0\0{\"w\":{}}"s},
            {FileKind::json, "{\"losses\":[]}"},
            {FileKind::json, "{\"written_by\":\"Ada\"}"},
            {FileKind::json, "[1, 2]"},
            {FileKind::profile, "# Measured\nname = \"x\"\n[compute]\nfloat32_gflops = 1\n"},
            {FileKind::scenario, "format = 1\n"},
            {FileKind::svg, "<?xml version=\"1.0\"?>\n<svg xmlns=\"x\"><!-- Inkscape --></svg>"},
            {FileKind::png, "\x89PNG\r\n\x1a\n"s + std::string(60, 'h')},
            {FileKind::html, "<!DOCTYPE html><html><!-- mine --></html>"},
            {FileKind::gif, "GIF89a\1\0"s + std::string(9000, 'g') + "\x3B"},
            {FileKind::mp4, "\0\0\0\x20"s + "ftypisom" + std::string(9000, 'm')},
            {FileKind::report, "# Plan\n"},
            {FileKind::manual, ".\\\" by Ada\n.TH MESHSCOPE 1\n"}};
}

}  // namespace

TEST_CASE("each kind of output is known by the mark that this program leaves, and only by that") {
    const test::Folder folder;
    for (const Example& written : examples())
        for (const Example& wanted : examples()) {
            const std::string path = folder.write("f", written.bytes);
            INFO(static_cast<int>(written.kind) << " as " << static_cast<int>(wanted.kind));
            CHECK(is_ours(path, wanted.kind) == (written.kind == wanted.kind));
            const bool refused =
                test::thrown_id([&] { refuse_other_kind(path, wanted.kind); }) == "file.other_kind";
            CHECK(refused == (written.kind != wanted.kind));
        }
    for (const Example& other : of_others()) {
        const std::string path = folder.write("f", other.bytes);
        INFO(static_cast<int>(other.kind) << " of another's");
        CHECK_FALSE(is_ours(path, other.kind));
        CHECK(test::thrown_id([&] { refuse_other_kind(path, other.kind); }) == "file.other_kind");
    }
    // Somebody's notes, settings and tables are none of ours, though they are text as well.
    for (const FileKind kind : {FileKind::choices, FileKind::profile, FileKind::csv})
        for (const std::string& text :
             {"My notes.\n"s, "name = \"x\"\n"s, "a,b\r\n1,2\r\n"s, "rank,name\r\n1,Ada\r\n"s, "<html>"s,
              "\x7f"
              "ELF\2\1\1\0"s})
            CHECK_FALSE(is_ours(folder.write("t", text), kind));
    CHECK(is_ours(folder.write("t", "rank,ordinal,step\r\n"), FileKind::csv));
    CHECK(is_ours(folder.write("t", "rank,collective,ordinal,round\r\n"), FileKind::csv));
    // Another program's database is no trace.
    CHECK_FALSE(is_ours(folder.write("t", "SQLite format 3\0"s + std::string(84, '\0')), FileKind::trace));
}

TEST_CASE("what is not there, or empty, may be written") {
    const test::Folder folder;
    for (const std::string& path : {folder.file("new"), folder.write("empty", ""), std::string(), "-"s})
        CHECK_NOTHROW(refuse_other_kind(path, FileKind::trace));
}

TEST_CASE("a folder bears our mark only where it is a folder and the mark is a file of ours") {
    const test::Folder folder;
    const std::string path = folder.path.string();
    CHECK_FALSE(is_marked_folder(path));
    mark_folder(path);
    CHECK(is_marked_folder(path));
    CHECK_NOTHROW(mark_folder(path));
    std::filesystem::create_directory_symlink(path, folder.file("link"));
    CHECK_FALSE(is_marked_folder(folder.file("link")));
    const test::Folder other;
    other.write(kFolderMark, "a file of that name, of some other program's\n");
    CHECK_FALSE(is_marked_folder(other.path.string()));
    CHECK(test::thrown_id([&] { mark_folder(other.path.string()); }) == "file.cannot_write");
    other.write(kFolderMark, "This folder");  // killed while it was written
    CHECK(is_marked_folder(other.path.string()));
    const test::Folder linked;
    std::filesystem::create_symlink(folder.file(kFolderMark), linked.file(kFolderMark));
    CHECK_FALSE(is_marked_folder(linked.path.string()));
}
