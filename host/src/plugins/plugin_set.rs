//! The libraries of the plugin folders, found by the types they offer or by their file's name. None of them is mapped
//! until it is used.

use super::boundary;
use super::crash::Loading;
use super::loader::{
    self, Description, HookManifest, Image, Library, LoadError, MetricManifest, Refusal,
};
use super::probe;
use super::trust::{Trust, Verification};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Every library of some folders: those that can be loaded, and those that cannot, with the reason.
#[derive(Debug, Default)]
pub struct PluginSet {
    /// The libraries that can be loaded, each once, in the order in which they were found.
    pub libraries: Vec<Arc<PluginFile>>,
    /// The files that cannot be loaded and the folders that cannot be read, with the reason.
    pub failed: Vec<(PathBuf, LoadError)>,
    /// Files that are ignored because an earlier folder has a file of the same name: both paths.
    pub shadowed: Vec<(PathBuf, PathBuf)>,
    /// The paths under which the libraries were found. A link has its own name.
    found: Vec<(PathBuf, Arc<PluginFile>)>,
}

/// A library that was read and described. Its code runs in the host once it is loaded.
#[derive(Debug)]
pub struct PluginFile {
    /// What it says about itself.
    pub about: Description,
    /// What it is verified by.
    pub verification: Verification,
    /// The position of its folder in the search order; 0 for a folder of the config and for a library named by path.
    pub rank: usize,
    /// Its bytes, until it is known whether they are needed.
    image: Mutex<Option<Image>>,
    /// Whether it was said that it is not verified: it is loaded once for each of its types that a config names.
    has_warned: AtomicBool,
}

impl PluginFile {
    fn new(about: Description, verification: Verification, rank: usize, image: Image) -> Self {
        let (image, has_warned) = (Mutex::new(Some(image)), AtomicBool::new(false));
        Self { about, verification, rank, image, has_warned }
    }

    /// Reads and describes a file, wherever it is.
    pub fn open(path: &Path, trust: &Trust) -> Result<Self, LoadError> {
        let (image, verification) = trusted(path, None, trust)?;
        let info =
            probe::library_infos(&[&image]).into_iter().next().unwrap_or(Err(Refusal::Fickle));
        let about = info.and_then(|info| Description::new(&image, info));
        let about = about.map_err(|reason| LoadError::of_image(path, &image, reason))?;
        Ok(Self::new(about, verification, 0, image))
    }

    /// Maps the bytes that were read, for the life of the process.
    pub fn load(&self) -> Result<Arc<Library>, LoadError> {
        let image = self.image.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(image) = image.as_ref() else { return self.read_again() };
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            self.verification.warn(&image.path);
        }
        let library = map(image)?;
        if library.about.info != self.about.info {
            return Err(LoadError::of_library(&self.about.path, Refusal::Fickle));
        }
        Ok(library)
    }
}

impl PluginFile {
    /// Maps the file after its bytes were freed: only if they are still those that were checked.
    fn read_again(&self) -> Result<Arc<Library>, LoadError> {
        let image = loader::image(&self.about.path, None)?;
        if image.sha256 != self.about.sha256 {
            return Err(LoadError::of_image(&self.about.path, &image, Refusal::Fickle));
        }
        map(&image)
    }
}

/// Maps a library: a crash meanwhile is reported as one of loading it.
pub(super) fn map(image: &Image) -> Result<Arc<Library>, LoadError> {
    let _loading = Loading::begin(image.file_name());
    boundary::within(|| loader::map(image))
}

/// Maps a file without a probe, wherever it is.
pub fn open(path: &Path) -> Result<Arc<Library>, LoadError> {
    map(&loader::image(path, None)?)
}

/// Maps a file without a probe, if `trust` accepts it.
pub fn open_trusted(path: &Path, trust: &Trust) -> Result<Arc<Library>, LoadError> {
    let (image, verification) = trusted(path, None, trust)?;
    verification.warn(&image.path);
    map(&image)
}

