// docs/trace.md is a contract: its queries run, its columns are the views' columns.
#include <string>
#include <vector>

#include "core/trace/query.h"
#include "core/trace/schema.h"
#include "tests/test.h"
#include "tests/trace/example.h"
#include "tests/trace/folder.h"
#include "tests/tree.h"

using namespace meshscope::trace;

namespace {

std::string document() {
    return example::content(meshscope::test::source_root() + "/docs/trace.md");
}

/// The statements of the ```sql blocks.
std::vector<std::string> queries(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t at = text.find("```sql"); at != std::string::npos; at = text.find("```sql", at)) {
        const std::size_t begin = at + 6, end = text.find("```", begin);
        std::string block = text.substr(begin, end - begin);
        for (std::size_t stop = block.find(';'); stop != std::string::npos; stop = block.find(';')) {
            all.push_back(block.substr(0, stop + 1));
            block.erase(0, stop + 1);
        }
        at = end + 3;
    }
    return all;
}

/// The text between the heading that begins with `heading` and the next one.
std::string section(const std::string& text, const std::string& heading) {
    const std::size_t begin = text.find("\n" + heading);
    REQUIRE(begin != std::string::npos);
    return text.substr(begin, text.find("\n#", begin + 1) - begin);
}

}  // namespace

TEST_CASE("every query of the document runs") {
    const TraceDatabase db(example::merged());
    const std::vector<std::string> all = queries(document());
    CHECK(all.size() >= 6);
    for (const std::string& sql : all) {
        INFO(sql);
        CHECK_NOTHROW(db.query(sql));
    }
}

TEST_CASE("every column of every view stands in the document") {
    const TraceDatabase db(example::merged());
    const std::string text = document();
    for (const std::string view :
         {"collectives", "compute", "hops", "buffers", "operands", "memory", "parameters"}) {
        const std::string part = section(text, "### " + view + ":");
        for (const std::string& column : db.query("SELECT * FROM " + view).columns) {
            INFO(view << "." << column);
            CHECK(part.find(column) != std::string::npos);
        }
    }
    const std::string others = section(text, "### The others");
    for (const std::string view : {"ranks", "steps", "losses", "groups", "dependencies"}) {
        const std::size_t row = others.find("| `" + view + "` |");
        REQUIRE(row != std::string::npos);
        const std::string line = others.substr(row, others.find('\n', row) - row);
        for (const std::string& column : db.query("SELECT * FROM " + view).columns) {
            INFO(view << "." << column);
            CHECK(line.find("`" + column + "`") != std::string::npos);
        }
    }
}

TEST_CASE("every table stands in the document") {
    const std::string file = section(document(), "## The file");
    for (const std::string& table : sections()) {
        INFO(table);
        CHECK(file.find("`" + table + "`") != std::string::npos);
    }
}
