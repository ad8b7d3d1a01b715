//! The project's own commands, `cargo xtask …`: get libtorch, build, train, test, bench, pack.

mod cli;
mod commands;
mod compiler;
mod dist;
mod error;
mod files;
mod libtorch;
mod metadata;
mod netns;
mod plugins;
mod process;
mod python_env;
mod report;
mod testing;
mod workspace;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::perform(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::failure(&error);
            ExitCode::FAILURE
        }
    }
}
