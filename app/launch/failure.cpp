#include "app/launch/failure.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <tuple>

#include "core/base/cause.h"
#include "core/base/diagnosis.h"
#include "core/base/file_kind.h"
#include "core/base/json_text.h"

namespace meshscope::launch {
namespace {

using nlohmann::ordered_json;

// A report of ours names every rank once or twice; whatever writes more has other things to say.
constexpr std::size_t kMostErrorBytes = std::size_t{1} << 24;

constexpr std::array<std::string_view, 4> kConsequences{"comm.aborted", "comm.aborted_unknown",
                                                        "comm.peer_lost", "tcp.store_lost"};

/// "2026-11-21T21:40:05.123456Z"
std::string time_text(int64_t time_ns) {
    const std::time_t seconds = time_ns / 1000000000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::string micros = std::to_string(time_ns % 1000000000 / 1000);
    micros.insert(0, 6 - micros.size(), '0');
    return std::string(text.data()) + "." + micros + "Z";
}

ordered_json as_json(const Failure& f) {
    return {{"rank", f.rank},
            {"local_rank", f.local_rank},
            {"node", f.node},
            {"exit_code", f.exit_code},
            {"time", time_text(f.time_ns)},
            {"id", f.id.empty() ? ordered_json() : ordered_json(f.id)},
            {"text", f.text.empty() ? ordered_json() : ordered_json(f.text)},
            {"secondary", f.secondary}};
}

std::string dump(const ordered_json& json) {
    return json_text(json, 2) + "\n";
}

// Any program may have written the file that is read: what is not of its type counts as not there.

std::string text_of(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A number from 0 to `most`, or `otherwise`.
int64_t number_of(const nlohmann::json& object, const char* key, int64_t most, int64_t otherwise) {
    const auto found = object.find(key);
    const auto value = found == object.end() ? std::nullopt : json_whole<int64_t>(*found);
    return value && *value >= 0 && *value <= most ? *value : otherwise;
}

}  // namespace

Message ended_by_signal(int signal) {
    const char* const name = sigabbrev_np(signal);
    return {"launch.ended_by_signal",
            {{"signal", int64_t{signal}}, {"name", name == nullptr ? "?" : "SIG" + std::string(name)}}};
}

Message last_words(const Failure& failure) {
    if (!failure.text.empty()) return {"launch.said", {{"text", failure.text}}};
    if (failure.exit_code > 128) return ended_by_signal(failure.exit_code - 128);
    return {"launch.said_nothing", {}};
}

bool only_saw(const Failure& failure) {
    return failure.id == "comm.peer_lost" || failure.id.starts_with("comm.peer_silent") ||
           is_seen_between_ranks(failure.id);
}

Message line_on(const Failure& failure, const Message& cause) {
    const char* const first = only_saw(failure) ? "launch.ended_first" : "launch.failed";
    return with_cause({failure.secondary ? "launch.failed_too" : first,
                       {{"rank", int64_t{failure.rank}},
                        {"node", int64_t{failure.node}},
                        {"code", int64_t{failure.exit_code}}}},
                      cause);
}

void write_error_file(const std::string& path, const Failure& failure) {
    const std::string own = path + "." + std::to_string(getpid());
    if (access(own.c_str(), F_OK) == 0) return;  // somebody else's
    std::ofstream file(own, std::ios::trunc);
    file << dump({{"message",
                   {{"message", failure.text},
                    {"extraInfo", {{"timestamp", std::to_string(failure.time_ns / 1000000000)}}}}},
                  {"meshscope",
                   {{"id", failure.id},
                    {"exit_code", failure.exit_code},
                    {"time_ns", failure.time_ns},
                    {"json", failure.json},
                    {"secondary", failure.secondary}}}});
    file.close();
    if (!file) {  // half of it must not replace another's words
        unlink(own.c_str());
        return;
    }
    Failure held;
    read_error_file(path, held);
    const bool is_first = held.id.empty() || follows(held) || failure.time_ns < held.time_ns;
    if (follows(failure)) {
        // Where a file system has no hard links, whoever comes first is kept as well as can be.
        const bool linked = link(own.c_str(), path.c_str()) == 0 || errno == EEXIST;
        if (linked || !held.id.empty() || rename(own.c_str(), path.c_str()) != 0) unlink(own.c_str());
    } else if (!is_first || rename(own.c_str(), path.c_str()) != 0) {
        unlink(own.c_str());
    }
}

void read_error_file(const std::string& path, Failure& failure) {
    std::ifstream file(path);
    if (!file) return;
    std::string text(kMostErrorBytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    const auto json = parse_json<nlohmann::json>(text);
    if (!json.is_object()) return;
    const auto message = json.find("message");
    if (message != json.end() && message->is_object() && message->contains("message") &&
        (*message)["message"].is_string())
        failure.text = (*message)["message"].get<std::string>();
    else if (message != json.end() && message->is_string())
        failure.text = message->get<std::string>();
    const auto ours = json.find("meshscope");
    if (ours == json.end() || !ours->is_object()) return;
    failure.id = text_of(*ours, "id");
    failure.json = text_of(*ours, "json");
    failure.time_ns = number_of(*ours, "time_ns", std::numeric_limits<int64_t>::max(), failure.time_ns);
    // mpiexec ends with the code of any of its processes.
    if (failure.exit_code < 128)
        failure.exit_code = static_cast<int32_t>(number_of(*ours, "exit_code", 255, failure.exit_code));
    const auto secondary = ours->find("secondary");
    failure.secondary = secondary != ours->end() && secondary->is_boolean() && secondary->get<bool>();
}

bool follows(const Failure& f) {
    return f.secondary || f.id.starts_with("comm.peer_silent") ||
           std::ranges::find(kConsequences, f.id) != kConsequences.end();
}

bool tells_of_loss(const Failure& f, int32_t lost) {
    if (f.id != "comm.peer_lost" && !f.id.starts_with("comm.peer_silent")) return false;
    const auto json = parse_json<nlohmann::json>(f.json);
    const nlohmann::json::json_pointer peer("/errors/0/args/peer");
    return json.is_object() && json.contains(peer) && json[peer] == lost;
}

bool is_final(const Failure& f) {
    return f.id.starts_with("scenario.") || f.id.starts_with("algorithm.") ||
           f.id.starts_with("run.not_finite") || f.id.starts_with("run.does_not_fit") ||
           f.id == "run.dtype_backend" || f.id == "checkpoint.restart_not_finite" ||
           f.id.starts_with("checkpoint.not_ours");
}

void order_by_cause(std::vector<Failure>& failures) {
    std::ranges::stable_sort(failures, [&](const Failure& a, const Failure& b) {
        return std::tuple(follows(a), a.time_ns, a.rank) < std::tuple(follows(b), b.time_ns, b.rank);
    });
    for (std::size_t i = 0; i < failures.size(); ++i) failures[i].secondary = i > 0;
}

std::string report_json(const std::string& run_id, int32_t restarts, const std::vector<Failure>& failures) {
    ordered_json errors = ordered_json::array();
    for (const Failure& failure : failures) errors.push_back(as_json(failure));
    return dump({{kJsonMark, kJsonMarkValue},
                 {"run_id", run_id},
                 {"restarts", restarts},
                 {"root_cause", failures.empty() ? ordered_json() : as_json(failures.front())},
                 {"errors", errors}});
}

}  // namespace meshscope::launch
