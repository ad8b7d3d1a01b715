//! Lock files, signatures and policies: which libraries may run, and the errors about those that may not.

use crate::patience::output;
use crate::workbench::{Bench, Ran, TINY, cache, program};
use crate::workshop::compile_c;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

const QUIET: &str = "[[custom_hooks]]\ntype = \"Quiet\"\n";

/// A bench with one library, `plugins/libx.so`, a config that uses it, and `plugins` as keys of `[plugins]`.
fn bench(plugins: &str) -> Bench {
    let bench = Bench::bare();
    fs::remove_dir_all(bench.path("plugins")).unwrap();
    fs::create_dir(bench.path("plugins")).unwrap();
    compile_c("good", &bench.path("plugins/libx.so"), &["-shared"]);
    configure(&bench, plugins);
    bench
}

fn configure(bench: &Bench, plugins: &str) {
    let dirs = "dirs = [\"plugins\"]";
    let config = TINY.replace(dirs, &format!("{dirs}\n{plugins}"));
    bench.write("config.toml", &format!("{config}{QUIET}"));
}

fn change_library(bench: &Bench) {
    fs::remove_file(bench.path("plugins/libx.so")).unwrap();
    compile_c("good", &bench.path("plugins/libx.so"), &["-shared", "-O1"]);
}

#[test]
fn under_require_only_what_is_locked_runs() {
    let bench = bench("policy = \"require\"");
    let lock = bench.path("plugins.lock");
    bench.check(&[]).expect(2).says(&["unknown hook `Quiet`"]).says(&[
        "libx.so: is neither in ",
        "plugins.lock nor signed by a trusted key, and the config requires one of the two: ",
    ]);
    bench.run(["lock", "config.toml"]).expect(0).prints(&["libx.so  quiet 0.1.0, ", "added"]);
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0);
    assert_eq!(run.record()["plugins"][0]["locked"], true);
    // The resolved config means the same file, wherever it lies.
    let resolved = bench.run(["config", "config.toml", "--toml"]);
    let named = format!("lock = \"{}\"", lock.canonicalize().unwrap().display());
    resolved.expect(0).prints(&["policy = \"require\"", &named]);

    change_library(&bench);
    bench.check(&[]).expect(2).says(&[
        "libx.so: has sha256 ",
        "for libx.so on ",
        "it was rebuilt or changed; check it, then run `hookrack lock` again",
    ]);
    bench.run(["lock", "config.toml"]).expect(0).prints(&["changed"]);
    bench.check(&[]).expect(0);
    bench.run(["lock", "config.toml"]).expect(0).prints(&["unchanged"]);
}

#[test]
fn a_lock_keeps_the_entries_of_other_machines_and_libraries() {
    let bench = bench("");
    let other = "version = 1\n[[library]]\nfile = \"libx.so\"\ntarget = \"sparc-sun-solaris\"\nsha256 = \"00\"\n\
                 name = \"x\"\nversion = \"1\"\nabi = \"1.0\"\n";
    bench.write("plugins.lock", other);
    bench.run(["lock", "config.toml"]).expect(0);
    let lock = bench.read("plugins.lock");
    assert!(
        lock.contains("sparc-sun-solaris") && lock.matches("[[library]]").count() == 2,
        "{lock}"
    );
    bench.write("plugins.lock", "version = 9\n");
    bench.run(["lock", "config.toml"]).expect(2).says(&["its version is 9, this host knows 1"]);
}

#[test]
fn a_lock_file_alone_warns_of_a_change() {
    let bench = bench("");
    bench.run(["lock", "config.toml"]).expect(0);
    let ran = bench.check(&[]);
    assert!(!ran.expect(0).stderr.contains("sha256"), "{}", ran.stderr);
    change_library(&bench);
    let ran = bench.check(&[]);
    ran.expect(0).says(&["libx.so: has sha256 ", "loading it anyway"]);
    assert_eq!(ran.stderr.matches("loading it anyway").count(), 1, "{}", ran.stderr);
    let listed = bench.run(["plugins", "config.toml"]);
    listed.expect(0).prints(&["libx.so  quiet 0.1.0", "\n  not verified: has sha256 "]);
    let json = bench.run(["plugins", "config.toml", "--json"]);
    json.expect(0).prints(&["\"warning\": \"has sha256 "]);
    configure(&bench, "policy = \"off\"");
    assert!(!bench.check(&[]).expect(0).stderr.contains("sha256"));
}

