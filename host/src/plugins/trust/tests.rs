//! Policies of several files.

use super::*;
use std::fs;

fn image(path: &str) -> Image {
    Image { path: path.into(), sha256: "ab".repeat(32), bytes: Vec::new() }
}

/// A policy file that counts only this lock file.
fn policy(level: TrustPolicy, lock: &Path) -> SystemPolicy {
    let (lock, folders) = (Some(lock.to_owned()), None);
    SystemPolicy { policy: level, lock, trusted_keys: None, folders }
}

fn lock(file: &Path, library: &str) {
    let entry = format!(
        "version = 1\n[[library]]\nfile = \"{library}\"\ntarget = \"{TARGET}\"\nsha256 = \"{}\"\nname = \"x\"\nversion = \"1\"\nabi = \"1.0\"\n",
        "ab".repeat(32)
    );
    fs::write(file, entry).unwrap();
}

#[test]
fn of_two_policies_of_the_machine_both_hold() {
    let folder = tempfile::tempdir().unwrap();
    let [machine, installed] = ["machine.lock", "installed.lock"].map(|it| folder.path().join(it));
    lock(&machine, "libx.so");
    let check = || {
        let mut trust = Trust::off();
        trust.tighten("/etc/policy.toml".into(), policy(TrustPolicy::Require, &machine));
        trust.tighten("/opt/etc/policy.toml".into(), policy(TrustPolicy::Off, &installed));
        trust.check(&image("/p/libx.so"))
    };
    lock(&installed, "liby.so");
    let error = check().unwrap_err().to_string();
    assert!(
        error.contains("installed.lock") && error.contains("/etc/policy.toml requires"),
        "{error}"
    );
    lock(&installed, "libx.so");
    assert!(check().unwrap().locked);
    lock(&machine, "liby.so");
    assert!(check().unwrap_err().to_string().contains("machine.lock"));
}

#[test]
fn where_only_keys_count_no_lock_file_stands_for_a_library() {
    let mut trust = Trust::off();
    let keys_alone = SystemPolicy {
        policy: TrustPolicy::Require,
        lock: None,
        trusted_keys: Some(Vec::new()),
        folders: None,
    };
    trust.tighten("/etc/policy.toml".into(), keys_alone);
    let error = trust.check(&image("/p/libx.so")).unwrap_err().to_string();
    assert!(
        error.starts_with("is not signed by a trusted key, and /etc/policy.toml requires"),
        "{error}"
    );
}

#[test]
fn a_warning_does_not_say_that_anyone_requires_anything() {
    let mut trust = Trust::off();
    trust.tighten("/etc/policy.toml".into(), policy(TrustPolicy::Warn, Path::new("/p/no.lock")));
    let none = Verifier::new(None, &[]);
    trust.verifiers = vec![none];
    let warning = trust.check(&image("/p/libx.so")).unwrap().warning.unwrap();
    assert_eq!(warning, "is not signed by a trusted key: check it, then run `hookrack sign`");
}
