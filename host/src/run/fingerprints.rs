//! Fingerprints of the files that a run reads, by which ranks on several machines find out that they have different ones.

use super::data_files::gather;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The maximum number of bytes that are read to distinguish a file from another of the same size.
const READ: u64 = 4 << 20;
/// The number of blocks that are read of a longer file, spread evenly from its first to its last byte.
const BLOCKS: u64 = 64;
/// The maximum number of files of a folder whose contents are read, spread evenly over their sorted names.
const OPENED: usize = 64;

/// The fingerprints of the data files of a resolved config, and of the file of its model: size and a digest of the contents, sampled if a
/// file is large. Of a folder all files count with name and size, however deep they are, and some with their contents. Weights are not
/// included: ranks take over those of rank 0.
pub fn of_config(config: &str) -> BTreeMap<String, Vec<String>> {
    let config = config.parse::<Table>().unwrap_or_default();
    let (mut data, mut models) = (Vec::new(), Vec::new());
    config.get("data").into_iter().for_each(|data_section| gather(data_section, &mut data));
    models.extend(config.get("model").and_then(|model| model.get("path")).and_then(Value::as_str));
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for (kind, path) in
        data.iter().map(|it| ("data", it)).chain(models.iter().map(|it| ("model", it)))
    {
        let path = Path::new(path);
        if path.is_absolute() {
            for (what, found) in at(path) {
                all.entry(format!("{kind} {what}")).or_default().push(found);
            }
        }
    }
    all
}

/// The fingerprints of a file, or of a folder and some of its files.
fn at(path: &Path) -> Vec<(String, String)> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if path.is_file() {
        return vec![(format!("file {}", name(path)), fingerprint(path))];
    }
    if !path.is_dir() {
        return Vec::new();
    }
    let mut files = Vec::new();
    walk(path, &mut HashSet::new(), &mut files);
    files.sort();
    let below =
        |file: &Path| file.strip_prefix(path).unwrap_or(file).to_string_lossy().into_owned();
    let opened =
        spread(&files).map(|(file, _)| (format!("file {}", below(file)), fingerprint(file)));
    // The differing file is more useful than the folder, so it is compared first.
    opened.chain([(format!("folder {}", name(path)), listing(path, &files))]).collect()
}

/// The files below a folder with their sizes. Folders are entered once, also by links; hidden files are not read as data.
fn walk(folder: &Path, entered: &mut HashSet<PathBuf>, files: &mut Vec<(PathBuf, u64)>) {
    if !folder.canonicalize().is_ok_and(|real| entered.insert(real)) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        match path.metadata() {
            Ok(meta) if meta.is_dir() => walk(&path, entered, files),
            Ok(meta) if meta.is_file() => files.push((path, meta.len())),
            _ => {}
        }
    }
}

/// At most [`OPENED`] of the files, with the first and the last.
fn spread(files: &[(PathBuf, u64)]) -> impl Iterator<Item = &(PathBuf, u64)> {
    let count = files.len().min(OPENED);
    (0..count).map(move |index| &files[index * (files.len() - 1) / (count - 1).max(1)])
}

/// A digest of the names and sizes of all files of a folder.
fn listing(folder: &Path, files: &[(PathBuf, u64)]) -> String {
    let mut digest = Sha256::new();
    for (path, bytes) in files {
        let name = path.strip_prefix(folder).unwrap_or(path).as_os_str().as_encoded_bytes();
        digest.update(name);
        digest.update([0]);
        digest.update(bytes.to_le_bytes());
    }
    let bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    format!("{} files, {bytes} bytes, digest of names and sizes {}", files.len(), shortened(digest))
}

fn fingerprint(path: &Path) -> String {
    read(path).unwrap_or_else(|error| format!("unreadable: {error}"))
}

fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut digest = Sha256::new();
    let block = READ / BLOCKS;
    let starts = if bytes <= READ { 0..1 } else { 0..BLOCKS };
    for index in starts.clone() {
        file.seek(SeekFrom::Start(bytes.saturating_sub(block) * index / (BLOCKS - 1)))?;
        let length = if starts.end == 1 { READ } else { block };
        let mut block = Vec::new();
        file.by_ref().take(length).read_to_end(&mut block)?;
        digest.update(&block);
    }
    Ok(format!("{bytes} bytes, digest {}", shortened(digest)))
}

fn shortened(digest: Sha256) -> String {
    let digest = digest.finalize();
    let start = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{start:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    fn data(kind: &str, path: &Path) -> String {
        format!("[data.train]\ntype = \"{kind}\"\npath = {path:?}\n")
    }

    #[test]
    fn files_of_the_same_length_are_distinguished_by_their_contents() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.npy");
        let (config, in_folder) = (data("Npy", &path), data("IdxImages", folder.path()));
        for length in [5, usize::try_from(READ).unwrap() + 12_345] {
            let mut bytes = vec![7; length];
            fs::write(&path, &bytes).unwrap();
            let before = of_config(&config);
            assert_eq!(before["data file data.npy"].len(), 1, "{before:?}");
            assert_eq!(before, of_config(&config));
            assert_eq!(before["data file data.npy"], of_config(&in_folder)["data file data.npy"]);
            *bytes.last_mut().unwrap() = 8;
            fs::write(&path, &bytes).unwrap();
            assert_ne!(before, of_config(&config), "{length}");
        }
    }

    #[test]
    fn every_picture_in_the_folders_of_classes_counts_with_name_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let picture = |class: usize, number: usize| {
            folder.path().join(format!("class_{class}/picture_{number:03}.png"))
        };
        for class in 0..2 {
            fs::create_dir(folder.path().join(format!("class_{class}"))).unwrap();
            (0..100).for_each(|number| fs::write(picture(class, number), "one").unwrap());
        }
        // A loop of links is walked once, and hidden files are not data.
        std::os::unix::fs::symlink(folder.path(), folder.path().join("class_1/up")).unwrap();
        let config = data("ImageFolder", folder.path());
        let first = of_config(&config);
        fs::write(folder.path().join("class_1/.hidden"), "two").unwrap();
        assert_eq!(first, of_config(&config));
        let differing = || -> Vec<String> {
            let now = of_config(&config);
            let both: BTreeSet<_> = first.keys().chain(now.keys()).cloned().collect();
            both.into_iter().filter(|key| first.get(key) != now.get(key)).collect()
        };
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        let listed = format!("data folder {name}");
        assert!(first[&listed][0].starts_with("200 files, 600 bytes, "), "{first:?}");
        for (number, text, wanted) in [
            // The first is opened, the second of two hundred is not: it is found by its size alone.
            (0, "two", vec!["data file class_0/picture_000.png".to_owned()]),
            (1, "four", vec![listed.clone()]),
        ] {
            fs::write(picture(0, number), text).unwrap();
            assert_eq!(differing(), wanted);
            fs::write(picture(0, number), "one").unwrap();
        }
        fs::rename(picture(0, 1), picture(0, 101)).unwrap();
        assert!(differing().contains(&listed));
    }

    #[test]
    fn the_file_of_a_model_counts_and_its_weights_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let [model, weights] = ["model.pt", "weights.safetensors"].map(|it| folder.path().join(it));
        let config = format!(
            "[model]\ntype = \"TorchScript\"\npath = {model:?}\n[weights]\npath = {weights:?}\n"
        );
        fs::write(&model, "one").unwrap();
        fs::write(&weights, "one").unwrap();
        let found = of_config(&config);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["model file model.pt"]);
        fs::write(&model, "two").unwrap();
        assert_ne!(found, of_config(&config));
    }
}
