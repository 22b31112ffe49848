#include "app/launch/agent.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "app/launch/file_limit.h"
#include "app/launch/worker.h"
#include "backends/tcp/launch_token.h"
#include "backends/tcp/socket.h"
#include "backends/tcp/store_client.h"
#include "backends/tcp/store_server.h"
#include "core/base/cannot_write.h"
#include "core/base/cause.h"
#include "core/base/error.h"
#include "core/base/folder_mark.h"
#include "core/base/replace_file.h"
#include "core/base/temporary_folder.h"

namespace meshscope::launch {
namespace {

namespace fs = std::filesystem;
using backends::tcp::Token;

std::string short_hex() {
    return Token::random().hex().substr(0, 16);
}

/// What this process opens for its workers: two pipes' ends each and as many logs, and at the store a
/// connection for each worker and node of the job.
OpenFiles files_of(const LaunchOptions& options) {
    constexpr int64_t kOwn = 24, kStrangers = 80;
    const int64_t workers = options.meeting.workers;
    const auto at_store = [&](int64_t nodes) { return options.meeting.leads ? nodes * (workers + 1) : 0; };
    const int64_t outputs = options.own_output ? 0 : options.log_dir.empty() ? 2 : 4;
    int64_t here = kOwn + outputs * workers;
    // Open MPI's mpiexec waits for ever where it cannot open the pipes of its ranks.
    constexpr int64_t kOfMpiexec = 26, kOfItsRank = 5;
    if (options.starter) here = std::max(here, kOfMpiexec + kOfItsRank * options.starter->ranks);
    return {here + at_store(options.meeting.min_nodes),
            here + at_store(options.meeting.max_nodes) + kStrangers};
}

/// A log is appended to where an earlier job of ours has left one; anybody else's file of that name is left
/// as it is, unless told. Throws InvalidArgument "launch.log_not_ours" {path}, IoError "file.cannot_write".
void take_log_folder(const std::string& folder, bool force) {
    std::error_code error;
    for (const char* name : {"/stdout.log", "/stderr.log"})
        if (const std::string path = folder + name;
            !force && fs::exists(fs::symlink_status(path, error)) && !is_marked_folder(folder))
            throw InvalidArgument({"launch.log_not_ours", {{"path", path}}});
    mark_folder(folder);
}

/// One node's part of a job.
class Agent {
  public:
    Agent(const LaunchOptions& options, Writer& out, Writer& err)
        : options_(options),
          out_(out),
          err_(err),
          limit_(files_of(options), options.starter ? options.starter->ranks : options.meeting.workers),
          mark_(short_hex()),
          watchdog_(kMarkVariable, mark_, folders()),  // before any thread is started
          run_id_(!options.run_id.empty()    ? options.run_id
                  : options.endpoint.empty() ? short_hex()
                                             : "job") {
        open_store();
    }

    LaunchResult run() {
        MeetingOptions options = options_.meeting;
        // Whoever writes where nobody reads any more is told so by SIGPIPE.
        const auto signal = [this] {
            const int given = options_.signal();
            return given == 0 && (out_.reader_has_gone() || err_.reader_has_gone()) ? SIGPIPE : given;
        };
        options.signal = signal;
        options.tell = options_.tell;
        Rendezvous rendezvous(*client_, options);
        while (true) {
            const Meeting meeting = rendezvous.meet(free_port());
            RoundOptions round;
            round.node = meeting.node;
            round.prefixes = options_.prefixes;
            round.ask = [&] { return rendezvous.must_stop(); };
            round.signal = signal;
            round.mark = {kMarkVariable, mark_};
            round.tell = options_.tell;
            const RoundResult result = run_round(jobs(meeting), round, out_, err_);
            kill_marked(kMarkVariable, mark_);  // what left its process group
            const Decision decision = rendezvous.decide(result);
            tell(decision, meeting.node);
            if (decision.next == Decision::Next::again) continue;
            LaunchResult all{decision.exit_code, decision.restarts, decision.failures};
            if (!options_.report.empty() && !all.failures.empty()) write_report(all);
            return all;
        }
    }

