#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "app/cli/command.h"

namespace meshscope::cli {

/// CLI11's help with every word from the catalogue: headings, "required", types, ranges, what excludes what.
class HelpFormatter : public CLI::Formatter {
  public:
    explicit HelpFormatter(const CommandContext& context);

    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
    std::string make_option(const CLI::Option* option, bool is_positional) const override;
    std::string make_option_opts(const CLI::Option* option) const override;

  private:
    std::string type_of(const CLI::Option& option) const;
    const CommandContext& context_;
};

}  // namespace meshscope::cli
