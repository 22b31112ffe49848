#include "app/i18n/error_text.h"

#include <new>

#include "tests/test.h"

using namespace meshscope;
using i18n::ExitCode;
using i18n::Language;

namespace {

i18n::ErrorText describe_it(const std::exception& error, Language language = Language::en) {
    return i18n::describe_error(error, i18n::Catalogue::embedded(), language);
}

}  // namespace

TEST_CASE("exceptions have the exit codes of the contract") {
    const Message message{"x.y", {}};
    CHECK(describe_it(InputError({{message, {"f", 1, 2, -1}, {}}})).exit_code == ExitCode::bad_input);
    CHECK(describe_it(InvalidArgument(message)).exit_code == ExitCode::bad_input);
    CHECK(describe_it(InvalidArgument({"backend.unknown", {}})).exit_code == ExitCode::backend_missing);
    CHECK(describe_it(InvalidArgument({"backend.not_built", {}})).exit_code == ExitCode::backend_missing);
    CHECK(describe_it(IoError(message)).exit_code == ExitCode::io);
    CHECK(describe_it(CommError(message, GlobalRank{1})).exit_code == ExitCode::peer_lost);
    CHECK(describe_it(CommError({"comm.timeout", {}}, GlobalRank{1})).exit_code == ExitCode::timeout);
    CHECK(describe_it(DeviceError(message)).exit_code == ExitCode::internal);
    CHECK(describe_it(std::bad_alloc()).exit_code == ExitCode::internal);
    CHECK(describe_it(std::runtime_error("x")).exit_code == ExitCode::internal);
    CHECK(static_cast<int>(ExitCode::backend_missing) == 69);
    CHECK(static_cast<int>(ExitCode::timeout) == 124);
}

TEST_CASE("every mistake of a file is told with its place and its hint, in the chosen language") {
    const InputError error(
        {{{"scenario.missing_key", {{"key", std::string("train.steps")}}}, {"s.toml", 4, 1, -1}, {}},
         {{"scenario.unknown_key", {{"key", std::string("train.stepz")}}},
          {"s.toml", 5, 3, -1},
          {"scenario.hint.did_you_mean", {{"guess", std::string("steps")}}}}});
    const auto en = describe_it(error);
    CHECK(en.lines == std::vector<std::string>{"s.toml:4:1: train.steps is missing",
                                               "s.toml:5:3: there is no key train.stepz",
                                               "    did you mean steps?"});
    CHECK(describe_it(error, Language::zh).lines[0] == "s.toml:4:1: 缺少 train.steps");
    CHECK(en.json.find("\"id\":\"scenario.unknown_key\"") != std::string::npos);
    CHECK(en.json.find("\"line\":5") != std::string::npos);
    CHECK(en.json.find("\"hint_id\":\"scenario.hint.did_you_mean\"") != std::string::npos);
}

TEST_CASE("a place names what is known of it") {
    CHECK(i18n::place({"f", 3, 4, -1}) == "f:3:4");
    CHECK(i18n::place({"f", 3, 0, -1}) == "f:3");
    CHECK(i18n::place({"f", 0, 0, 17}) == "f:byte 17");
    CHECK(i18n::place({"f", 0, 0, -1}) == "f");
    CHECK(i18n::place({}).empty());
}

TEST_CASE("a name that is not UTF-8 does not stop the JSON of an error") {
    const auto text = describe_it(IoError({"file.cannot_read", {{"path", std::string("\xff\xfe")}}}));
    CHECK(text.json.find("file.cannot_read") != std::string::npos);
}
