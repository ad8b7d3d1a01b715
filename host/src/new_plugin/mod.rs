//! `hookrack new-plugin`: writes a plugin that builds as it is, in Rust or in C, outside the workspace.
//!
//! The files come from `templates/`; `names` says what the plugin's parts are called, `template` fills it in.
//! Nothing here needs libtorch, a config or a run.

mod names;
mod template;
#[cfg(test)]
mod tests;

pub use names::{BadName, Names};

use std::io;
use std::path::{Path, PathBuf};
use template::{Template, fill};

/// The language that a plugin is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// Rust: a crate of its own.
    #[default]
    Rust,
    /// C: one file, the header and a makefile.
    C,
}

/// Where a Rust plugin finds `hookrack-plugin-api`. A C plugin carries its header along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiSource {
    /// A source tree on this machine.
    Path(PathBuf),
    /// A git repository.
    Git(String),
    /// The package registry, from this version on.
    Version(String),
}

/// Why no plugin was written.
#[derive(Debug, thiserror::Error)]
pub enum NewPluginError {
    /// The name is not one for a library.
    #[error(transparent)]
    Name(#[from] BadName),
    /// There is something in the way.
    #[error("{} is not empty: name a new folder with --dir", dir.display())]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
    },
    /// A path cannot stand in a Cargo.toml.
    #[error("the path of hookrack-plugin-api is not UTF-8: {}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// A file or folder could not be made.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl ApiSource {
    /// The source tree that this host was built from, if it is still there; else the project's repository.
    pub fn of_host(manifest_dir: &Path, repository: &str) -> Self {
        let beside = manifest_dir.parent().map(|root| root.join("plugin-api"));
        match beside {
            Some(path) if path.join("Cargo.toml").is_file() => Self::Path(path),
            _ => Self::Git(repository.to_owned()),
        }
    }

    /// The right-hand side of the dependency's line in Cargo.toml.
    fn dependency(&self) -> Result<String, NewPluginError> {
        Ok(match self {
            Self::Path(path) => {
                let text = path.to_str();
                let text = text.ok_or_else(|| NewPluginError::Path { path: path.clone() })?;
                format!("{{ path = {} }}", template::toml_text(text))
            }
            Self::Git(url) => format!("{{ git = {} }}", template::toml_text(url)),
            Self::Version(version) => template::toml_text(version),
        })
    }
}

/// Writes a plugin called `name` into `dir`, which is made if need be, and says which files were written.
///
/// # Errors
/// The name is not one for a library, the folder is not empty, or a file cannot be written.
pub fn write(
    name: &str,
    lang: Lang,
    dir: &Path,
    api: &ApiSource,
) -> Result<Vec<PathBuf>, NewPluginError> {
    let names = Names::new(name)?;
    make_empty(dir)?;
    let (templates, api) = match lang {
        Lang::Rust => (template::RUST, api.dependency()?),
        Lang::C => (template::C, String::new()),
    };
    templates.iter().map(|template| write_one(template, &names, &api, dir)).collect()
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
    names: &Names,
    api: &str,
    dir: &Path,
) -> Result<PathBuf, NewPluginError> {
    let path = dir.join(fill(template.file, names, api));
    let folder = path.parent().unwrap_or(dir);
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, fill(template.text, names, api)));
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(NewPluginError::Write { path, source }),
    }
}
