//! The commands, one file each.

mod bench;
mod build;
mod ci;
mod data;
mod fuzz;
mod lightning;
mod mutate;
mod netns;
mod parity;
mod pipeline;
mod run;
mod sanitize;
mod schedules;
mod soak;
mod test;

use std::path::PathBuf;

use crate::{cli::Command, dist, error::TaskError, libtorch, report, workspace::Workspace};

pub(crate) use build::{Built, Profile, build};

/// Runs the command of the command line.
pub(crate) fn perform(command: Command) -> Result<(), TaskError> {
    let workspace = Workspace::locate();
    match command {
        Command::Setup(args) => setup(&workspace, args.again).map(drop),
        Command::Build(args) => build(&workspace, Profile::of(args.release)).map(drop),
        Command::Train(args) => run::hookrack(&workspace, Some("train"), &args.args),
        Command::Run(args) => run::hookrack(&workspace, None, &args.args),
        Command::Test(args) => test::test(&workspace, &args),
        Command::Data(args) => data::data(&workspace, args.set),
        Command::Ci => ci::ci(&workspace),
        Command::Schedules(args) => schedules::schedules(&workspace, args.layouts),
        Command::Soak(args) => soak::soak(&workspace, &args),
        Command::Mutate(args) => mutate::mutate(&workspace, args.count),
        Command::Fuzz(args) => fuzz::fuzz(&workspace, &args),
        Command::Sanitize => sanitize::sanitize(&workspace),
        Command::Parity(args) => parity::parity(&workspace, args.steps),
        Command::Dist(args) => match args.only_try {
            Some(archive) => dist::try_archive(&archive),
            None => dist::dist(&workspace, args.out),
        },
        Command::Lightning(args) => lightning::lightning(&workspace, args.python),
        Command::Pipeline(args) => pipeline::pipeline(&workspace, &args),
        Command::Netns(args) => netns::netns(&workspace, &args),
        Command::Bench(args) => bench::bench(&workspace, &args),
    }
}

fn setup(workspace: &Workspace, again: bool) -> Result<PathBuf, TaskError> {
    let folder = libtorch::ensure(workspace, again)?;
    report::note(&format!("libtorch {} in {}", libtorch::folder::VERSION, folder.display()));
    Ok(folder)
}
