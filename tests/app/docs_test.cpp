#include "app/gui/session/commands.h"
#include "app/gui/session/key_names.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::session;

TEST_CASE("docs/window.md names every command with its usual keys, in the table's order") {
    const std::string page = test::content(std::string(MESHSCOPE_SOURCE_ROOT) + "/docs/window.md");
    std::string expected;
    for (const Command& command : commands()) {
        std::string keys;
        for (const window::KeyPress press : command.keys)
            keys += (keys.empty() ? "`" : ", `") + key_name(press) + "`";
        expected += "| `" + std::string(command.id + 5) + "` | " + (keys.empty() ? "none" : keys) + " |\n";
    }
    INFO(expected);
    CHECK(page.find(expected) != std::string::npos);
}