/// Why `trust` refuses a file; nothing if it accepts it, or if the file cannot be loaded for another reason.
pub fn untrusted(path: &Path, trust: &Trust) -> Option<LoadError> {
    trusted(path, None, trust).err().filter(|error| matches!(error.reason, Refusal::Untrusted(_)))
}

/// A file that was found, before it is known what is in it.
struct Candidate {
    path: PathBuf,
    rank: usize,
    image: Result<(Image, Verification), LoadError>,
}

/// Finds files, folder by folder.
struct Search<'a> {
    trust: &'a Trust,
    candidates: Vec<Candidate>,
    shadowed: Vec<(PathBuf, PathBuf)>,
    /// The folders so far, without links.
    folders: Vec<PathBuf>,
}

impl PluginSet {
    /// Describes every `*.so` of the folders, in the order of the folders and of the names. A bad file does not stop the
    /// others.
    pub fn scan(dirs: &[PathBuf]) -> Self {
        Self::take(dirs, &[], &[], &Trust::off())
    }

    /// As [`Self::scan`], then the files in `named`, wherever they are, then what the folders in `search` have under
    /// names that are not there yet: the first folder wins. Those folders need not exist.
    /// Nothing of a library that `trust` refuses runs anywhere.
    pub fn take(dirs: &[PathBuf], named: &[PathBuf], search: &[PathBuf], trust: &Trust) -> Self {
        let mut found =
            Search { trust, candidates: Vec::new(), shadowed: Vec::new(), folders: Vec::new() };
        let present: Vec<_> = search.iter().filter(|dir| dir.is_dir()).cloned().collect();
        let links = |dir: &PathBuf| dir.canonicalize().ok();
        let allowed: Vec<_> = dirs.iter().chain(&present).filter_map(links).collect();
        for dir in dirs {
            for file in found.look_into(dir) {
                found.add(file, 0, Some(&allowed));
            }
        }
        for file in named {
            found.add(file.clone(), 0, None);
        }
        for (index, dir) in present.iter().enumerate() {
            for file in found.look_into(dir) {
                let same_name = |known: &&Candidate| known.path.file_name() == file.file_name();
                match found.candidates.iter().find(same_name).map(|known| known.path.clone()) {
                    None => found.add(file, index + 1, Some(&allowed)),
                    Some(first) => found.shadowed.push((file, first)),
                }
            }
        }
        Self::describe(found)
    }

    /// Asks the index, and a probe about what that does not know.
    fn describe(search: Search<'_>) -> Self {
        let read = search.candidates.iter().filter_map(|file| file.image.as_ref().ok());
        let images: Vec<&Image> = read.map(|(image, _)| image).collect();
        let mut infos = probe::library_infos(&images).into_iter();
        let mut set = Self { shadowed: search.shadowed, ..Self::default() };
        for Candidate { path, rank, image } in search.candidates {
            let described = image.and_then(|(image, verification)| {
                let info = infos.next().unwrap_or(Err(Refusal::Fickle));
                let about = info.and_then(|info| Description::new(&image, info));
                let about = about.map_err(|reason| LoadError::of_image(&path, &image, reason))?;
                Ok(PluginFile::new(about, verification, rank, image))
            });
            match described {
                Ok(file) => set.add(path, file),
                Err(error) => {
                    tracing::debug!(step = error.reason.step(), "{error}");
                    set.failed.push((path, error));
                }
            }
        }
        set
    }

    fn add(&mut self, path: PathBuf, file: PluginFile) {
        let known = self.libraries.iter().find(|known| known.about.path == file.about.path);
        let file = known.cloned().unwrap_or_else(|| {
            let file = Arc::new(file);
            self.libraries.push(Arc::clone(&file));
            file
        });
        self.found.push((path, file));
    }

    /// Takes a library out that offers what no config could name.
    pub fn refuse(&mut self, library: &Arc<PluginFile>, why: &str) {
        self.libraries.retain(|known| !Arc::ptr_eq(known, library));
        for (path, known) in std::mem::take(&mut self.found) {
            if Arc::ptr_eq(&known, library) {
                let error = LoadError::of_library(&path, Refusal::Unusable(why.to_owned()));
                self.failed.push((path, error));
            } else {
                self.found.push((path, known));
            }
        }
    }