  private:
    /// A report that cannot be written is told; the job's exit code says how the job ended all the same.
    void write_report(const LaunchResult& all) const {
        try {
            replace_file(options_.report, report_json(run_id_, all.restarts, all.failures));
        } catch (const IoError& error) {
            options_.tell(error.message());
        }
    }

    std::vector<std::string> folders() const {
        std::vector<std::string> all = options_.folders;
        all.push_back(errors_.path());
        return all;
    }

    /// Throws IoError "launch.endpoint_taken" {address} where the nodes' meeting place is in use.
    static std::unique_ptr<backends::tcp::StoreServer> serve(const backends::tcp::StoreServerOptions& options,
                                                             const backends::tcp::Address& meeting) {
        try {
            return std::make_unique<backends::tcp::StoreServer>(options);
        } catch (const IoError& error) {
            // Most likely by another node that was called 0 as well.
            if (error.message().id != "tcp.address_taken") throw;
            throw IoError({"launch.endpoint_taken", {{"address", meeting.text()}}});
        }
    }

    void open_store() {
        const std::optional<Token> given = backends::tcp::token_of_environment();
        const bool alone = options_.endpoint.empty();
        // A job on one machine makes its own secret; nodes must be given one.
        token_ = given ? *given : alone ? Token::random() : Token();
        std::string address = options_.endpoint;
        if (options_.meeting.leads) {
            backends::tcp::StoreServerOptions server;
            server.bind = options_.bind;
            backends::tcp::Address meeting{"127.0.0.1", 0};
            if (!alone) meeting = backends::tcp::parse_address(options_.endpoint);
            server.port = meeting.port;
            server.token = token_;
            server.run_id = run_id_;
            server.log = options_.tell;
            server_ = serve(server, meeting);
            meeting.port = server_->port();
            address = meeting.text();
            if (!alone) options_.tell({"launch.store", {{"address", address}, {"run_id", run_id_}}});
        }
        address_ = address;
        backends::tcp::StoreClientOptions client;
        client.address = address;
        client.token = token_;
        client.run_id = run_id_;
        client.connect = options_.meeting.leads ? backends::tcp::kOwnStore : options_.meeting.timeout;
        client.tell = options_.tell;
        client.stopped = [this] { return options_.signal() != 0; };
        try {
            client_ = std::make_unique<backends::tcp::StoreClient>(client);
        } catch (const CommError& error) {
            if (!options_.meeting.leads) throw;
            throw InvalidArgument(
                with_cause({"launch.endpoint_elsewhere", {{"address", address}, {"bind", options_.bind}}},
                           error.message()));
        }
    }

    std::vector<Job> jobs(const Meeting& meeting) const {
        std::vector<Job> all;
        for (int32_t local = 0; local < options_.meeting.workers; ++local) {
            Job job;
            job.rank = meeting.first_rank + local;
            job.local_rank = local;
            job.command.words = options_.command;
            job.command.own_output = options_.own_output;
            if (!options_.starter) job.command.open_files = limit_.given();
            job.starter = options_.starter;
            job.error_file =
                errors_.file(std::to_string(meeting.round) + "-" + std::to_string(job.rank) + ".json");
            job.command.environment = environment(meeting, job);
            if (!options_.log_dir.empty()) {
                job.log =
                    options_.log_dir + "/" + std::to_string(meeting.round) + "/" + std::to_string(job.rank);
                std::error_code error;
                fs::create_directories(job.log, error);
                if (error) throw IoError(cannot_write(job.log, error.value()));
                take_log_folder(job.log, options_.force);
            }
            all.push_back(std::move(job));
        }
        return all;
    }

