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
use super::read::reason;
use super::render;
use super::scalars::NotLogged;

/// One mistake in a config.
#[derive(Clone, Debug, Error)]
#[error("{fault}")]
pub struct ConfigError {
    /// The place that has to change; `None` if the file itself cannot be read.
    pub(super) at: Option<Origin>,
    pub(super) fault: Box<Fault>,
}

impl From<Fault> for ConfigError {
    fn from(fault: Fault) -> Self {
        Self { at: None, fault: Box::new(fault) }
    }
}

impl Fault {
    pub(super) fn unreadable(path: &str, why: &std::io::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), why: reason(why) }
    }

    /// A section that is well-formed but cannot be read.
    pub(super) fn unreadable_section(key: &str, why: &impl fmt::Display) -> Self {
        let help = "`hookrack config --schema` lists every key and its type".to_owned();
        Self::Refused { key: key.to_owned(), why: why.to_string(), help }
    }
}

/// What can be wrong.
#[derive(Clone, Debug, Error)]
pub(super) enum Fault {
    #[error("cannot read config `{path}`: {why}")]
    Unreadable { path: String, why: String },
    #[error("cannot read config `{path}`: the file has {bytes} bytes, the limit is {limit}")]
    TooLarge { path: String, bytes: u64, limit: u64 },
    #[error("not valid UTF-8: byte {offset} of the file")]
    NotUtf8 { offset: usize },
    #[error("invalid TOML: {message}")]
    Syntax { message: String, help: Option<&'static str> },
    #[error("number `{found}` is too large")]
    NumberTooLarge { found: String },
    #[error("`{found}` is a date, and dates are not supported")]
    DateValue { found: String },

    #[error("`_base_` must be a path or a list of paths, found {found}")]
    BaseNotPath { found: &'static str },
    #[error("cannot read base `{path}`: {why}")]
    BaseUnreadable { path: String, why: String },
    #[error("bases form a cycle: {}", chain.join(" -> "))]
    BaseCycle { chain: Vec<String> },
    #[error("bases are nested more than {limit} levels deep")]
    BaseTooDeep { limit: usize },
    #[error("more than {limit} files are read as bases")]
    BaseTooMany { limit: usize },
    #[error("`_base_` is inside {table}, it belongs at the top of the file")]
    BaseMisplaced { table: String },
    #[error("`_delete_` must be true or false, found {found}")]
    DeleteNotBool { found: &'static str },
    #[error("`_delete_` in {table} has nothing to delete")]
    DeleteNothing { table: String },

    #[error("cannot read override: {fault}")]
    OverrideSyntax { fault: OverrideFault },
    #[error("`_base_` cannot be set on the command line")]
    OverrideBase,
    #[error("`{list}` has no entry `{wanted}`")]
    OverrideEntry { list: String, wanted: String, len: usize, names: Vec<String> },

    #[error("unknown key `{key}` at the top of the file")]
    UnknownSection { key: String, nearest: Option<&'static str> },
    #[error("unknown key `{key}` in {table}")]
    UnknownKey { key: String, table: String, nearest: Option<String>, valid: Vec<String> },
    #[error("missing key `{key}` in {table}")]
    MissingKey { key: String, table: String, doc: String },
    #[error("missing section [{section}]")]
    MissingSection { section: String },
    #[error("`{key}` must be {expected}, found {found}")]
    WrongType { key: String, expected: String, found: &'static str, help: Option<String> },
    #[error("`{key}` must be one of {}, found `{found}`", choices.join(", "))]
    NotAChoice { key: String, found: String, choices: Vec<String> },
    #[error("`{key}` is out of range: {found}, must be {}", Range(*min, *max))]
    OutOfRange { key: String, found: String, min: Option<f64>, max: Option<f64> },
    #[error("`{key}` is not a number")]
    NotANumber { key: String },
    #[error("`{key}` is infinite")]
    NotFinite { key: String },
    #[error("`{key}` is an empty path")]
    EmptyPath { key: String },
    #[error("`{key}` contains a variable, and variables are not expanded")]
    VariableInPath { key: String },
    #[error("`{key}` starts in a folder whose name is not valid UTF-8: {path}")]
    PathNotUtf8 { key: String, path: String },

    #[error("unknown {} `{name}`", kind.noun())]
    UnknownType { kind: Kind, name: String, nearest: Option<String>, searched: Vec<String> },
    #[error("{} `{name}` is in more than one library: {}", kind.noun(), libraries.join(", "))]
    AmbiguousType { kind: Kind, name: String, libraries: Vec<String> },
    #[error("library `{library}` has no {} `{name}`", kind.noun())]
    NotInLibrary { kind: Kind, name: String, library: String, provides: Vec<String> },
    #[error("library `{library}` does not exist")]
    LibraryMissing { library: String, searched: Vec<String>, nearest: Option<String> },
    #[error("plugin folder `{dir}` does not exist")]
    PluginDirMissing { dir: String, tried: Vec<String> },
    #[error("plugin folder `{dir}` is not a folder")]
    PluginDirNotFolder { dir: String },

    #[error("both `train.load_from` and [weights] are set")]
    TwoWeights { weights: Origin },
    #[error("neither `train.max_epochs` nor `train.max_iters` is set")]
    NoLimit,
    #[error("unknown level `{name}`")]
    UnknownLevel { name: String, nearest: Option<&'static str> },
    #[error("`{key}` is not a valid cadence: {}", cadence_fault(*fault))]
    BadCadence { key: String, fault: CadenceFault },
    #[error("unknown phase `{name}`")]
    UnknownPhase { name: String, nearest: Option<&'static str> },
    #[error("`{key}` must name at least one phase")]
    NoPhase { key: String },
    #[error("`{name}` is not a valid name")]
    BadName { name: String },
    #[error("{} are named `{name}`", pair(*first_kind, *kind))]
    DuplicateName { kind: Kind, name: String, first: Origin, first_kind: Kind },
    #[error("`{key}` and `{first_key}` are two names of the same setting")]
    SetTwice { key: String, first: Origin, first_key: String },
    #[error("hooks `{first_name}` and `{second_name}` both provide the role {role}")]
    TwoProviders { role: String, first_name: String, first: Origin, second_name: String },
    #[error("unknown default hook `{key}`")]
    UnknownDefaultHook { key: String, nearest: Option<String>, valid: Vec<String> },
    #[error("`{key}`: {why}")]
    Refused { key: String, why: String, help: String },
    #[error("`{key}`: nothing logs `{name}`{}", unknown.why)]
    NotLogged { key: String, name: String, unknown: Box<NotLogged> },
    #[error("{why}")]
    NotAttached { why: String },
    #[error("{} `{name}` ({library}) could not be created: {why}", kind.noun())]
    NotMade { kind: Kind, name: String, library: String, why: String },
}

impl ConfigError {
    /// A mistake at the place that has to change.
    pub(super) fn at(at: &Origin, fault: Fault) -> Self {
        Self { at: Some(at.clone()), fault: Box::new(fault) }
    }
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
    pub(super) fn add(&mut self, at: &Origin, fault: Fault) {
        self.push(ConfigError::at(at, fault));
    }

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
