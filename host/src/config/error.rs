//! Every way a config can be wrong.
//!
//! The title of an error is its `Display`; `diagnose.rs` says which places it shows and what to do,
//! `render.rs` draws it.

use std::fmt;

use thiserror::Error;

use super::cadence::CadenceFault;
use super::catalog::Kind;
use super::origin::Origin;
use super::overrides::OverrideFault;
use super::render;
use super::scalars::NotLogged;

/// One mistake in a config. `at` is the place that has to change.
#[derive(Clone, Debug, Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ConfigError {
    #[error("cannot read config `{path}`: {why}")]
    Unreadable { path: String, why: String },
    #[error("cannot read config `{path}`: the file has {bytes} bytes, the limit is {limit}")]
    TooLarge { path: String, bytes: u64, limit: u64 },
    #[error("not valid UTF-8: byte {offset} of the file")]
    NotUtf8 { at: Origin, offset: usize },
    #[error("invalid TOML: {message}")]
    Syntax { at: Origin, message: String, help: Option<&'static str> },
    #[error("number `{found}` is too large")]
    NumberTooLarge { at: Origin, found: String },
    #[error("`{found}` is a date, and dates are not supported")]
    DateValue { at: Origin, found: String },

    #[error("`_base_` must be a path or a list of paths, found {found}")]
    BaseNotPath { at: Origin, found: &'static str },
    #[error("cannot read base `{path}`: {why}")]
    BaseUnreadable { at: Origin, path: String, why: String },
    #[error("bases form a cycle: {}", chain.join(" -> "))]
    BaseCycle { at: Origin, chain: Vec<String> },
    #[error("bases are nested more than {limit} levels deep")]
    BaseTooDeep { at: Origin, limit: usize },
    #[error("more than {limit} files are read as bases")]
    BaseTooMany { at: Origin, limit: usize },
    #[error("`_base_` is inside {table}, it belongs at the top of the file")]
    BaseMisplaced { at: Origin, table: String },
    #[error("`_delete_` must be true or false, found {found}")]
    DeleteNotBool { at: Origin, found: &'static str },
    #[error("`_delete_` in {table} has nothing to delete")]
    DeleteNothing { at: Origin, table: String },

    #[error("cannot read override: {fault}")]
    OverrideSyntax { at: Origin, fault: OverrideFault },
    #[error("`_base_` cannot be set on the command line")]
    OverrideBase { at: Origin },
    #[error("`{list}` has no entry `{wanted}`")]
    OverrideEntry { at: Origin, list: String, wanted: String, len: usize, names: Vec<String> },

    #[error("unknown key `{key}` at the top of the file")]
    UnknownSection { at: Origin, key: String, nearest: Option<&'static str> },
    #[error("unknown key `{key}` in {table}")]
    UnknownKey {
        at: Origin,
        key: String,
        table: String,
        nearest: Option<String>,
        valid: Vec<String>,
    },
    #[error("missing key `{key}` in {table}")]
    MissingKey { at: Origin, key: String, table: String, doc: String },
    #[error("missing section [{section}]")]
    MissingSection { at: Origin, section: String },
    #[error("`{key}` must be {expected}, found {found}")]
    WrongType {
        at: Origin,
        key: String,
        expected: String,
        found: &'static str,
        help: Option<String>,
    },
    #[error("`{key}` must be one of {}, found `{found}`", choices.join(", "))]
    NotAChoice { at: Origin, key: String, found: String, choices: Vec<String> },
    #[error("`{key}` is out of range: {found}, must be {}", Range(*min, *max))]
    OutOfRange { at: Origin, key: String, found: String, min: Option<f64>, max: Option<f64> },
    #[error("`{key}` is not a number")]
    NotANumber { at: Origin, key: String },
    #[error("`{key}` is infinite")]
    NotFinite { at: Origin, key: String },
    #[error("`{key}` is an empty path")]
    EmptyPath { at: Origin, key: String },
    #[error("`{key}` contains a variable, and variables are not expanded")]
    VariableInPath { at: Origin, key: String },
    #[error("`{key}` starts in a folder whose name is not valid UTF-8: {path}")]
    PathNotUtf8 { at: Origin, key: String, path: String },

    #[error("unknown {} `{name}`", kind.noun())]
    UnknownType {
        at: Origin,
        kind: Kind,
        name: String,
        nearest: Option<String>,
        searched: Vec<String>,
    },
    #[error("{} `{name}` is in more than one library: {}", kind.noun(), libraries.join(", "))]
    AmbiguousType { at: Origin, kind: Kind, name: String, libraries: Vec<String> },
    #[error("library `{library}` has no {} `{name}`", kind.noun())]
    NotInLibrary { at: Origin, kind: Kind, name: String, library: String, provides: Vec<String> },
    #[error("library `{library}` does not exist")]
    LibraryMissing { at: Origin, library: String, searched: Vec<String>, nearest: Option<String> },
    #[error("plugin folder `{dir}` does not exist")]
    PluginDirMissing { at: Origin, dir: String, tried: Vec<String> },
    #[error("plugin folder `{dir}` is not a folder")]
    PluginDirNotFolder { at: Origin, dir: String },

    #[error("both `train.load_from` and [weights] are set")]
    TwoWeights { load_from: Origin, weights: Origin },
    #[error("neither `train.max_epochs` nor `train.max_iters` is set")]
    NoLimit { at: Origin },
    #[error("unknown level `{name}`")]
    UnknownLevel { at: Origin, name: String, nearest: Option<&'static str> },
    #[error("`{key}` is not a valid cadence: {}", cadence_fault(*fault))]
    BadCadence { at: Origin, key: String, fault: CadenceFault },
    #[error("unknown phase `{name}`")]
    UnknownPhase { at: Origin, name: String, nearest: Option<&'static str> },
    #[error("`{key}` must name at least one phase")]
    NoPhase { at: Origin, key: String },
    #[error("`{name}` is not a valid name")]
    BadName { at: Origin, name: String },
    #[error("{} are named `{name}`", pair(*first_kind, *kind))]
    DuplicateName { at: Origin, kind: Kind, name: String, first: Origin, first_kind: Kind },
    #[error("`{key}` and `{first_key}` are two names of the same setting")]
    SetTwice { at: Origin, key: String, first: Origin, first_key: String },
    #[error("hooks `{first_name}` and `{second_name}` both provide the role {role}")]
    TwoProviders {
        role: String,
        first_name: String,
        first: Origin,
        second_name: String,
        second: Origin,
    },
    #[error("unknown default hook `{key}`")]
    UnknownDefaultHook { at: Origin, key: String, nearest: Option<String>, valid: Vec<String> },
    #[error("`{key}`: {why}")]
    Refused { at: Origin, key: String, why: String, help: String },
    #[error("`{key}`: nothing logs `{name}`{}", unknown.why)]
    NotLogged { at: Origin, key: String, name: String, unknown: Box<NotLogged> },
    #[error("{why}")]
    NotAttached { at: Origin, why: String },
    #[error("{} `{name}` ({library}) could not be created: {why}", kind.noun())]
    NotMade { at: Origin, kind: Kind, name: String, library: String, why: String },
}

/// `two hooks`, `a hook and a metric`.
fn pair(first: Kind, second: Kind) -> String {
    match (first.noun(), second.noun()) {
        (first, second) if first == second => format!("two {first}s"),
        (first, second) => format!("a {first} and a {second}"),
    }
}

fn cadence_fault(fault: CadenceFault) -> &'static str {
    match fault {
        CadenceFault::NoUnit => "it has no unit",
        CadenceFault::UnknownUnit => "its unit is neither `it` nor `ep`",
        CadenceFault::NoNumber => "it does not start with a whole number",
        CadenceFault::TooLarge => "the number is too large",
        CadenceFault::Zero => "the number must be at least 1",
    }
}

/// `at least 1`, `at most 10`, `between 1 and 10`.
struct Range(Option<f64>, Option<f64>);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(min), Some(max)) => write!(f, "between {min} and {max}"),
            (Some(min), None) => write!(f, "at least {min}"),
            (None, Some(max)) => write!(f, "at most {max}"),
            (None, None) => f.write_str("a number"),
        }
    }
}

/// Everything that is wrong with a config, in reading order.
#[derive(Clone, Debug, Default)]
pub struct ConfigErrors(Vec<ConfigError>);

/// More are not collected: a hostile file could cause millions.
const MOST_ERRORS: usize = 100;

impl ConfigErrors {
    pub(super) fn push(&mut self, error: ConfigError) {
        if !self.is_full() {
            self.0.push(error);
        }
    }

    /// Whether another error would be dropped; finding the nearest name for it would be wasted time.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST_ERRORS
    }

    pub(super) fn append(&mut self, other: Self) {
        other.0.into_iter().for_each(|error| self.push(error));
    }

    /// `value` if there are no errors, otherwise all errors in reading order.
    pub(super) fn or<T>(mut self, value: Option<T>) -> Result<T, Self> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => {
                self.0.sort_by_key(ConfigError::reading_position);
                Err(self)
            }
        }
    }

    /// Whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mistakes one by one.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }

    /// The messages with source lines and carets; colored for a terminal.
    pub fn render(&self, colored: bool) -> String {
        render::render(&self.0, colored)
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for ConfigErrors {}
