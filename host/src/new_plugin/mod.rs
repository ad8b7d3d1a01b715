//! `hookrack new-plugin`: writes a plugin that builds as it is, in Rust, C or C++, with the SDK beside it.
//!
//! The files come from `templates/`; `names` derives the names of the plugin's parts, `template` fills them in, `relative_path` computes
//! the path of a shared SDK. Nothing here needs libtorch, a config or a run.

mod names;
mod relative_path;
mod template;
#[cfg(test)]
mod tests;

pub use names::{BadName, Names};

use hookrack_sdk::{self as sdk, Parts, SdkError};
use std::io;
use std::path::{Path, PathBuf};
use template::{Placeholders, Template};

/// The folder of a plugin's own SDK.
const OWN_SDK: &str = "sdk";

/// The language that a plugin is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// Rust: a crate of its own.
    #[default]
    Rust,
    /// C11: one file and a makefile.
    C,
    /// C++17: one file and a makefile.
    Cpp,
}

/// What a plugin has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A hook that is called at points.
    #[default]
    Hook,
    /// A metric.
    Metric,
    /// A hook with a role.
    Role,
}

/// A plugin that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewPlugin<'a> {
    /// Its name, such as `loss-logger`.
    pub name: &'a str,
    /// Its language.
    pub lang: Lang,
    /// What it has.
    pub kind: Kind,
    /// The folder that it is written into.
    pub dir: &'a Path,
    /// An existing SDK; without one the plugin gets its own.
    pub sdk: Option<&'a Path>,
}

/// Why no plugin was written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NewPluginError {
    /// The name is not valid for a library.
    #[error(transparent)]
    Name(#[from] BadName),
    #[error("{} is not empty: name a new folder with --dir", dir.display())]
    NotEmpty { dir: PathBuf },
    #[error("{0} is not an SDK: `hookrack sdk {0}` creates one", dir.display())]
    NoSdk { dir: PathBuf },
    #[error("the path of the SDK is not UTF-8: {}", path.display())]
    Path { path: PathBuf },
    #[error("cannot write the SDK")]
    Sdk(#[from] SdkError),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes a plugin, and returns the files that were written, without those of its SDK.
///
/// # Errors
/// The name is not valid for a library, the folder is not empty, the SDK does not exist, or a file cannot be written.
pub fn write(plugin: &NewPlugin<'_>) -> Result<Vec<PathBuf>, NewPluginError> {
    let NewPlugin { name, lang, kind, dir, sdk } = *plugin;
    let names = Names::new(name, kind)?;
    if let Some(dir) = sdk.filter(|dir| !sdk::is_sdk(dir)) {
        return Err(NewPluginError::NoSdk { dir: dir.to_owned() });
    }
    make_empty(dir)?;
    let reached = if let Some(shared) = sdk {
        relative_path::between(dir, shared)?
    } else {
        let parts = if lang == Lang::Rust { Parts::All } else { Parts::Headers };
        sdk::write(&dir.join(OWN_SDK), parts)?;
        OWN_SDK.to_owned()
    };
    let placeholders = Placeholders { names: &names, kind, sdk: &reached };
    template::of(lang, kind).map(|template| write_one(template, &placeholders, dir)).collect()
}

fn make_empty(dir: &Path) -> Result<(), NewPluginError> {
    let failed = |source| NewPluginError::Write { path: dir.to_owned(), source };
    std::fs::create_dir_all(dir).map_err(failed)?;
    match dir.read_dir().map_err(failed)?.next() {
        Some(_) => Err(NewPluginError::NotEmpty { dir: dir.to_owned() }),
        None => Ok(()),
    }
}

fn write_one(
    template: &Template,
    placeholders: &Placeholders<'_>,
    dir: &Path,
) -> Result<PathBuf, NewPluginError> {
    let path = dir.join(placeholders.fill(template.file));
    let folder = path.parent().unwrap_or(dir);
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, placeholders.fill(template.text)));
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(NewPluginError::Write { path, source }),
    }
}
