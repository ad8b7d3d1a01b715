//! The libraries of the plugin folders, found by the types they offer or by their file's name.

use super::error::{LoadError, Refusal};
use super::library::{HookType, Library, MetricType};
use super::{locate, open};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Every library of some folders: those that loaded, and those that did not, with the reason.
#[derive(Debug, Default)]
pub struct PluginSet {
    /// What loaded, each once, in the order in which it was found.
    pub libraries: Vec<Arc<Library>>,
    /// What did not load, or a folder that could not be read, and why.
    pub failed: Vec<(PathBuf, LoadError)>,
    /// What was not loaded because a folder before has a file of its name: its path, and that of the other.
    pub shadowed: Vec<(PathBuf, PathBuf)>,
    /// The paths under which the libraries were found. A link has its own name.
    found: Vec<(PathBuf, Arc<Library>)>,
    /// For each library how late its folder is searched: 0 for one that was asked for.
    ranks: Vec<usize>,
    /// The folders that were searched, without links.
    folders: Vec<PathBuf>,
}

impl PluginSet {
    /// Loads every `*.so` of the folders, in the order of the folders and of the names. A bad file does not stop the
    /// others.
    pub fn scan(dirs: &[PathBuf]) -> Self {
        let mut plugin_set = Self::default();
        for dir in dirs {
            for file in plugin_set.look_into(dir) {
                plugin_set.add(&file);
            }
        }
        plugin_set
    }

    /// Loads what further folders have under names that are not there yet: the first folder wins. They need not exist.
    pub fn search(&mut self, dirs: &[PathBuf]) {
        for (index, dir) in dirs.iter().enumerate().filter(|(_, dir)| dir.is_dir()) {
            for file in self.look_into(dir) {
                let known = self.found.iter().map(|(path, _)| path);
                let mut known = known.chain(self.failed.iter().map(|(path, _)| path));
                match known.find(|path| path.file_name() == file.file_name()).cloned() {
                    None => drop(self.add_ranked(&file, index + 1)),
                    Some(first) => self.shadowed.push((file, first)),
                }
            }
        }
    }

    /// The libraries of a folder, unless it was searched before.
    fn look_into(&mut self, dir: &Path) -> Vec<PathBuf> {
        match candidates(dir) {
            Ok(files) => {
                let folder = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
                if self.folders.contains(&folder) {
                    return Vec::new();
                }
                self.folders.push(folder);
                files
            }
            Err(error) => {
                self.failed.push((dir.to_owned(), error));
                Vec::new()
            }
        }
    }

    /// Loads one more library, from wherever it is; `None` where it failed, with the reason last in
    /// [`Self::failed`].
    pub fn add(&mut self, path: &Path) -> Option<Arc<Library>> {
        self.add_ranked(path, 0)
    }

    fn add_ranked(&mut self, path: &Path, rank: usize) -> Option<Arc<Library>> {
        match open(path) {
            Ok(library) => {
                if !self.libraries.iter().any(|known| Arc::ptr_eq(known, &library)) {
                    self.libraries.push(Arc::clone(&library));
                    self.ranks.push(rank);
                }
                self.found.push((path.to_owned(), Arc::clone(&library)));
                Some(library)
            }
            Err(error) => {
                tracing::debug!(step = error.reason.step(), "{error}");
                self.failed.push((path.to_owned(), error));
                None
            }
        }
    }

    /// The libraries, and how late the folder of each is searched.
    pub fn ranked(&self) -> Vec<(Arc<Library>, usize)> {
        self.libraries.iter().cloned().zip(self.ranks.iter().copied()).collect()
    }

    /// Takes a library out that offers what no config could name.
    pub fn refuse(&mut self, library: &Arc<Library>, why: &str) {
        let Some(at) = self.libraries.iter().position(|known| Arc::ptr_eq(known, library)) else {
            return;
        };
        self.libraries.remove(at);
        self.ranks.remove(at);
        for (path, known) in std::mem::take(&mut self.found) {
            if Arc::ptr_eq(&known, library) {
                let error = LoadError::of_library(&path, Refusal::Unusable(why.to_owned()));
                self.failed.push((path, error));
            } else {
                self.found.push((path, known));
            }
        }
    }

