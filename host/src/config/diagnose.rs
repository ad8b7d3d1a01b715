//! Which places an error shows, with a few words at each, and what to do about it.

use hookrack_plugin_api::{Level, name};

use super::catalog::Kind;
use super::error::{ConfigError, Fault};
use super::fixed::TOP_LEVEL;
use super::origin::Origin;

/// A place in a document and the label shown there.
pub(super) struct Label<'a> {
    pub(super) origin: &'a Origin,
    pub(super) text: String,
}

impl ConfigError {
    pub(super) fn reading_position(&self) -> (usize, usize) {
        self.at.as_ref().map_or((0, 0), Origin::reading_position)
    }

    /// The place to change comes first; the others explain.
    pub(super) fn labels(&self) -> Vec<Label<'_>> {
        let Some(at) = &self.at else { return Vec::new() };
        let mut labels = vec![Label { origin: at, text: self.fault.label() }];
        labels.extend(self.fault.other().map(|(origin, text)| Label { origin, text: text.into() }));
        labels
    }
}

impl Fault {
    /// The place that explains the mistake, if it is another one.
    fn other(&self) -> Option<(&Origin, &'static str)> {
        match self {
            Self::TwoWeights { weights } => Some((weights, "and from here")),
            Self::DuplicateName { first, .. } => Some((first, "first defined here")),
            Self::SetTwice { first, .. } => Some((first, "first set here")),
            Self::TwoProviders { first, .. } => Some((first, "the first one")),
            _ => None,
        }
    }

