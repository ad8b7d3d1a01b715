//! The configs of `tests/fixtures`: beside each good one is the config it resolves to. `UPDATE_EXPECT=1` rewrites it. The
//! bad ones are given to the program, with their messages.

use std::path::{Path, PathBuf};

use super::catalog::catalog;
use crate::config::{ConfigErrors, ConfigFile, ResolvedConfig};

pub(super) fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(folder)
}

/// The config files directly in a folder; subfolders contain bases.
pub(super) fn cases(folder: &Path) -> Vec<PathBuf> {
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> =
        files.filter(|path| path.extension() == Some("toml".as_ref())).collect();
    cases.sort();
    cases
}

/// The command line in a first line such as `# args: -s train.seed=1 -s run.name=x`.
pub(super) fn overrides(case: &Path) -> Vec<String> {
    let bytes = std::fs::read(case).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let args =
        text.lines().next().and_then(|line| line.strip_prefix("# args: ")).unwrap_or_default();
    args.split("-s ").map(str::trim).filter(|arg| !arg.is_empty()).map(str::to_owned).collect()
}

/// The libraries that a host would find for a config.
pub(super) fn libraries_of(file: &ConfigFile) -> Result<Vec<PathBuf>, ConfigErrors> {
    let mut libraries = file.libraries()?;
    for dir in file.plugin_folders()?.dirs {
        let found = dir.read_dir().unwrap().map(|entry| entry.unwrap().path());
        libraries.extend(found.filter(|path| path.extension() == Some("so".as_ref())));
    }
    libraries.sort();
    libraries.dedup();
    Ok(libraries)
}

fn resolve(folder: &Path, case: &Path) -> Result<ResolvedConfig, ConfigErrors> {
    let name = Path::new(case.file_name().unwrap());
    let file = ConfigFile::load_in(folder, name, &overrides(case))?;
    file.resolve(&catalog(&libraries_of(&file)?))
}

pub(super) fn expect(path: &Path, got: &str) -> Result<(), String> {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, got).unwrap();
        return Ok(());
    }
    let want = std::fs::read_to_string(path).unwrap_or_default();
    if want == got {
        return Ok(());
    }
    Err(format!("{}\n--- expected\n{want}\n--- got\n{got}", path.display()))
}

#[test]
fn every_good_config_resolves_to_what_is_beside_it() {
    let folder = fixtures("good_configs").canonicalize().unwrap();
    let outcome = |case: &PathBuf| {
        let resolved = resolve(&folder, case).map_err(|errors| errors.to_string())?;
        let got = resolved.to_toml().replace(folder.to_str().unwrap(), "$DIR");
        expect(&case.with_extension("resolved"), &got)
    };
    let wrong: Vec<_> = cases(&folder).iter().filter_map(|case| outcome(case).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_file_over_the_limit_is_refused_without_being_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge.toml");
    std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = ConfigFile::load_in(dir.path(), Path::new("huge.toml"), &[]).unwrap_err();
    let want =
        "cannot read config `huge.toml`: the file has 1099511627776 bytes, the limit is 4194304";
    assert!(error.to_string().contains(want), "{error}");
}
