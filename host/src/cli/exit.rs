//! Failures of a command, their messages and their exit codes.

use crate::config::{ConfigErrors, ResolvedConfig};
use crate::inventory::InventoryError;
use crate::job::JobError;
use crate::launch::RankFailure;
use crate::new_plugin::NewPluginError;
use crate::plugins::LoadError;
use crate::run::RunDirError;
use crate::stdio;
use crate::train::{Ending, Signal, TrainError};
use hookrack_plugin_api::Point;
use hookrack_sdk::SdkError;
use serde_json::json;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

/// Config or usage.
pub(super) const CONFIG: u8 = 2;
/// A plugin failed to load.
const PLUGIN: u8 = 3;
/// A hook failed under abort.
const HOOK: u8 = 4;
/// Training failed.
const TRAINING: u8 = 5;
/// Could not write.
const FILES: u8 = 6;

/// Another rank failed.
pub(super) const PEER: u8 = 7;

/// Codes of failures that another start would meet again.
pub(super) const PERMANENT: [u8; 2] = [CONFIG, PLUGIN];

/// Why a command failed.
pub(super) struct Failure {
    code: u8,
    why: String,
    // An error of the config is rendered with its own heading.
    is_rendered: bool,
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let heading = if self.is_rendered { "" } else { "error: " };
        write!(f, "{heading}{}", self.why.trim_end())
    }
}

impl Failure {
    fn new(code: u8, message: impl Display) -> Self {
        Self { code, why: message.to_string(), is_rendered: false }
    }

    /// The message without the word error before it.
    pub(super) fn why(&self) -> &str {
        self.why.trim_end()
    }

    /// An invalid command line.
    pub(super) fn usage(message: impl Display) -> Self {
        Self::new(CONFIG, message)
    }

    /// Training failed.
    pub(super) fn training(message: impl Display) -> Self {
        Self::new(TRAINING, message)
    }

    /// Another rank failed or is missing.
    pub(super) fn peer(message: impl Display) -> Self {
        Self::new(PEER, message)
    }

    /// A requested file could not be written.
    pub(super) fn could_not_write(path: &Path, error: &std::io::Error) -> Self {
        Self::new(FILES, format!("could not write {}: {error}", path.display()))
    }

    /// The command could not print its output.
    pub(super) fn could_not_print(error: &std::io::Error) -> Self {
        Self::new(FILES, format!("could not write to standard output: {error}"))
    }

    /// Interrupted by a signal.
    pub(super) fn interrupted(signal: Signal) -> Self {
        Self::new(signal.exit_code(), format!("interrupted by {}", signal.name()))
    }

    /// The rank that failed first.
    pub(super) fn rank(failure: &RankFailure) -> Self {
        Self::new(failure.exit_code(), failure)
    }

    /// The ranks could not be started.
    pub(super) fn launch(error: &std::io::Error) -> Self {
        Self::new(TRAINING, format!("could not start the ranks: {error}"))
    }

    /// A supervised run could not be started.
    pub(super) fn supervisor(error: &std::io::Error) -> Self {
        Self::new(TRAINING, format!("could not start the run: {error}"))
    }

    /// A plugin that does not do what is demanded of one.
    pub(super) fn plugin(message: impl Display) -> Self {
        Self::new(PLUGIN, message)
    }

    /// No plugin was written.
    pub(super) fn new_plugin(error: NewPluginError) -> Self {
        match error {
            NewPluginError::Write { path, source } => Self::could_not_write(&path, &source),
            NewPluginError::Sdk(error) => Self::sdk(error),
            error => Self::new(CONFIG, error),
        }
    }

    /// No SDK was written.
    pub(super) fn sdk(error: SdkError) -> Self {
        match error {
            SdkError::Write { path, source } => Self::could_not_write(&path, &source),
            error => Self::new(CONFIG, error),
        }
    }

    /// Prints the message, as a JSON object with `--json`, and returns the code.
    pub(super) fn report(&self, json: bool) -> ExitCode {
        let message = self.to_string();
        if json {
            let object = json!({ "level": "error", "message": message, "code": self.code });
            stdio::complain(format_args!("{object}"));
        } else {
            stdio::complain(format_args!("{message}"));
        }
        ExitCode::from(self.code)
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        let why = errors.render(super::color::on_stderr());
        Self { code: CONFIG, why, is_rendered: true }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::new(PLUGIN, error)
    }
}

impl From<InventoryError> for Failure {
    fn from(error: InventoryError) -> Self {
        Self::new(PLUGIN, error)
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Config(errors) => errors.into(),
            JobError::Load(error) => error.into(),
            JobError::Inventory(error) => error.into(),
            JobError::Plan(error) => Self::new(CONFIG, error),
            error @ JobError::Gone(_) => Self::new(PLUGIN, error),
        }
    }
}

impl From<RunDirError> for Failure {
    fn from(error: RunDirError) -> Self {
        let code = match error {
            RunDirError::NoCheckpoint { .. }
            | RunDirError::NotARun { .. }
            | RunDirError::Misfit { .. } => CONFIG,
            _ => FILES,
        };
        Self::new(code, error)
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        match error {
            // A role of the main hook is a step of training, whoever makes it.
            TrainError::Hook(error) if error.point.is_role() => Self::new(TRAINING, error),
            TrainError::Hook(error) => Self::new(HOOK, error),
            error @ TrainError::Step { .. } => Self::new(TRAINING, error),
            error @ TrainError::Rank(_) => Self::peer(error),
            TrainError::Files(error) => error.into(),
        }
    }
}

/// The exit code of a rank whose launcher ended before it began.
pub(super) fn abandoned() -> ExitCode {
    Failure::training("the launcher of this rank has ended").report(false)
}

/// As [`code_of`]; a hook that failed before anything was done is shown at its entry in the config.
pub(super) fn code_in(ending: Ending, config: &ResolvedConfig) -> Result<ExitCode, Failure> {
    match ending {
        Ending::Failed(TrainError::Hook(error)) if error.point == Point::OnAttach => {
            let place = config.not_attached([(error.hook.clone(), error.to_string())]);
            Err(Failure { code: HOOK, ..place.into() })
        }
        ending => code_of(ending),
    }
}

/// The exit code of an ending; a failure is for the caller to report.
pub(super) fn code_of(ending: Ending) -> Result<ExitCode, Failure> {
    match ending {
        Ending::Completed | Ending::Stopped(_) => Ok(ExitCode::SUCCESS),
        Ending::Interrupted(signal) => Ok(ExitCode::from(signal.exit_code())),
        Ending::Failed(error) => Err(error.into()),
    }
}
