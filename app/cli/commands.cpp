#include "app/cli/algorithm_command.h"
#include "app/cli/bench_command.h"
#include "app/cli/command.h"
#include "app/cli/completion_command.h"
#include "app/cli/doctor_command.h"
#include "app/cli/launch_command.h"
#include "app/cli/lesson_command.h"
#include "app/cli/manual_command.h"
#include "app/cli/mesh_command.h"
#include "app/cli/model_command.h"
#include "app/cli/plan_command.h"
#include "app/cli/predict_command.h"
#include "app/cli/run_command.h"
#include "app/cli/sampler_command.h"
#include "app/cli/scenario_command.h"
#include "app/cli/schedule_command.h"
#include "app/cli/trace_command.h"
#include "app/cli/validate_command.h"

namespace meshscope::cli {

void add_commands(CLI::App& app, CommandContext& context) {
    add_run_command(app, context);
    add_predict_command(app, context);
    add_plan_command(app, context);
    add_scenario_command(app, context);
    add_validate_command(app, context);
    add_lesson_command(app, context);
    add_mesh_command(app, context);
    add_sampler_command(app, context);
    add_schedule_command(app, context);
    add_algorithm_command(app, context);
    add_model_command(app, context);
    add_trace_command(app, context);
    add_launch_command(app, context);
    add_bench_command(app, context);
    add_doctor_command(app, context);
    add_completion_command(app, context);
    add_manual_command(app, context);
}

}  // namespace meshscope::cli
