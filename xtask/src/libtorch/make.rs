//! Assembles a CPU libtorch in the cache folder from the pinned wheels.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    LibtorchError,
    cache::Cache,
    fetch::fetch,
    folder, loadable,
    pins::{WHEELS, Wheel},
    python, space, stub,
};
use crate::{
    files::{self, During as _},
    report,
};

const SCRIPT: &str = include_str!("extract_wheel.py");

/// The finished folder. It gets its name only when it is complete.
pub(crate) fn make(cache: &Cache) -> Result<PathBuf, LibtorchError> {
    let folder = cache.libtorch();
    let _guard = cache.lock()?;
    // Another setup may have finished while this one waited.
    if folder::check(&folder).is_ok() {
        return Ok(folder);
    }
    python::require_with_pip()?;
    let downloads = cache.downloads();
    fs::create_dir_all(&downloads).during("create the folder", &downloads)?;
    space::require(cache.root(), &downloads, &WHEELS)?;
    let mut wheels = Vec::new();
    for wheel in &WHEELS {
        wheels.push(fetch(&downloads, wheel)?);
    }
    let beside = Cache::unfinished(&folder);
    files::fresh_folder(&beside)?;
    for (wheel, path) in WHEELS.iter().zip(&wheels) {
        extract(wheel, path, &beside)?;
    }
    finish(&beside)?;
    files::remove(&folder)?;
    fs::rename(&beside, &folder).during("rename", &beside)?;
    for path in &wheels {
        files::remove(path)?;
    }
    // Removed if empty; other files in it are not touched.
    drop(fs::remove_dir(&downloads));
    Ok(folder)
}

fn extract(wheel: &Wheel, path: &Path, folder: &Path) -> Result<(), LibtorchError> {
    report::step(&format!("unpacking {}", wheel.file));
    let mut args = vec![path.display().to_string(), folder.display().to_string()];
    args.extend(wheel.keep.iter().map(|(from, to)| format!("{from}={to}")));
    python::output(SCRIPT, &args, folder)
        .map_err(|source| LibtorchError::Extract { file: wheel.file, source })?;
    Ok(())
}

fn finish(folder: &Path) -> Result<(), LibtorchError> {
    let lib = folder.join("lib");
    stub::make(&lib)?;
    let version = folder.join("build-version");
    fs::write(&version, format!("{}\n", folder::VERSION)).during("write", &version)?;
    let missing = loadable::unresolved(&lib.join("libtorch_cpu.so"));
    if !missing.is_empty() {
        return Err(LibtorchError::NotLoadable { missing: missing.join(", ") });
    }
    Ok(folder::check(folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKER: &str = "
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    for name in sys.argv[2:]:
        wheel.writestr(name, name)
";

    fn packed(
        names: &[&str],
        keep: &'static [(&'static str, &'static str)],
    ) -> (tempfile::TempDir, Wheel) {
        let folder = tempfile::tempdir().unwrap();
        let mut args = vec![folder.path().join("a.whl").display().to_string()];
        args.extend(names.iter().map(|&name| name.to_owned()));
        python::output(PACKER, &args, folder.path()).unwrap();
        let wheel = Wheel {
            project: "a",
            version: "1",
            file: "a.whl",
            bytes: 0,
            sha256: "",
            keep,
            target: &[],
        };
        (folder, wheel)
    }

    #[test]
    fn only_what_is_kept_is_unpacked_and_folders_keep_their_shape() {
        let names = ["t/include/a.h", "t/include/b/c.h", "t/lib/x.so", "t/lib/y.so"];
        let (folder, wheel) =
            packed(&names, &[("t/include/", "include/"), ("t/lib/x.so", "lib/x.so")]);
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        extract(&wheel, &folder.path().join("a.whl"), &out).unwrap();
        assert_eq!(fs::read_to_string(out.join("include/b/c.h")).unwrap(), "t/include/b/c.h");
        assert!(out.join("lib/x.so").is_file());
        assert!(!out.join("lib/y.so").exists());
    }

    #[test]
    fn what_a_wheel_does_not_have_is_named() {
        let (folder, wheel) = packed(&["t/a"], &[("t/b", "b")]);
        let error = extract(&wheel, &folder.path().join("a.whl"), folder.path()).unwrap_err();
        let LibtorchError::Extract { source, .. } = error else { panic!("{error}") };
        assert!(source.to_string().ends_with("it has no t/b"), "{source}");
    }

    #[test]
    fn a_name_that_leaves_the_folder_is_refused() {
        let (folder, wheel) = packed(&["t/../../evil"], &[("t/", "t/")]);
        let error = extract(&wheel, &folder.path().join("a.whl"), folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "could not unpack a.whl");
    }
}
