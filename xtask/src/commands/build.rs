//! `cargo xtask build`: libtorch, then the host and every bundled plugin.

use std::path::PathBuf;

use crate::{
    error::TaskError, libtorch, metadata::Metadata, plugins, process, report, workspace::Workspace,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Dev,
    Release,
}

impl Profile {
    pub(crate) fn of(release: bool) -> Self {
        if release { Self::Release } else { Self::Dev }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

/// The output of a build.
#[derive(Debug)]
pub(crate) struct Built {
    /// `target/debug` or `target/release`.
    pub(crate) folder: PathBuf,
    pub(crate) libtorch: PathBuf,
    pub(crate) metadata: Metadata,
    /// The bundled plugins' libraries in `plugins/`.
    pub(crate) plugins: Vec<PathBuf>,
}

pub(crate) fn build(workspace: &Workspace, profile: Profile) -> Result<Built, TaskError> {
    let libtorch = libtorch::ensure(workspace, false)?;
    let metadata = Metadata::read(workspace)?;
    report::step("building the workspace");
    let mut command = process::cargo();
    // Without xtask, which is running, and whose features must not affect the host's.
    command.current_dir(workspace.root()).args(["build", "--workspace", "--exclude=xtask"]);
    if profile == Profile::Release {
        // Without the tests either: the fake trainer is not shipped.
        command.args(["--release", "--exclude=hookrack-tests"]);
    }
    process::run(&mut command)?;
    let folder = metadata.target.join(profile.folder());
    let plugins = plugins::place(workspace, &metadata, &folder)?;
    Ok(Built { folder, libtorch, metadata, plugins })
}
