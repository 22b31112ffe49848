#include "backends/nccl/library.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/base/find_module.h"
#include "tests/nccl/fake.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::backends::nccl;
using nccl_test::Fake;

namespace {

Message refusal(const Choice& choice) {
    try {
        load(choice);
    } catch (const InvalidArgument& error) {
        return error.message();
    }
    return {"loaded", {}};
}

std::string text(const Message& message, const char* arg) {
    return std::get<std::string>(*message.find(arg));
}

}  // namespace

TEST_CASE("the library that is named is loaded, and says its version, its file and what it is") {
    const Library library = load(Fake::the().choice);
    CHECK(library.version_text() == "2.28.9");
    CHECK(library.file == MESHSCOPE_FAKE_NCCL);
    CHECK(library.on_host);
    CHECK_FALSE(library.can_share_devices());
}

TEST_CASE("NCCL's two ways of writing a version down are both read") {
    CHECK(version_text(22809) == "2.28.9");
    CHECK(version_text(23007) == "2.30.7");
    CHECK(version_text(2804) == "2.8.4");
}

TEST_CASE(
    "what is missing is named: the module, a library that is none, a library without NCCL's functions") {
    CHECK(refusal({"/nowhere/meshscope-nccl.so", ""}).id == "nccl.cannot_load");
    // A shared library that is no module of ours.
    CHECK(refusal({MESHSCOPE_FAKE_NCCL, ""}).id == "nccl.cannot_load");
    CHECK(refusal({MESHSCOPE_OTHER_VERSION, MESHSCOPE_FAKE_NCCL}).id == "nccl.other_version");
    const Message gone = refusal({MESHSCOPE_NCCL_MODULE, "/nowhere/libnccl.so.2"});
    CHECK(gone.id == "nccl.no_library");
    CHECK(text(gone, "file") == "/nowhere/libnccl.so.2");
    const Message none = refusal({MESHSCOPE_NCCL_MODULE, MESHSCOPE_NCCL_MODULE});
    CHECK(none.id == "nccl.no_library");
    CHECK(text(none, "reason").find("ncclGetVersion") != std::string::npos);
}

#ifdef MESHSCOPE_REAL_NCCL_MODULE
TEST_CASE("the real module, too, loads the stand-in by the same path") {
    const Library library = load({MESHSCOPE_REAL_NCCL_MODULE, MESHSCOPE_FAKE_NCCL});
    CHECK(library.on_host);
    CHECK(library.version_text() == "2.28.9");
    CHECK(std::filesystem::equivalent(find_module(kModule), MESHSCOPE_REAL_NCCL_MODULE));
}

TEST_CASE("the real library says its version where there is no GPU") {
    Library library;
    try {
        library = load({MESHSCOPE_REAL_NCCL_MODULE, ""});
    } catch (const InvalidArgument& error) {
        CHECK(error.message().id == "nccl.no_library");  // a toolkit with a header and without the library
        return;
    }
    CHECK_FALSE(library.on_host);
    CHECK(library.version >= 22000);
}
#endif
