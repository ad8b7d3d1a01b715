//! Each config of `fixtures/bad_configs`, `fixtures/refused_configs` and `fixtures/bad_data` is refused with the message
//! beside it and exit code 2.

use crate::workbench::{program, run_in};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The config files right in a folder; what is deeper are the bases.
pub(crate) fn configs(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension() == Some("toml".as_ref())).collect();
    files.sort();
    files
}

/// The command line in a first line such as `# args: -s train.seed=1 -s run.name=x`.
fn arguments(case: &Path) -> Vec<String> {
    let bytes = fs::read(case).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let args =
        text.lines().next().and_then(|line| line.strip_prefix("# args: ")).unwrap_or_default();
    let sets = args.split("-s ").map(str::trim).filter(|arg| !arg.is_empty());
    sets.flat_map(|set| ["-s".to_owned(), set.to_owned()]).collect()
}

/// What is wrong with the answer to a case, if anything is.
fn verdict(case: &Path) -> Option<String> {
    let (folder, name) = (case.parent().unwrap(), case.file_name().unwrap().to_str().unwrap());
    let args = ["check".to_owned(), name.to_owned()].into_iter().chain(arguments(case));
    let mut ran = run_in(folder, args);
    // Messages contain absolute paths of data files and plugin folders, and the plugin folder beside the program.
    ran.stderr = ran.stderr.replace(&format!("{}/", folder.display()), "");
    let installed = program().parent().and_then(Path::parent).unwrap().join("plugins");
    let searched = format!(" = note: searched {} (no such folder)", installed.display());
    let told = ran.stderr.lines().filter(|line| !line.ends_with(&searched));
    ran.stderr = told.flat_map(|line| [line, "\n"]).collect();
    let expected = case.with_extension("stderr");
    if ran.code == Some(2) && std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&expected, &ran.stderr).unwrap();
    }
    let expected = fs::read_to_string(expected).unwrap_or_default();
    let wrong = ran.code != Some(2) || ran.stderr != expected;
    wrong.then(|| {
        format!(
            "{name}: exit code {:?}\n--- expected\n{expected}--- said\n{}",
            ran.code, ran.stderr
        )
    })
}

#[test]
fn every_bad_config_is_refused_with_code_2_and_says_what_is_wrong_where_and_what_to_do() {
    refuses_all("fixtures/bad_configs", 40);
}

#[test]
fn well_formed_configs_that_the_engine_cannot_serve_are_refused_with_code_2() {
    refuses_all("fixtures/refused_configs", 10);
}

#[test]
fn data_that_cannot_be_trained_on_is_refused_with_code_2_before_training() {
    refuses_all("fixtures/bad_data", 15);
}

/// A program's start costs more than its check, so two are run at a time.
fn refuses_all(folder: &str, at_least: usize) {
    program();
    let cases = configs(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
    assert!(cases.len() >= at_least, "{} cases", cases.len());
    let (left, wrong) = (Mutex::new(cases), Mutex::new(Vec::new()));
    let next = || left.lock().unwrap().pop();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = next() {
                    let verdict = verdict(&case);
                    wrong.lock().unwrap().extend(verdict);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} are answered otherwise:\n\n{}", wrong.len(), wrong.join("\n"));
}
