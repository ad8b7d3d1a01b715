//! `cargo xtask parity`: several ranks against one process, step by step, on real data.

use super::{Profile, build};
use crate::{error::TaskError, process, report, workspace::Workspace};

/// Where Debian's package has Fashion-MNIST.
const IMAGES: &str = "/usr/share/datasets/fashion-mnist";
/// Where `cargo xtask data text` puts its text.
const TEXT: &str = "data/text/jargon.txt.gz";

pub(crate) fn parity(workspace: &Workspace, steps: u64) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step(&format!("1, 2 and 4 ranks over {steps} steps"));
    let mut command = process::cargo();
    command.current_dir(workspace.root());
    command.args(["test", "--package=hookrack-tests", "--", "rank_parity::", "--nocapture"]);
    command.env("HOOKRACK_PARITY_STEPS", steps.to_string());
    let text = workspace.root().join(TEXT);
    for (variable, path, how) in [
        ("HOOKRACK_PARITY_IMAGES", IMAGES.as_ref(), "apt-get install dataset-fashion-mnist"),
        ("HOOKRACK_PARITY_TEXT", text.as_path(), "cargo xtask data text"),
    ] {
        if path.exists() {
            command.env(variable, path);
        } else {
            report::note(&format!("{} is missing, small data are used: {how}", path.display()));
        }
    }
    Ok(process::run(&mut command)?)
}