    /// The libraries that were found in a folder, with the path of each.
    pub fn found_in<'a>(
        &'a self,
        dir: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a Arc<Library>)> {
        let here = self.found.iter().filter(move |(path, _)| path.parent() == Some(dir));
        here.map(|(path, library)| (path.as_path(), library))
    }

    /// Every hook type of this name. Two are for the caller to complain about.
    pub fn hooks(&self, name: &str) -> Vec<&HookType> {
        self.hook_types().filter(|hook| hook.name() == name).collect()
    }

    /// Every metric type of this name.
    pub fn metrics(&self, name: &str) -> Vec<&MetricType> {
        self.metric_types().filter(|metric| metric.name() == name).collect()
    }

    /// Every hook type.
    pub fn hook_types(&self) -> impl Iterator<Item = &HookType> {
        self.libraries.iter().flat_map(|library| &library.hooks)
    }

    /// Every metric type.
    pub fn metric_types(&self) -> impl Iterator<Item = &MetricType> {
        self.libraries.iter().flat_map(|library| &library.metrics)
    }

    /// The libraries that `wanted` may mean: a path, a file's name, or that without `lib` and `.so`. One name may be
    /// in several folders.
    pub fn named(&self, wanted: &str) -> Vec<&Arc<Library>> {
        let mut named: Vec<&Arc<Library>> = Vec::new();
        for (path, library) in &self.found {
            let known = named.iter().any(|known| Arc::ptr_eq(known, library));
            if !known && is_meant(path, wanted) {
                named.push(library);
            }
        }
        named
    }

    /// Why a library that `wanted` may mean did not load.
    pub fn failure(&self, wanted: &str) -> Option<&LoadError> {
        self.failed.iter().find(|(path, _)| is_meant(path, wanted)).map(|(_, error)| error)
    }
}

/// Whether `wanted` refers to the file `path`: `ema`, `libema`, `libema.so`, or a path to it.
fn is_meant(path: &Path, wanted: &str) -> bool {
    if wanted.contains('/') {
        let same = |a: &Path, b: &Path| matches!((locate::locate(a), locate::locate(b)), (Ok(a), Ok(b)) if a == b);
        return path == Path::new(wanted) || same(path, Path::new(wanted));
    }
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let stem = name.strip_suffix(".so").unwrap_or(name);
    [name, stem].contains(&wanted) || stem.strip_prefix("lib") == Some(wanted)
}

/// The `*.so` of a folder, in the order of their names.
fn candidates(dir: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let folder = locate::folder(dir).map_err(|error| LoadError::of_library(dir, error.into()))?;
    let mut files: Vec<_> =
        folder.filter(|path| path.extension() == Some(OsStr::new("so"))).collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_answers_to_its_file_name_with_and_without_its_ends() {
        let path = Path::new("/p/libema.so");
        for wanted in ["ema", "libema", "libema.so", "/p/libema.so"] {
            assert!(is_meant(path, wanted), "{wanted}");
        }
        for wanted in ["em", "lib", "ema.so", "EMA", "", "/q/libema.so", ".so"] {
            assert!(!is_meant(path, wanted), "{wanted}");
        }
        assert!(is_meant(Path::new("/p/ema.so"), "ema"));
    }

    #[test]
    fn a_folder_that_is_searched_need_not_be_there() {
        let mut plugin_set = PluginSet::default();
        plugin_set.search(&["/no/such/folder".into()]);
        assert!(plugin_set.failed.is_empty() && plugin_set.libraries.is_empty());
    }

    #[test]
    fn a_folder_that_is_not_there_is_listed_with_its_reason() {
        let plugin_set = PluginSet::scan(&["/no/such/folder".into()]);
        let [(path, error)] = plugin_set.failed.as_slice() else { panic!("{plugin_set:?}") };
        assert_eq!(path, Path::new("/no/such/folder"));
        assert!(error.to_string().contains("no such folder"), "{error}");
    }
}
