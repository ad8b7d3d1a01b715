//! Which places an error shows, with a few words at each, and what to do about it.

use hookrack_plugin_api::{Level, name};

use super::catalog::Kind;
use super::error::ConfigError;
use super::fixed::TOP_LEVEL;
use super::origin::Origin;

/// A place in a document and the label shown there.
pub(super) struct Label<'a> {
    pub(super) origin: &'a Origin,
    pub(super) text: String,
}

fn label(origin: &Origin, text: impl Into<String>) -> Label<'_> {
    Label { origin, text: text.into() }
}

impl ConfigError {
    pub(super) fn reading_position(&self) -> (usize, usize) {
        self.labels().first().map_or((0, 0), |label| label.origin.reading_position())
    }

    /// The place to change comes first; the others explain.
    pub(super) fn labels(&self) -> Vec<Label<'_>> {
        match self {
            Self::Unreadable { .. } | Self::TooLarge { .. } => Vec::new(),
            Self::TwoWeights { load_from, weights } => {
                vec![label(load_from, "weights from here"), label(weights, "and from here")]
            }
            Self::DuplicateName { at, first, .. } => {
                vec![label(at, "needs a unique name"), label(first, "first defined here")]
            }
            Self::SetTwice { at, first, .. } => {
                vec![label(at, "sets it again"), label(first, "first set here")]
            }
            Self::TwoProviders { role, first, second, .. } => {
                vec![label(second, format!("provides {role} too")), label(first, "the first one")]
            }
            _ => self.place().map(|at| label(at, self.label_text())).into_iter().collect(),
        }
    }

    /// An error with a single place.
    fn place(&self) -> Option<&Origin> {
        use ConfigError as E;
        match self {
            E::Unreadable { .. } | E::TooLarge { .. } => None,
            E::TwoWeights { load_from: at, .. }
            | E::TwoProviders { second: at, .. }
            | E::NotUtf8 { at, .. }
            | E::Syntax { at, .. }
            | E::NumberTooLarge { at, .. }
            | E::DateValue { at, .. }
            | E::BaseNotPath { at, .. }
            | E::BaseUnreadable { at, .. }
            | E::BaseCycle { at, .. }
            | E::BaseTooDeep { at, .. }
            | E::BaseTooMany { at, .. }
            | E::BaseMisplaced { at, .. }
            | E::DeleteNotBool { at, .. }
            | E::DeleteNothing { at, .. }
            | E::OverrideSyntax { at, .. }
            | E::OverrideBase { at }
            | E::OverrideEntry { at, .. }
            | E::UnknownSection { at, .. }
            | E::UnknownKey { at, .. }
            | E::MissingKey { at, .. }
            | E::MissingSection { at, .. }
            | E::WrongType { at, .. }
            | E::NotAChoice { at, .. }
            | E::OutOfRange { at, .. }
            | E::NotANumber { at, .. }
            | E::NotFinite { at, .. }
            | E::EmptyPath { at, .. }
            | E::VariableInPath { at, .. }
            | E::PathNotUtf8 { at, .. }
            | E::UnknownType { at, .. }
            | E::AmbiguousType { at, .. }
            | E::NotInLibrary { at, .. }
            | E::LibraryMissing { at, .. }
            | E::PluginDirMissing { at, .. }
            | E::PluginDirNotFolder { at, .. }
            | E::NoLimit { at }
            | E::UnknownLevel { at, .. }
            | E::BadCadence { at, .. }
            | E::UnknownPhase { at, .. }
            | E::NoPhase { at, .. }
            | E::BadName { at, .. }
            | E::DuplicateName { at, .. }
            | E::SetTwice { at, .. }
            | E::UnknownDefaultHook { at, .. }
            | E::Refused { at, .. }
            | E::NotLogged { at, .. }
            | E::NotAttached { at, .. }
            | E::NotMade { at, .. } => Some(at),
        }
    }

    fn label_text(&self) -> String {
        match self {
            Self::BaseUnreadable { .. }
            | Self::BaseCycle { .. }
            | Self::BaseTooDeep { .. }
            | Self::BaseTooMany { .. } => "named here".into(),
            Self::BaseNotPath { .. } => "expected a path".into(),
            Self::BaseMisplaced { .. } => "not allowed here".into(),
            Self::DeleteNothing { .. } => "no base has this table".into(),
            Self::DeleteNotBool { .. } => "expected true or false".into(),
            Self::UnknownSection { nearest: Some(nearest), .. } => {
                format!("did you mean `{nearest}`?")
            }
            Self::UnknownKey { nearest: Some(nearest), .. }
            | Self::UnknownDefaultHook { nearest: Some(nearest), .. } => {
                format!("did you mean `{nearest}`?")
            }
            Self::NotLogged { unknown, .. } => {
                let meant = unknown.nearest.as_ref();
                meant.map(|meant| format!("did you mean `{meant}`?")).unwrap_or_default()
            }
            Self::MissingKey { key, .. } => format!("needs `{key}`"),
            Self::NoLimit { .. } => "needs one of them".into(),
            Self::WrongType { expected, .. } => format!("expected {expected}"),
            Self::UnknownType { searched, .. } if !searched.is_empty() => {
                "neither built in nor in any library of the plugin folders".into()
            }
            Self::UnknownType { kind, .. } => format!("no {} has this name", kind.noun()),
            Self::LibraryMissing { .. } => "not found in any plugin folder".into(),
            Self::PluginDirMissing { tried, .. } => format!("looked for {}", tried.join(", ")),
            _ => String::new(),
        }
    }

    /// Where was searched, one line for each place.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::UnknownType { searched, .. } | Self::LibraryMissing { searched, .. } => {
                searched.iter().map(|folder| format!("searched {folder}")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What to do, if the title and the labels do not say it.
    pub(super) fn help(&self) -> Option<String> {
        match self {
            Self::Unreadable { .. } => Some("give the path of a TOML file".into()),
            Self::TooLarge { .. } => {
                Some("a config is a few kilobytes; is this the file you meant?".into())
            }
            Self::NotUtf8 { .. } => Some("save the file as UTF-8".into()),
            Self::Syntax { help, .. } => help.map(Into::into),
            Self::NumberTooLarge { .. } => Some("integers have 64 bits, floats reach 1e308".into()),
            Self::DateValue { .. } => Some("put it in quotes to make it a string".into()),
            Self::BaseNotPath { .. } => Some(
                "write `_base_ = \"other.toml\"` or `_base_ = [\"a.toml\", \"b.toml\"]`".into(),
            ),
            Self::BaseUnreadable { .. } => {
                Some("the path of a base is relative to the file that names it".into())
            }
            Self::BaseCycle { .. } => {
                Some("a file cannot be its own base; remove one of these".into())
            }
            Self::BaseTooDeep { .. } | Self::BaseTooMany { .. } => {
                Some("put shared settings into fewer files".into())
            }
            Self::BaseMisplaced { .. } => Some("move it above the first [section]".into()),
            Self::DeleteNothing { .. } => {
                Some("remove `_delete_`, or name the file that has the table in `_base_`".into())
            }
            Self::OverrideSyntax { .. } => {
                Some("write `-s key.path=value`, for example `-s train.batch_size=32`".into())
            }
            Self::OverrideBase { .. } => {
                Some("write a small config file that names the base".into())
            }
            Self::OverrideEntry { len, names, .. } => Some(entries_help(*len, names)),
            _ => self.help_on_values().or_else(|| self.help_on_names()),
        }
    }

    fn help_on_values(&self) -> Option<String> {
        match self {
            Self::UnknownKey { nearest: None, valid, .. } => few("the keys are", valid),
            Self::MissingKey { key, doc, .. } if !doc.is_empty() => {
                Some(format!("`{key}`: {}", phrase(doc)))
            }
            Self::MissingSection { section, .. } => Some(format!("add [{section}] with a `type`")),
            Self::UnknownSection { nearest: None, .. } => {
                Some(format!("the sections are {}", TOP_LEVEL.join(", ")))
            }
            Self::WrongType { help, .. } => help.clone(),
            Self::NotANumber { .. } => {
                Some("`nan` is not allowed here; write a real number".into())
            }
            Self::NotFinite { .. } => Some("write a finite number".into()),
            Self::VariableInPath { .. } => {
                Some("write the path out, or set it with `-s` and let the shell expand it".into())
            }
            Self::TwoWeights { .. } => {
                Some("`load_from` is short for [weights] with only a path: keep one of them".into())
            }
            Self::NoLimit { .. } => {
                Some("add `max_epochs = …` or `max_iters = …` to [train]".into())
            }
            Self::BadCadence { .. } => Some(
                "write `\"100it\"` for every 100 iterations or `\"2ep\"` for every second epoch"
                    .into(),
            ),
            Self::NoPhase { .. } => {
                Some("name at least one, or leave `phase` out for the default".into())
            }
            Self::Refused { help, .. } if !help.is_empty() => Some(help.clone()),
            Self::NotLogged { unknown, .. } => Some(unknown.help.clone()),
            _ => None,
        }
    }

    fn help_on_names(&self) -> Option<String> {
        match self {
            Self::UnknownType { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            Self::NotAChoice { found, choices, .. } => {
                let nearest = name::nearest(found, choices.iter().map(String::as_str));
                nearest.map(|nearest| format!("did you mean `{nearest}`?"))
            }
            Self::AmbiguousType { .. } => Some("choose one with `library = \"…\"`".into()),
            Self::NotInLibrary { provides, .. } => few("it has", provides),
            Self::LibraryMissing { nearest: Some(nearest), .. } => {
                Some(format!("the nearest file is `{nearest}`"))
            }
            Self::LibraryMissing { .. } => {
                Some("put the library into a folder of `plugins.dirs`, or write its path".into())
            }
            Self::PluginDirMissing { .. } => {
                Some("create the folder, or remove it from `plugins.dirs`".into())
            }
            Self::UnknownLevel { nearest: Some(nearest), .. }
            | Self::UnknownPhase { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            Self::UnknownLevel { .. } => Some(level_help()),
            Self::UnknownPhase { .. } => {
                Some("the phases are train, val, test, pred, and eval for val and test".into())
            }
            Self::BadName { name, .. } if name::is_number(name) => {
                Some("a name of only digits would be the index of an entry; add a letter".into())
            }
            Self::BadName { .. } => Some(name::RULE.into()),
            Self::DuplicateName { first: Origin::Default, kind: Kind::Metric, .. } => {
                Some("a default hook has this name already; add `name = \"…\"`".into())
            }
            Self::DuplicateName { first: Origin::Default, .. } => {
                Some("a default hook has this name already; add `name = \"…\"`, or set it up under [default_hooks]".into())
            }
            Self::DuplicateName { .. } => Some("add `name = \"…\"` to one of them".into()),
            Self::SetTwice { .. } => Some("keep one of them".into()),
            Self::TwoProviders { .. } => {
                Some("a role has exactly one provider; remove one of them".into())
            }
            Self::UnknownDefaultHook { nearest: None, valid, .. } => {
                few("the default hooks are", valid)
            }
            _ => None,
        }
    }
}

/// A sentence of the documentation as the end of another one.
fn phrase(doc: &str) -> String {
    let doc = doc.trim_end_matches('.');
    let mut letters = doc.chars();
    match (letters.next(), letters.next()) {
        // An abbreviation stays as it is.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(doc.chars().skip(1)).collect()
        }
        _ => doc.to_owned(),
    }
}

/// A long list does not help.
fn few(what: &str, names: &[String]) -> Option<String> {
    (1..=6).contains(&names.len()).then(|| format!("{what} {}", names.join(", ")))
}

fn entries_help(len: usize, names: &[String]) -> String {
    let Some(last) = len.checked_sub(1) else {
        return "the list is empty; add the entry to a config file first".into();
    };
    if names.is_empty() {
        return format!("entries are addressed by index, from 0 to {last}");
    }
    few("entries are addressed by index from 0 or by name:", names)
        .unwrap_or_else(|| format!("entries are addressed by index from 0 to {last} or by name"))
}

fn level_help() -> String {
    let names: Vec<_> =
        Level::NAMED.iter().map(|(name, level)| format!("{name} {}", level.0)).collect();
    format!("a level is any integer or one of {}", names.join(", "))
}