#[test]
fn a_lock_file_signature_or_key_that_is_no_file_is_refused_at_once() {
    let bench = bench("policy = \"require\"\ntrusted_keys = [\"team.pub\"]");
    bench.run(["keygen", "team", "--no-password"]).expect(0);
    for (file, said) in [
        ("plugins/libx.so.minisig", "libx.so.minisig is not a signature of minisign: "),
        ("plugins.lock", "plugins.lock cannot be read: "),
        ("team.pub", "team.pub cannot be used: "),
    ] {
        let (path, aside) = (bench.path(file), bench.path("aside"));
        let was_there = fs::rename(&path, &aside).is_ok();
        let made = output(Command::new("mkfifo").arg(&path)).unwrap();
        assert!(made.status.success());
        let ran = bench.check(&[]);
        ran.expect(2).says(&[said, "is a pipe, a socket or a device"]);
        fs::remove_file(&path).unwrap();
        if was_there {
            fs::rename(&aside, &path).unwrap();
        }
    }
}

#[test]
fn a_folder_has_a_policy_of_its_own() {
    let bench =
        bench("policy = \"require\"\n[[plugins.folders]]\ndir = \"plugins\"\npolicy = \"off\"");
    bench.check(&[]).expect(0);
    configure(&bench, "[[plugins.folders]]\ndir = \"plugins\"\npolicy = \"require\"");
    bench.check(&[]).expect(2).says(&["libx.so: is neither in "]);
    configure(&bench, "[[plugins.folders]]\ndir = \"nowhere\"\npolicy = \"require\"");
    bench.check(&[]).expect(2).says(&["nowhere"]);
}

#[test]
fn without_a_terminal_keys_need_no_password_and_a_public_key_signs_nothing() {
    let bench = Bench::bare();
    let mut keygen = Command::new("setsid");
    keygen.arg("--wait").arg(program()).args(["keygen", "team"]).current_dir(bench.path("."));
    Ran::of(&mut keygen).expect(2).says(&["there is no terminal", "--no-password"]);
    bench.run(["keygen", "team", "--no-password"]).expect(0);
    let ran = bench.run(["sign", "--key", "team.pub", "plugins/libema.so"]);
    ran.expect(2).says(&["team.pub is a public key: sign with the secret key"]);
}

#[test]
fn a_signature_by_a_trusted_key_stands_for_a_library() {
    let bench = bench("policy = \"require\"\ntrusted_keys = [\"old.pub\", \"team.pub\"]");
    for name in ["old", "team", "stranger"] {
        bench.run(["keygen", name, "--no-password"]).expect(0).prints(&["key ", ".pub"]);
    }
    bench.run(["keygen", "team", "--no-password"]).expect(6).says(&["team.key: it exists already"]);
    let sign = |key: &str| bench.run(["sign", "--key", key, "plugins/libx.so"]);
    let signed = sign("team.key").expect(0).stdout.trim_end().to_owned();
    let key = signed.rsplit(' ').next().unwrap();
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0);
    assert_eq!(run.record()["plugins"][0]["signer"], key);
    let by = format!(", signed by {key}");
    bench.run(["plugins", "config.toml"]).expect(0).prints(&["libx.so  quiet 0.1.0", &by]);
    let json = bench.run(["plugins", "config.toml", "--json"]);
    let files = json.expect(0).json();
    let own = files.as_array().unwrap().iter().find(|file| file["file"] == "libx.so").unwrap();
    assert_eq!((&own["state"], &own["signer"]), (&"ready".into(), &key.into()));

    sign("stranger.key").expect(0);
    bench.check(&[]).expect(2).says(&["libx.so.minisig was made by key ", "not trusted", key]);
    sign("team.key").expect(0);
    change_library(&bench);
    let said = format!("libx.so.minisig by key {key} does not match the file");
    bench.check(&[]).expect(2).says(&[&said]);
    bench.write("plugins/libx.so.minisig", "nothing\n");
    bench.check(&[]).expect(2).says(&["libx.so.minisig is not a signature"]);
    bench.write("team.pub", "nothing\n");
    bench.check(&[]).expect(2).says(&["the trusted key ", "team.pub cannot be used"]);
}

/// An installation with a policy file, in a bench.
fn installed(bench: &Bench, policy: &str, args: &[&str]) -> Ran {
    fs::create_dir_all(bench.path("opt/bin")).unwrap();
    fs::create_dir_all(bench.path("opt/etc")).unwrap();
    if !bench.path("opt/bin/hookrack").exists() {
        fs::copy(program(), bench.path("opt/bin/hookrack")).unwrap();
    }
    bench.write("opt/etc/policy.toml", policy);
    let mut command = Command::new(bench.path("opt/bin/hookrack"));
    command.args(args).current_dir(bench.path(".")).env("XDG_CACHE_HOME", cache());
    Ran::of(command.env_remove("LD_LIBRARY_PATH").env_remove("HOOKRACK_PLUGINS"))
}

