//! Readers of what a user writes: configs and overrides.

use super::{Folder, Prepared, Reader, bytes, repository, texts};
use hookrack::config::{Catalog, ConfigFile};
use hookrack::inventory::Inventory;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const READERS: &[Reader] =
    &[Reader { name: "config", make: config }, Reader { name: "override", make: overrides }];

/// The configs of the repository, with an empty folder for the plugins that they look for.
fn configs(folder: &Folder) -> PathBuf {
    fs::create_dir(folder.path("plugins")).unwrap();
    folder.copy(&repository().join("configs"), "configs")
}

/// What a config can name on a machine without plugins.
fn catalog() -> Catalog {
    Inventory::take(&[]).map_err(|error| error.to_string()).unwrap().catalog
}

/// Reads and checks a config, as far as `hookrack config` does without plugins.
fn check(
    current: &Path,
    file: &Path,
    overrides: &[String],
    catalog: &Catalog,
) -> Result<(), String> {
    let resolved = ConfigFile::load_in(current, file, overrides).and_then(|file| {
        let checked = file.plugin_folders().and_then(|_| file.libraries());
        checked.and_then(|_| file.resolve(catalog))
    });
    resolved.map(|config| drop((config.to_toml(), config.explain()))).map_err(|errors| {
        drop(errors.to_string());
        errors.render(false)
    })
}

fn config(folder: Folder) -> Prepared {
    let (catalog, configs) = (catalog(), configs(&folder));
    let files = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|it| it.extension() == Some("toml".as_ref())).collect::<Vec<PathBuf>>()
    };
    let seeds = bytes([files(&configs), files(&configs.join("seeds"))].concat());
    let read = move |input: &[u8]| {
        // Beside the others, which it may name as its bases.
        let file = folder.write("configs/input.toml", input);
        check(&configs, &file, &[], &catalog)
    };
    Prepared { seeds, read: Box::new(read) }
}

/// A config that needs no plugin.
const SMALL: &str = r#"
[model]
type = "MLP"
hidden = [8]
[data.train]
type = "Synthetic"
samples = 8
shape = [4]
classes = 3
[loss]
type = "CrossEntropy"
[optimizer]
type = "AdamW"
[train]
max_epochs = 2
batch_size = 4
[[metrics]]
type = "Accuracy"
"#;

fn overrides(folder: Folder) -> Prepared {
    let (catalog, file) = (catalog(), folder.write("small.toml", SMALL.as_bytes()));
    let read = move |input: &[u8]| {
        let text = String::from_utf8_lossy(input).into_owned();
        check(&folder.path(""), &file, &[text], &catalog)
    };
    let seeds = texts([
        "train.max_epochs=3",
        "a.0.b={c=[1,'x']}",
        "optimizer.lr=0.001",
        "x=\"y\"",
        "metrics=[{type='Accuracy'}]",
        "metrics.0.type=Accuracy",
    ]);
    Prepared { seeds, read: Box::new(read) }
}