    /// Frees the bytes of the files; what is loaded stays.
    pub fn release(&self) {
        for file in &self.libraries {
            *file.image.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// The library of a path without links.
    pub fn library(&self, path: &Path) -> Option<&Arc<PluginFile>> {
        self.libraries.iter().find(|library| library.about.path == path)
    }

    /// Every library, with each path under which it was found.
    pub fn found(&self) -> impl Iterator<Item = (&Path, &Arc<PluginFile>)> {
        self.found.iter().map(|(path, library)| (path.as_path(), library))
    }

    /// The libraries that were found in a folder, with the path of each.
    pub fn found_in<'a>(
        &'a self,
        dir: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a Arc<PluginFile>)> {
        self.found().filter(move |(path, _)| path.parent() == Some(dir))
    }

    /// Every hook of the libraries.
    pub fn hooks(&self) -> impl Iterator<Item = (&Arc<HookManifest>, &Description)> {
        let libraries = self.libraries.iter().map(|file| &file.about);
        libraries.flat_map(|about| about.hooks.iter().map(move |one| (one, about)))
    }

    /// Every metric of the libraries.
    pub fn metrics(&self) -> impl Iterator<Item = (&Arc<MetricManifest>, &Description)> {
        let libraries = self.libraries.iter().map(|file| &file.about);
        libraries.flat_map(|about| about.metrics.iter().map(move |one| (one, about)))
    }

    /// The libraries that `wanted` may mean: a path, a file's name, or that without `lib` and `.so`. One name may be
    /// in several folders.
    pub fn named(&self, wanted: &str) -> Vec<&Arc<PluginFile>> {
        let mut named: Vec<&Arc<PluginFile>> = Vec::new();
        for (path, library) in &self.found {
            let known = named.iter().any(|known| Arc::ptr_eq(known, library));
            if !known && is_meant(path, wanted) {
                named.push(library);
            }
        }
        named
    }

    /// Why a library that `wanted` may mean cannot be loaded.
    pub fn failure(&self, wanted: &str) -> Option<&LoadError> {
        self.failed.iter().find(|(path, _)| is_meant(path, wanted)).map(|(_, error)| error)
    }
}

impl Search<'_> {
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
                self.candidates.push(Candidate {
                    path: dir.to_owned(),
                    rank: 0,
                    image: Err(error),
                });
                Vec::new()
            }
        }
    }

    fn add(&mut self, path: PathBuf, rank: usize, allowed: Option<&[PathBuf]>) {
        let image = trusted(&path, allowed, self.trust);
        self.candidates.push(Candidate { path, rank, image });
    }
}

/// The steps before anything of the library runs.
fn trusted(
    path: &Path,
    folders: Option<&[PathBuf]>,
    trust: &Trust,
) -> Result<(Image, Verification), LoadError> {
    let image = loader::image(path, folders)?;
    match trust.check(&image) {
        Ok(verification) => Ok((image, verification)),
        Err(why) => {
            let reason = Refusal::Untrusted(why.to_string());
            Err(LoadError::of_image(path, &image, reason))
        }
    }
}

/// Whether `wanted` refers to the file `path`: `ema`, `libema`, `libema.so`, or a path to it.
fn is_meant(path: &Path, wanted: &str) -> bool {
    if wanted.contains('/') {
        let same = |a: &Path, b: &Path| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
        return path == Path::new(wanted) || same(path, Path::new(wanted));
    }
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let stem = name.strip_suffix(".so").unwrap_or(name);
    [name, stem].contains(&wanted) || stem.strip_prefix("lib") == Some(wanted)
}

/// The `*.so` of a folder, in the order of their names.
fn candidates(dir: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let folder = loader::folder(dir).map_err(|error| LoadError::of_library(dir, error.into()))?;
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
        let plugin_set = PluginSet::take(&[], &[], &["/no/such/folder".into()], &Trust::off());
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
