//! `cargo xtask dist`: a folder and an archive with everything that is needed to run on another machine.

mod notice;
mod runpath;
mod trial;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    commands::{Built, Profile, build},
    error::TaskError,
    files::{self, During as _},
    libtorch::pins::LIBRARIES,
    process, report,
    workspace::Workspace,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum DistError {
    #[error(
        "{} has no lib/{library}, so it is not the CPU libtorch that a release packs; unset LIBTORCH and run \
         `cargo xtask setup --again`",
        libtorch.display()
    )]
    NotPackable { libtorch: PathBuf, library: &'static str },
    #[error(
        "{} does not look for its libraries in `{}` (its runpath is `{found}`); host/build.rs must link with \
         `-Wl,-rpath,{}`",
        program.display(), runpath::WANTED, runpath::WANTED
    )]
    Runpath { program: PathBuf, found: String },
    #[error("the runpath `{found}` occurs {times} times in {}; to be replaced it must occur once", program.display())]
    Ambiguous { program: PathBuf, found: String, times: usize },
    #[error("the packed program does not start from the packed folder")]
    Smoke { source: process::ProcessError },
    #[error("a new hook in {language} was built but did not run; the log:\n{log}")]
    Trial { language: &'static str, log: String },
    #[error("the packed program reports `{said}`, expected version {version}")]
    Version { said: String, version: String },
}

pub(crate) fn dist(workspace: &Workspace, out: Option<PathBuf>) -> Result<(), TaskError> {
    let built = build(workspace, Profile::Release)?;
    let package = built.metadata.package("hookrack");
    let version = package.map(|p| p.version.clone()).unwrap_or_default();
    let out = match out {
        Some(folder) => std::path::absolute(&folder).during("resolve", &folder)?,
        None => workspace.root().join("dist"),
    };
    let name = format!("hookrack-{version}-linux-x86_64");
    let folder = out.join(&name);
    report::step(&format!("packing {}", folder.display()));
    files::fresh_folder(&folder)?;
    libraries(&built, &folder)?;
    program(&built, &folder)?;
    the_rest(workspace, &built, &folder)?;
    notice::write(workspace, &built, &folder)?;
    smoke(&folder, &version)?;
    let archive = archive(&out, &name)?;
    report::note(&format!("packed {}", archive.display()));
    trial::trial(&archive)
}

/// Tries an existing archive.
pub(crate) fn try_archive(archive: &Path) -> Result<(), TaskError> {
    trial::trial(&trial::absolute(archive)?)
}

fn libraries(built: &Built, folder: &Path) -> Result<(), TaskError> {
    let lib = folder.join("lib");
    fs::create_dir_all(&lib).during("create the folder", &lib)?;
    for library in LIBRARIES {
        let from = built.libtorch.join("lib").join(library);
        if !from.is_file() {
            return Err(DistError::NotPackable { libtorch: built.libtorch.clone(), library }.into());
        }
        fs::copy(&from, lib.join(library)).during("copy", &from)?;
    }
    Ok(())
}

fn program(built: &Built, folder: &Path) -> Result<(), TaskError> {
    let (from, bin) = (built.folder.join("hookrack"), folder.join("bin"));
    fs::create_dir_all(&bin).during("create the folder", &bin)?;
    let program = bin.join("hookrack");
    fs::copy(&from, &program).during("copy", &from)?;
    runpath::keep_only_own(&program)
}

/// Folders of the repository in a release, and their names there.
const FOLDERS: [(&str, &str); 5] = [
    ("configs", "configs"),
    ("plugin-api/include", "include"),
    ("data", "data"),
    ("docs", "docs"),
    ("examples/plugins", "examples/plugins"),
];

/// Bundled plugins and the folders and documents of the repository; missing ones are skipped.
fn the_rest(workspace: &Workspace, built: &Built, folder: &Path) -> Result<(), TaskError> {
    let root = workspace.root();
    let plugins = folder.join("plugins");
    fs::create_dir_all(&plugins).during("create the folder", &plugins)?;
    for library in &built.plugins {
        let target = plugins.join(library.file_name().unwrap_or_default());
        fs::copy(library, target).during("copy", library)?;
    }
    documents(root, folder)
}

fn documents(root: &Path, folder: &Path) -> Result<(), TaskError> {
    for (from, to) in FOLDERS.map(|(from, to)| (root.join(from), folder.join(to))) {
        if from.is_dir() {
            files::copy_tree(&from, &to)?;
        }
    }
    for from in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"].map(|name| root.join(name)) {
        if from.is_file() {
            let target = folder.join(from.file_name().unwrap_or_default());
            fs::copy(&from, target).during("copy", &from)?;
        }
    }
    Ok(())
}

/// Runs the packed program with an empty environment.
fn smoke(folder: &Path, version: &str) -> Result<(), TaskError> {
    let mut command = Command::new(folder.join("bin/hookrack"));
    command.arg("--version").env_clear().current_dir("/");
    let said = process::output(&mut command).map_err(|source| DistError::Smoke { source })?;
    let said = said.trim().to_owned();
    if !said.contains(version) {
        return Err(DistError::Version { said, version: version.to_owned() }.into());
    }
    report::note(&format!("the packed program starts: {said}"));
    Ok(())
}

fn archive(out: &Path, name: &str) -> Result<PathBuf, TaskError> {
    let archive = out.join(format!("{name}.tar.gz"));
    let beside = files::sibling(&archive, "new");
    let mut command = process::command("tar");
    command.args([
        "--create",
        "--gzip",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ]);
    command.arg("--file").arg(&beside).arg("--directory").arg(out).arg(name);
    process::run(&mut command)?;
    fs::rename(&beside, &archive).during("rename", &beside)?;
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use super::{Path, documents, fs};

    #[test]
    fn a_release_has_the_guide_and_the_example_plugins() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = tempfile::tempdir().unwrap();
        documents(&root, folder.path()).unwrap();
        for file in ["docs/plugin-guide.md", "docs/abi.md", "examples/plugins/sam/src/lib.rs"] {
            let packed = fs::read(folder.path().join(file)).unwrap();
            assert_eq!(packed, fs::read(root.join(file)).unwrap(), "{file}");
        }
    }
}
