#include "core/run/describe.h"

#include "core/comm/schedule/own/own_algorithm.h"

namespace meshscope::run {
std::vector<int32_t> node_of_rank(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh) {
    if (!scenario.node_of_rank.empty()) return scenario.node_of_rank;
    std::vector<int32_t> nodes(static_cast<std::size_t>(scenario::world_size(scenario)), 0);
    if (mesh.ndim() < 2) return nodes;
    for (std::size_t r = 0; r < nodes.size(); ++r)
        if (const auto coordinate = mesh.coordinate(GlobalRank{static_cast<int32_t>(r)}))
            nodes[r] = static_cast<int32_t>(coordinate->front());
    return nodes;
}

mesh::DeviceMesh build_mesh(const scenario::Scenario& scenario) {
    return mesh::DeviceMesh::init(scenario.mesh_shape, scenario.mesh_names, scenario::world_size(scenario));
}

trace::RunInfo describe_run(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh,
                            const std::string& backend, trace::Level level) {
    trace::RunInfo info;
    info.title_en = scenario.title.en;
    info.title_zh = scenario.title.zh;
    info.scenario = scenario.source;
    info.scenario_path = scenario.path;
    if (const auto& own = scenario.parallel.own) {
        info.algorithm_file = own->file_name();
        info.algorithm_text = own->text();
    }
    info.backend = backend;
    info.engine_version = MESHSCOPE_VERSION;
    info.level = level;
    info.world_size = scenario::world_size(scenario);
    info.mesh_shape = mesh.shape();
    info.mesh_names = mesh.names();
    for (const int64_t rank : mesh.ranks(GlobalRank{0}))
        info.mesh_ranks.push_back(static_cast<int32_t>(rank));
    info.node_of_rank = node_of_rank(scenario, mesh);
    return info;
}

}  // namespace meshscope::run