    /// A few words at the place to change.
    fn label(&self) -> String {
        match self {
            Self::TwoWeights { .. } => "weights from here".into(),
            Self::DuplicateName { .. } => "needs a unique name".into(),
            Self::SetTwice { .. } => "sets it again".into(),
            Self::TwoProviders { role, .. } => format!("provides {role} too"),
            Self::BaseUnreadable { .. }
            | Self::BaseCycle { .. }
            | Self::BaseTooDeep { .. }
            | Self::BaseTooMany { .. } => "named here".into(),
            Self::BaseNotPath { .. } => "expected a path".into(),
            Self::BaseMisplaced { .. } => "not allowed here".into(),
            Self::DeleteNothing { .. } => "no base has this table".into(),
            Self::DeleteNotBool { .. } => "expected true or false".into(),
            Self::UnknownSection { .. }
            | Self::UnknownKey { .. }
            | Self::UnknownDefaultHook { .. }
            | Self::NotLogged { .. } => self.meant().unwrap_or_default(),
            Self::MissingKey { key, .. } => format!("needs `{key}`"),
            Self::NoLimit => "needs one of them".into(),
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

    /// Where libraries were searched for, one line per folder.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::UnknownType { searched, .. } | Self::LibraryMissing { searched, .. } => {
                searched.iter().map(|folder| format!("searched {folder}")).collect()
            }
            _ => Vec::new(),
        }
    }

    fn meant(&self) -> Option<String> {
        let nearest = match self {
            Self::UnknownSection { nearest, .. }
            | Self::UnknownLevel { nearest, .. }
            | Self::UnknownPhase { nearest, .. } => *nearest,
            Self::UnknownKey { nearest, .. }
            | Self::UnknownDefaultHook { nearest, .. }
            | Self::UnknownType { nearest, .. } => nearest.as_deref(),
            Self::NotLogged { unknown, .. } => unknown.nearest.as_deref(),
            Self::NotAChoice { found, choices, .. } => {
                name::nearest(found, choices.iter().map(String::as_str))
            }
            _ => None,
        };
        nearest.map(|nearest| format!("did you mean `{nearest}`?"))
    }

    /// What to do, if the title and the labels do not say it.
    pub(super) fn help(&self) -> Option<String> {
        match self {
            Self::Syntax { help, .. } => help.map(Into::into),
            Self::OverrideEntry { len, names, .. } => Some(entries_help(*len, names)),
            Self::UnknownSection { nearest: None, .. } => {
                Some(format!("the sections are {}", TOP_LEVEL.join(", ")))
            }
            Self::UnknownKey { nearest: None, valid, .. } => few("the keys are", valid),
            Self::UnknownDefaultHook { nearest: None, valid, .. } => {
                few("the default hooks are", valid)
            }
            Self::NotInLibrary { provides, .. } => few("it has", provides),
            Self::MissingKey { key, doc, .. } if !doc.is_empty() => {
                Some(format!("`{key}`: {}", phrase(doc)))
            }
            Self::MissingSection { section } => Some(format!("add [{section}] with a `type`")),
            Self::WrongType { help, .. } => help.clone(),
            Self::Refused { help, .. } if !help.is_empty() => Some(help.clone()),
            Self::NotLogged { unknown, .. } => Some(unknown.help.clone()),
            Self::LibraryMissing { nearest: Some(nearest), .. } => {
                Some(format!("the nearest file is `{nearest}`"))
            }
            Self::UnknownLevel { nearest: None, .. } => Some(level_help()),
            Self::UnknownType { .. }
            | Self::NotAChoice { .. }
            | Self::UnknownLevel { .. }
            | Self::UnknownPhase { nearest: Some(_), .. } => self.meant(),
            _ => self.advice().map(Into::into),
        }
    }

    /// The help that is the same wherever the mistake is made.
    fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Unreadable { .. } => "give the path of a TOML file",
            Self::TooLarge { .. } => "a config is a few kilobytes; is this the file you meant?",
            Self::NotUtf8 { .. } => "save the file as UTF-8",
            Self::NumberTooLarge { .. } => "integers have 64 bits, floats reach 1e308",
            Self::DateValue { .. } => "put it in quotes to make it a string",
            Self::BaseNotPath { .. } => {
                "write `_base_ = \"other.toml\"` or `_base_ = [\"a.toml\", \"b.toml\"]`"
            }
            Self::BaseUnreadable { .. } => {
                "the path of a base is relative to the file that names it"
            }
            Self::BaseCycle { .. } => "a file cannot be its own base; remove one of these",
            Self::BaseTooDeep { .. } | Self::BaseTooMany { .. } => {
                "put shared settings into fewer files"
            }
            Self::BaseMisplaced { .. } => "move it above the first [section]",
            Self::DeleteNothing { .. } => {
                "remove `_delete_`, or name the file that has the table in `_base_`"
            }
            Self::OverrideSyntax { .. } => {
                "write `-s key.path=value`, for example `-s train.batch_size=32`"
            }
            Self::OverrideBase => "write a small config file that names the base",
            Self::NotANumber { .. } => "`nan` is not allowed here; write a real number",
            Self::NotFinite { .. } => "write a finite number",
            Self::VariableInPath { .. } => {
                "write the path out, or set it with `-s` and let the shell expand it"
            }
            Self::TwoWeights { .. } => {
                "`load_from` is short for [weights] with only a path: keep one of them"
            }
            Self::NoLimit => "add `max_epochs = …` or `max_iters = …` to [train]",
            Self::BadCadence { .. } => {
                "write `\"100it\"` for every 100 iterations or `\"2ep\"` for every second epoch"
            }
            Self::NoPhase { .. } => "name at least one, or leave `phase` out for the default",
            Self::AmbiguousType { .. } => "choose one with `library = \"…\"`",
            Self::LibraryMissing { .. } => {
                "put the library into a folder of `plugins.dirs`, or write its path"
            }
            Self::PluginDirMissing { .. } => "create the folder, or remove it from `plugins.dirs`",
            Self::UnknownPhase { .. } => {
                "the phases are train, val, test, pred, and eval for val and test"
            }
            Self::BadName { name } if name::is_number(name) => {
                "a name of only digits would be the index of an entry; add a letter"
            }
            Self::BadName { .. } => name::RULE,
            Self::DuplicateName { first: Origin::Default, kind: Kind::Metric, .. } => {
                "a default hook has this name already; add `name = \"…\"`"
            }
            Self::DuplicateName { first: Origin::Default, .. } => {
                "a default hook has this name already; add `name = \"…\"`, or set it up under [default_hooks]"
            }
            Self::DuplicateName { .. } => "add `name = \"…\"` to one of them",
            Self::SetTwice { .. } => "keep one of them",
            Self::TwoProviders { .. } => "a role has exactly one provider; remove one of them",
            _ => return None,
        })
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