#[test]
fn a_config_cannot_loosen_the_policy_of_the_machine() {
    let bench = bench("policy = \"off\"");
    let check = |policy: &str| installed(&bench, policy, &["check", "config.toml"]);
    check("").expect(0);
    check("policy = \"require\"").expect(2).says(&["opt/etc/policy.toml requires one of the two"]);
    check("policy = \"warn\"").expect(0).says(&["loading it anyway"]);
    // Its own lock file counts, that of the config does not.
    let own = format!("policy = \"require\"\nlock = \"{}\"\n", bench.path("own.lock").display());
    installed(&bench, "", &["lock", "config.toml"]).expect(0);
    check("policy = \"require\"").expect(0);
    check(&own).expect(2).says(&["own.lock"]);
    fs::copy(bench.path("plugins.lock"), bench.path("own.lock")).unwrap();
    check(&own).expect(0);
    // Others could change it.
    fs::set_permissions(bench.path("own.lock"), fs::Permissions::from_mode(0o666)).unwrap();
    check(&own).expect(2).says(&[
        "policy.toml relies on ",
        "own.lock: is writable by every user",
        "no plugin is loaded until this is fixed",
    ]);
    // Its keys count, and no lock file does.
    bench.run(["keygen", "team", "--no-password"]).expect(0);
    let keys =
        format!("policy = \"require\"\ntrusted_keys = [\"{}\"]", bench.path("team.pub").display());
    check(&keys).expect(2).says(&["libx.so: is not signed by a trusted key, and "]);
    bench.run(["sign", "--key", "team.key", "plugins/libx.so"]).expect(0);
    check(&keys).expect(0);
    let elsewhere = format!("folders = [\"{}\"]", bench.path("opt").display());
    check(&elsewhere)
        .expect(2)
        .says(&["libx.so: is outside the folders that ", "policy.toml allows"]);
    let locked = installed(&bench, &elsewhere, &["lock", "config.toml"]);
    assert_ne!(locked.code, Some(0), "what is elsewhere is not even probed: {}", locked.stdout);
}

#[test]
fn a_library_that_the_machine_refuses_is_not_tested_either() {
    let bench = bench("");
    let test = |policy: &str| {
        installed(&bench, policy, &["test-plugin", "plugins/libx.so", "--case", "manifest.loads"])
    };
    test("").expect(0).prints(&[" 0 failed"]);
    test("policy = \"require\"")
        .expect(3)
        .says(&["libx.so: is neither in ", "opt/etc/policy.toml requires one of the two"]);
    bench.run(["lock", "config.toml"]).expect(0);
    let run =
        ["test-plugin", "plugins/libx.so", "--case", "manifest.loads", "--case", "run.observers"];
    let tested = installed(&bench, "policy = \"require\"", &run);
    tested.expect(0).prints(&[" 0 failed"]);
}

#[test]
fn a_plugin_folder_of_the_current_directory_is_not_enough_under_require() {
    let bench = bench("policy = \"require\"");
    bench.run(["lock", "config.toml"]).expect(0);
    bench.check(&[]).expect(0);
    fs::create_dir(bench.path("configs")).unwrap();
    fs::copy(bench.path("config.toml"), bench.path("configs/config.toml")).unwrap();
    let elsewhere = ["check", "configs/config.toml"];
    bench.run(elsewhere).expect(2).says(&[
        "`plugins.dirs`: ",
        "plugins is in the current directory, not beside the config, and the policy is \"require\"",
        "= help: name the folder in `plugins.dirs`",
    ]);
    let config =
        bench.read("config.toml").replace("dirs = [\"plugins\"]", "lock = \"../plugins.lock\"");
    bench.write("configs/config.toml", &config);
    bench.run(elsewhere).expect(2).says(&["is in the current directory"]);
    bench
        .write("configs/config.toml", &config.replace("lock =", "dirs = [\"../plugins\"]\nlock ="));
    bench.run(elsewhere).expect(0);
}

#[test]
fn a_policy_of_the_machine_that_cannot_be_followed_allows_nothing() {
    let bench = bench("");
    for (policy, why) in [
        ("polcy = \"require\"", "is invalid: "),
        ("lock = \"here.lock\"", "has a relative path, here.lock"),
        ("policy = ", "is invalid: "),
    ] {
        let ran = installed(&bench, policy, &["check", "config.toml"]);
        ran.expect(2).says(&[why, "no plugin is loaded until this is fixed"]);
    }
}