    /// torchrun's variables (torch/distributed/elastic/agent/server/local_elastic_agent.py), and ours.
    std::vector<std::pair<std::string, std::string>> environment(const Meeting& meeting,
                                                                 const Job& job) const {
        const auto text = [](int64_t n) { return std::to_string(n); };
        const int32_t workers = options_.meeting.workers;
        std::vector<std::pair<std::string, std::string>> all{
            {kMarkVariable, mark_},
            {kRoundVariable, text(meeting.round)},
            {kResumeVariable, meeting.round > 0 ? "auto" : ""},
            {"TORCHELASTIC_ERROR_FILE", job.error_file},
            {"TORCHELASTIC_RUN_ID", run_id_},
            {"TORCHELASTIC_RESTART_COUNT", text(meeting.restarts)},
            {"TORCHELASTIC_MAX_RESTARTS", text(options_.meeting.max_restarts)}};
        const std::vector<std::pair<std::string, std::string>> ranks{
            {"RANK", text(job.rank)},
            {"WORLD_SIZE", text(meeting.world_size)},
            {"LOCAL_RANK", text(job.local_rank)},
            {"LOCAL_WORLD_SIZE", text(workers)},
            {"GROUP_RANK", text(meeting.node)},
            {"GROUP_WORLD_SIZE", text(meeting.nodes)},
            {"ROLE_RANK", text(job.rank)},
            {"ROLE_WORLD_SIZE", text(meeting.world_size)},
            {"ROLE_NAME", "default"},
            {"MASTER_ADDR", meeting.master_addr},
            {"MASTER_PORT", text(meeting.master_port)},
            // Our store speaks no torch: whoever wants a TCPStore has rank 0 serve it at MASTER_PORT.
            {"TORCHELASTIC_USE_AGENT_STORE", "False"},
            {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
            {kStoreVariable, address_},
            {kBindVariable, options_.bind},
            {backends::tcp::kTokenVariable, token_.empty() ? "" : token_.hex()},
            {backends::tcp::kTokenFileVariable, ""}};
        for (const auto& [variable, value] : ranks) all.emplace_back(variable, options_.starter ? "" : value);
        if (workers > 1 && std::getenv("OMP_NUM_THREADS") == nullptr)
            all.emplace_back("OMP_NUM_THREADS", "1");
        all.insert(all.end(), options_.environment.begin(), options_.environment.end());
        return all;
    }

    /// On every node: what happened, and what is done about it.
    void tell(const Decision& decision, int32_t here) const {
        for (const int32_t node : decision.stopped)
            if (node != here) options_.tell({"launch.node_stopped", {{"node", int64_t{node}}}});
        for (const int32_t node : decision.lost)
            options_.tell(
                {"launch.node_lost",
                 {{"node", int64_t{node}},
                  {"seconds", std::chrono::duration<double>(options_.meeting.lost_after).count()}}});
        for (const Failure& failure : decision.failures) options_.tell(line_on(failure, last_words(failure)));
        if (decision.next != Decision::Next::again) return;
        if (decision.joined) options_.tell({"launch.node_joins", {}});
        // What only followed from a node's going is no restart that counts.
        const bool counts = !std::ranges::all_of(decision.failures, &Failure::secondary);
        options_.tell({counts ? "launch.restarts" : "launch.members_changed",
                       {{"restart", int64_t{decision.restarts}}, {"most", int64_t{decision.max_restarts}}}});
    }

    const LaunchOptions& options_;
    Writer& out_;
    Writer& err_;
    FileLimit limit_;
    std::string mark_;
    TemporaryFolder errors_{"meshscope-launch"};  ///< the workers' last words
    Watchdog watchdog_;
    std::string run_id_;
    Token token_;
    std::unique_ptr<backends::tcp::StoreServer> server_;
    std::string address_;
    std::unique_ptr<backends::tcp::StoreClient> client_;
};

}  // namespace

int32_t free_port() {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return 0;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    int32_t port = 0;
    if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0)
        port = ntohs(address.sin_port);
    close(descriptor);
    return port;
}

LaunchResult launch_workers(const LaunchOptions& options, Writer& out, Writer& err) {
    // Where who started this process had it ignored, workers could not be waited for: none would ever end.
    std::signal(SIGCHLD, SIG_DFL);
    return Agent(options, out, err).run();
}

}  // namespace meshscope::launch
