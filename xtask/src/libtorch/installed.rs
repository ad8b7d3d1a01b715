//! A torch that Python could import, turned into a CPU libtorch by links: no download, no copy.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::{LibtorchError, cache::Cache, folder, loadable, python, stub, verify::hex};
use crate::{
    files::{self, During as _},
    report,
};

const SCRIPT: &str = include_str!("find_torch.py");

/// The folder of links to the torch that `python3` would import, if it has the right version.
pub(crate) fn find(root: &Path, cache: &Cache) -> Result<Option<PathBuf>, LibtorchError> {
    let Some(torch) = importable(root) else { return Ok(None) };
    let version = folder::version_of(&torch).unwrap_or_else(|| "of an unknown version".to_owned());
    let library = torch.join("lib/libtorch_cpu.so");
    if !folder::is_right(&version) || !library.is_file() {
        report::note(&format!("the Python torch in {} cannot be used: {version}", torch.display()));
        return Ok(None);
    }
    let linked = cache.linked(&key(&torch));
    let _guard = cache.lock()?;
    if folder::check(&linked).is_err() {
        make(&torch, &linked)?;
    }
    let missing = loadable::unresolved(&linked.join("lib/libtorch_cpu.so"));
    if missing.is_empty() {
        return Ok(Some(linked));
    }
    report::note(&format!("the Python torch in {} needs {}", torch.display(), missing.join(", ")));
    files::remove(&linked)?;
    Ok(None)
}

fn importable(root: &Path) -> Option<PathBuf> {
    if !python::is_there() {
        return None;
    }
    let said = python::output::<&str>(SCRIPT, &[], root).ok()?;
    let folder = said.trim();
    (!folder.is_empty()).then(|| folder.into())
}

/// Distinguishes the torches of several Pythons.
fn key(torch: &Path) -> String {
    hex(&Sha256::digest(torch.as_os_str().as_encoded_bytes()))[..12].to_owned()
}

fn make(torch: &Path, linked: &Path) -> Result<(), LibtorchError> {
    let beside = Cache::unfinished(linked);
    let lib = beside.join("lib");
    files::fresh_folder(&lib)?;
    link(&torch.join("include"), &beside.join("include"))?;
    for library in libraries(torch)? {
        link(&library, &lib.join(library.file_name().unwrap_or_default()))?;
    }
    stub::make(&lib)?;
    let version = beside.join("build-version");
    fs::write(&version, format!("{}\n", folder::VERSION)).during("write", &version)?;
    files::remove(linked)?;
    fs::rename(&beside, linked).during("rename", &beside)?;
    Ok(())
}

/// What the CPU part needs. A CPU wheel brings its own libgomp under a hashed name and needs no CUDA
/// library; a CUDA wheel has CUPTI and the runtime in packages beside it.
fn libraries(torch: &Path) -> Result<Vec<PathBuf>, LibtorchError> {
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == "libtorch_cpu.so" || name == "libc10.so" || name.starts_with("libgomp")
    };
    let mut found: Vec<PathBuf> =
        files::sorted_entries(&torch.join("lib"))?.into_iter().filter(wanted).collect();
    let packages = torch.parent().unwrap_or(torch).join("nvidia/cu13/lib");
    let cuda = ["libcupti.so.13", "libcudart.so.13"].map(|name| packages.join(name));
    found.extend(cuda.into_iter().filter(|path| path.is_file()));
    Ok(found)
}

fn link(target: &Path, at: &Path) -> Result<(), LibtorchError> {
    Ok(symlink(target, at).during("create the link", at)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_libraries_of_the_cpu_part_are_linked() {
        let site = tempfile::tempdir().unwrap();
        let torch = site.path().join("torch");
        let cuda = site.path().join("nvidia/cu13/lib");
        fs::create_dir_all(torch.join("lib")).unwrap();
        fs::create_dir_all(&cuda).unwrap();
        for name in
            ["libtorch.so", "libtorch_cpu.so", "libtorch_cuda.so", "libc10.so", "libgomp-a3.so.1"]
        {
            fs::write(torch.join("lib").join(name), "").unwrap();
        }
        fs::write(cuda.join("libcudart.so.13"), "").unwrap();
        let names: Vec<_> = libraries(&torch)
            .unwrap()
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["libc10.so", "libgomp-a3.so.1", "libtorch_cpu.so", "libcudart.so.13"]);
    }

    #[test]
    fn two_pythons_get_two_folders() {
        assert_ne!(key(Path::new("/a/torch")), key(Path::new("/b/torch")));
    }
}
