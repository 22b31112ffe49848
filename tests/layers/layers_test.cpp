#include <unistd.h>

#include <fstream>

#include "tests/folder.h"
#include "tests/layers/include_rules.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope::layers;
namespace fs = std::filesystem;

namespace {

/// A made-up source tree in a folder of its own, gone with the object.
class Tree {
  public:
    Tree& file(const std::string& name, const std::string& text) {
        folder_.write(name, text);
        return *this;
    }
    std::vector<std::string> violations() const {
        std::vector<std::string> texts;
        for (const Violation& violation : check_tree(folder_.path)) texts.push_back(violation.text());
        return texts;
    }

  private:
    meshscope::test::Folder folder_;
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("no module of this tree includes one it may not") {
    const std::vector<Violation> found = check_tree(meshscope::test::source_root());
    for (const Violation& violation : found) FAIL_CHECK(violation.text());
    CHECK(found.empty());
    // The tree was really read.
    CHECK(fs::is_regular_file(fs::path(meshscope::test::source_root()) / "core/base/ids.h"));
}

TEST_CASE("a file belongs to the module of its folder") {
    CHECK(module_of("core/mesh/layout.h") == "core/mesh");
    CHECK(module_of("backends/registry.cpp") == "backends");
    CHECK(module_of("backends/threads/transport.cpp") == "backends/threads");
    CHECK(module_of("app/gui/main.cpp") == "app/gui");
    CHECK(module_of("app/gui/view/timeline/lanes.cpp") == "app/gui/view");
}

TEST_CASE("an upward, a sideways and a backward include are found at their lines") {
    Tree tree;
    tree.file("core/base/ids.h", "#pragma once\n")
        .file("core/mesh/layout.h", "#pragma once\n#include \"core/base/ids.h\"\n")
        .file("core/run/run.h", "#pragma once\n#include \"core/mesh/layout.h\"\n")
        .file("backends/threads/ring.h", "")
        .file("backends/registry.h", "#include \"backends/threads/ring.h\"\n#include \"core/run/run.h\"\n");
    CHECK(tree.violations().empty());
    tree.file("core/base/upward.cpp", "\n#include \"core/mesh/layout.h\"\n")
        .file("core/tensor/sideways.cpp", "#include \"core/mesh/layout.h\"\n")
        .file("core/comm/backward.cpp", "#include \"backends/registry.h\"\n")
        .file("backends/threads/run.cpp", "#include \"core/run/run.h\"\n")
        .file("backends/tcp/other.cpp", "#include \"backends/threads/ring.h\"\n");
    CHECK(tree.violations() ==
          Texts{"backends/tcp/other.cpp:1: backends/tcp may not include backends/threads: "
                "backends/threads/ring.h",
                "backends/threads/run.cpp:1: backends/threads may not include core/run: core/run/run.h",
                "core/base/upward.cpp:2: core/base may not include core/mesh: core/mesh/layout.h",
                "core/comm/backward.cpp:1: core/comm may not include backends: backends/registry.h",
                "core/tensor/sideways.cpp:1: core/tensor may not include core/mesh: core/mesh/layout.h"});
}

TEST_CASE("in the window, only the session sees run, and a view-model sees nothing that draws") {
    Tree tree;
    tree.file("core/run/run.h", "")
        .file("core/comm/transport.h", "")
        .file("app/gui/panels/timeline.h", "#include <imgui.h>\n")
        .file("app/gui/session/session.cpp", "#include \"core/run/run.h\"\n");
    CHECK(tree.violations().empty());
    tree.file("app/gui/panels/start.cpp", "#include \"core/run/run.h\"\n")
        .file("app/gui/view/a.cpp", "#include <imgui.h>\n#include <GL/gl.h>\n#include <GLFW/glfw3.h>\n")
        .file("app/gui/view/b.cpp",
              "#include \"app/gui/panels/timeline.h\"\n#include \"core/comm/transport.h\"\n")
        .file("app/cli/c.cpp", "#include <backends/imgui_impl_glfw.h>\n");
    CHECK(
        tree.violations() ==
        Texts{"app/cli/c.cpp:1: app/cli may not include a window header: backends/imgui_impl_glfw.h",
              "app/gui/panels/start.cpp:1: app/gui/panels may not include core/run: core/run/run.h",
              "app/gui/view/a.cpp:1: app/gui/view may not include a window header: imgui.h",
              "app/gui/view/a.cpp:2: app/gui/view may not include a window header: GL/gl.h",
              "app/gui/view/a.cpp:3: app/gui/view may not include a window header: GLFW/glfw3.h",
              "app/gui/view/b.cpp:1: app/gui/view may not include app/gui/panels: app/gui/panels/timeline.h",
              "app/gui/view/b.cpp:2: app/gui/view may not include core/comm: core/comm/transport.h"});
}

TEST_CASE("core includes no header of an outside dependency") {
    Tree tree;
    tree.file("core/comm/a.cpp",
              "#include <mpi.h>\n#include <cuda_runtime.h>\n#include <nccl.h>\n#include <sys/socket.h>\n"
              "#include <netinet/in.h>\n#include <vector>\n#include <sys/mman.h>\n")
        .file("backends/tcp/b.cpp", "#include <sys/socket.h>\n");
    const Texts found = tree.violations();
    REQUIRE(found.size() == 5);
    CHECK(found[0] == "core/comm/a.cpp:1: core/comm may not include an outside dependency's header: mpi.h");
    CHECK(found[4] ==
          "core/comm/a.cpp:5: core/comm may not include an outside dependency's header: netinet/in.h");
}

TEST_CASE("a relative include, an unknown file, an unknown module and getenv are found") {
    Tree tree;
    tree.file("core/base/ids.h", "")
        .file("core/extra/new.h", "")
        .file("app/cli/main.cpp", "const char* d = std::getenv(\"DISPLAY\");\n")
        .file("backends/tcp/launch.cpp", "const char* r = getenv(\"RANK\");\n")
        .file("core/base/a.cpp",
              "#include \"../base/ids.h\"\n#include \"ids.h\"\n#include \"meshscope_version.h\"\n")
        .file("core/base/b.cpp", "int x = 1'000;\nauto h = std::getenv(\"HOME\");\n")
        .file("tests/base/t.cpp", "#include \"../../core/base/ids.h\"\n");
    CHECK(
        tree.violations() ==
        Texts{"core/base/a.cpp:1: include by \"../\": ../base/ids.h; write the path from the root",
              "core/base/a.cpp:2: no file ids.h below the root",
              "core/base/b.cpp:2: getenv belongs into app/ or a backend's launch code",
              "core/extra/new.h:1: core/extra is no module of the table in tests/layers/include_rules.cpp",
              "tests/base/t.cpp:1: include by \"../\": ../../core/base/ids.h; write the path from the root"});
}

TEST_CASE("comments and quoted text break no rule") {
    Tree tree;
    tree.file("core/base/a.cpp",
              "// #include \"core/run/run.h\"\n/* getenv\n#include <mpi.h>\n*/\n"
              "const char* s = \"getenv // \\\" getenv\"; // getenv\n");
    CHECK(tree.violations().empty());
    tree.file("core/base/b.cpp", "const char* s = \"/*\";\nauto e = getenv(\"X\");\n");
    CHECK(tree.violations() ==
          Texts{"core/base/b.cpp:2: getenv belongs into app/ or a backend's launch code"});
}
