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

    /// The type's name and what its values may be: "N (1 … 1024)", "en|zh".
    std::string type_of(const CLI::Option& option) const;

  private:
    const CommandContext& context_;
};

}  // namespace meshscope::cli
