//! `cargo xtask parity`: several ranks against one process, step by step, on real data.

use super::{Profile, build, data::FASHION_MNIST};
use crate::{error::TaskError, process, report, testing, workspace::Workspace};

/// The file that `cargo xtask data text` downloads.
const TEXT: &str = "data/text/jargon.txt.gz";

pub(crate) fn parity(workspace: &Workspace, steps: u64) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step(&format!("1, 2 and 4 ranks over {steps} steps"));
    let mut command = testing::suite(workspace, "rank_parity::");
    command.env("HOOKRACK_PARITY_STEPS", steps.to_string());
    let text = workspace.root().join(TEXT);
    for (variable, path, how) in [
        ("HOOKRACK_PARITY_IMAGES", FASHION_MNIST.as_ref(), "apt-get install dataset-fashion-mnist"),
        ("HOOKRACK_PARITY_TEXT", text.as_path(), "cargo xtask data text"),
    ] {
        if path.exists() {
            command.env(variable, path);
        } else {
            report::note(&format!(
                "{} is missing, using small data instead; to get it: {how}",
                path.display()
            ));
        }
    }
    Ok(process::run(&mut command)?)
}
