//! Names, refusals and the way to an SDK are as promised. `tests/suite/outside.rs` builds and runs what is written.

use super::{Kind, Lang, Names, NewPlugin, NewPluginError, write};
use hookrack_sdk::{self as sdk, Parts};
use std::path::{Path, PathBuf};

const LANGS: [Lang; 3] = [Lang::Rust, Lang::C, Lang::Cpp];
const KINDS: [Kind; 3] = [Kind::Hook, Kind::Metric, Kind::Role];

fn plugin(dir: &Path) -> NewPlugin<'_> {
    NewPlugin { name: "loss-logger", lang: Lang::Rust, kind: Kind::Hook, dir, sdk: None }
}

fn refusal(name: &str) -> String {
    Names::new(name, Kind::Hook).unwrap_err().to_string()
}

/// Every file below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let paths = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

#[test]
fn nothing_is_left_to_fill_in_and_nothing_names_the_machine_that_built_the_program() {
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_str().unwrap();
    for (lang, kind) in LANGS.into_iter().flat_map(|lang| KINDS.map(|kind| (lang, kind))) {
        let dir = tempfile::tempdir().unwrap();
        let written = write(&NewPlugin { lang, kind, ..plugin(dir.path()) }).unwrap();
        assert_eq!(written.len(), 4, "{lang:?} {kind:?}: {written:?}");
        for path in below(dir.path()) {
            let text = std::fs::read_to_string(&path).unwrap();
            let places = ["name", "library", "type", "kind", "config", "api", "sdk"];
            let left = places.iter().find(|place| text.contains(&format!("{{{{{place}}}}}")));
            assert_eq!(left, None, "{} has a place left", path.display());
            assert!(!text.contains(built_in), "{} names {built_in}", path.display());
        }
    }
}

#[test]
fn plugins_may_share_one_sdk() {
    let dir = tempfile::tempdir().unwrap();
    let (shared, made) = (dir.path().join("sdk"), dir.path().join("plugins/one"));
    let refused = write(&NewPlugin { sdk: Some(&shared), ..plugin(&made) }).unwrap_err();
    assert!(matches!(refused, NewPluginError::NoSdk { .. }), "{refused}");
    assert!(!made.exists(), "something was written");

    sdk::write(&shared, Parts::Headers).unwrap();
    write(&NewPlugin { sdk: Some(&shared), ..plugin(&made) }).unwrap();
    let manifest = std::fs::read_to_string(made.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("{ path = \"../../sdk/plugin-api\" }"), "{manifest}");
    assert!(!made.join("sdk").exists());
}

#[test]
fn names_follow_from_the_one_that_was_typed() {
    let names = Names::new("loss-logger_2", Kind::Role).unwrap();
    assert_eq!((names.krate.as_str(), names.library.as_str()), ("loss-logger_2", "loss_logger_2"));
    assert_eq!(names.type_name, "LossLogger2Hook");
    assert_eq!(Names::new("my-hook", Kind::Hook).unwrap().type_name, "MyHook");
    assert_eq!(Names::new("mean-loss", Kind::Metric).unwrap().type_name, "MeanLoss");
}

#[test]
fn an_invalid_library_name_is_refused_with_the_reason() {
    assert_eq!(refusal(""), "`` is not a valid plugin name: it is empty");
    assert_eq!(refusal("match"), "`match` is not a valid plugin name: the name is reserved");
    assert_eq!(
        refusal("hookrack-plugin-api"),
        "`hookrack-plugin-api` is not a valid plugin name: the name is reserved"
    );
    assert_eq!(refusal("2fast"), "`2fast` is not a valid plugin name: it must begin with a letter");
    for name in ["My", "a b", "../up", "größe", "a\"b"] {
        assert!(refusal(name).contains("use lowercase letters, digits, `-` and `_`"), "{name}");
    }
    assert!(refusal(&"a".repeat(65)).contains("longer than 64"));
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    std::fs::write(&kept, "mine").unwrap();
    let error = write(&plugin(dir.path())).unwrap_err();
    assert!(matches!(error, NewPluginError::NotEmpty { .. }), "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let error = write(&plugin(&kept)).unwrap_err();
    assert!(matches!(error, NewPluginError::Write { .. }), "{error}");
}
