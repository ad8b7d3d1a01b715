//! What the host does before a library runs in it, and that nothing done to the file afterwards matters.

use crate::workbench::{Bench, Ran, TINY, cache, hook, program};
use crate::workshop::{compile_c, fixtures};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

/// `-DFILE_NAME="…"` for a fixture that writes to a file.
fn file_name(path: &Path) -> String {
    format!("-DFILE_NAME=\"{}\"", path.display())
}

/// Compiles a fixture that writes to `file` into a bench.
fn compile_with_file(fixture: &str, bench: &Bench, library: &str, file: &str) {
    let define = file_name(&bench.path(file));
    compile_c(fixture, &bench.path(library), &["-shared", &define]);
}

/// The program in a bench, with a cache of its own.
fn hookrack(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    command.env("XDG_CACHE_HOME", bench.path("cache"));
    command
}

/// A folder `here` in a bench, listed by the program: what it says about the file `libx.so` in it.
fn said_about(bench: &Bench) -> String {
    let ran = Ran::of(&mut hookrack(bench, &["plugins", "--dir", "here"]));
    let line = ran.expect(0).stdout.lines().find(|line| line.starts_with("libx.so"));
    line.unwrap_or_default().to_owned()
}

fn with_good_library() -> Bench {
    let bench = Bench::bare();
    fs::create_dir(bench.path("here")).unwrap();
    fs::create_dir(bench.path("apart")).unwrap();
    compile_c("good", &bench.path("here/libx.so"), &["-shared"]);
    bench
}

fn chmod(bench: &Bench, name: &str, mode: u32) {
    fs::set_permissions(bench.path(name), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_done_to_the_file_of_a_loaded_library_does_nothing_to_the_run() {
    let mut weights = Vec::new();
    for how in [None, Some("overwrite"), Some("truncate"), Some("remove")] {
        let bench = Bench::new(&hook("Vandal", ""));
        compile_with_file("vandal", &bench, "plugins/libvandal.so", "plugins/libvandal.so");
        let before = fs::read(bench.path("plugins/libvandal.so")).unwrap();
        let mut train = hookrack(&bench, &["train", "config.toml", "--run-dir", "run"]);
        Ran::of(train.env("XDG_CACHE_HOME", cache()).envs(how.map(|how| ("HOW", how)))).expect(0);
        let after = fs::read(bench.path("plugins/libvandal.so")).unwrap_or_default();
        assert_eq!(before == after, how.is_none(), "{how:?}");
        weights
            .push(fs::read(bench.path("run/checkpoints/iter_0000004/model.safetensors")).unwrap());
    }
    assert!(weights.iter().all(|run| *run == weights[0]));
}

#[test]
fn only_a_library_that_a_config_uses_is_mapped_and_that_from_memory() {
    let bench = Bench::new(&hook("ShowsMaps", ""));
    compile_with_file("shows_maps", &bench, "plugins/libshows_maps.so", "maps");
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0);
    let maps = bench.read("maps");
    assert!(maps.contains("/memfd:libshows_maps.so"), "{maps}");
    assert_eq!(maps.matches("/memfd:lib").count(), maps.matches("/memfd:libshows_maps.so").count());
    let plugins = bench.path("plugins").canonicalize().unwrap();
    assert!(!maps.contains(&plugins.display().to_string()), "{maps}");
    let record = run.record();
    let [library] = record["plugins"].as_array().unwrap().as_slice() else { panic!("{record}") };
    assert_eq!(library["path"], plugins.join("libshows_maps.so").to_str().unwrap());
    assert_eq!(library["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn a_library_that_no_config_uses_runs_in_a_probe_alone_which_cannot_write() {
    let bench = Bench::new("");
    compile_with_file("writes_in_constructor", &bench, "plugins/libstray.so", "trace");
    for args in [&["check", "config.toml"][..], &["plan", "config.toml"], &["plugins"]] {
        Ran::of(&mut hookrack(&bench, args)).expect(0);
        assert!(!bench.path("trace").exists(), "{args:?}");
    }
    bench.add("[[custom_hooks]]\ntype = \"Writes\"\n");
    Ran::of(&mut hookrack(&bench, &["check", "config.toml"])).expect(0);
    assert_eq!(bench.read("trace"), "loaded\n");
}

#[test]
fn a_library_that_ends_or_hangs_the_probe_is_quarantined_with_its_reason() {
    let bench = Bench::bare();
    fs::create_dir(bench.path("here")).unwrap();
    let mut cases = Vec::new();
    for case in fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(expected) = fs::read_to_string(case.join("probe.txt")) else { continue };
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        compile_c(&name, &bench.path(&format!("here/lib{name}.so")), &["-shared"]);
        cases.push((name, expected));
    }
    assert!(cases.len() >= 4, "{cases:?}");
    compile_c("good", &bench.path("here/libgood.so"), &["-shared"]);
    let list = |more: &[&str]| {
        let args = [&["plugins", "--dir", "here"], more].concat();
        Ran::of(hookrack(&bench, &args).env("HOOKRACK_PROBE_SECONDS", "3"))
    };
    // A second time from the index, a third time from a new probe.
    for more in [&[][..], &[], &["--retry"]] {
        let listed = list(more);
        listed.expect(0).prints(&["libgood.so  quiet 0.1.0"]);
        for (name, expected) in &cases {
            let said = format!("/lib{name}.so: {}", expected.trim_end());
            assert!(listed.stdout.contains(&said), "{said} is not in:\n{}", listed.stdout);
        }
    }
    let json = list(&["--json"]).expect(0).json();
    let state = |file: &str| {
        let files = json.as_array().unwrap();
        files.iter().find(|one| one["file"] == file).unwrap()["state"].clone()
    };
    assert_eq!(state("libgood.so"), "ready");
    assert_eq!(state("libcrash_in_constructor.so"), "quarantined");
    // A changed file is another file.
    compile_c("good", &bench.path("here/libcrash_in_constructor.so"), &["-shared", "-DX"]);
    list(&[]).expect(0).prints(&["libcrash_in_constructor.so  quiet 0.1.0"]);
}

#[test]
fn a_run_is_not_stopped_by_a_stray_library_that_crashes() {
    let bench = Bench::new("");
    compile_c("crash_in_constructor", &bench.path("plugins/libstray.so"), &["-shared"]);
    bench.train("run", &[]).0.expect(0).says(&["libstray.so: in quarantine: "]);
    bench.add(&hook("Quiet", "library = 'libstray.so'"));
    bench.check(&[]).expect(3).says(&["libstray.so: in quarantine: ", "--retry"]);
}

#[test]
fn a_library_that_others_can_change_is_refused_with_the_remedy() {
    let bench = with_good_library();
    assert!(said_about(&bench).starts_with("libx.so  quiet 0.1.0"));
    let here = bench.path("here").canonicalize().unwrap();
    for (name, mode, usual, expected) in [
        (
            "here/libx.so",
            0o646,
            0o644,
            "libx.so: is writable by every user (mode 0646): run `chmod o-w ",
        ),
        ("here", 0o757, 0o755, "here is writable by every user (mode 0757): run `chmod o-w "),
        ("here", 0o1777, 0o755, "libx.so  quiet 0.1.0"),
    ] {
        chmod(&bench, name, mode);
        let said = said_about(&bench);
        assert!(said.contains(expected), "{expected} is not in {said}, in {}", here.display());
        chmod(&bench, name, usual);
    }
    // The folder above it, by which all of it could be exchanged.
    chmod(&bench, ".", 0o777);
    assert!(said_about(&bench).contains("is writable by every user (mode 0777)"));
}

/// Only root can change a file's owner; other users test the rest.
#[test]
fn a_library_of_another_user_or_group_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let bench = with_good_library();
    let file = bench.path("here/libx.so");
    std::os::unix::fs::chown(&file, Some(12345), None).unwrap();
    let said = said_about(&bench);
    assert!(said.contains("belongs to user 12345, who is neither you nor root: "), "{said}");
    std::os::unix::fs::chown(&file, Some(0), Some(12345)).unwrap();
    chmod(&bench, "here/libx.so", 0o664);
    let said = said_about(&bench);
    assert!(said.contains("is writable by group 12345 (mode 0664): run `chmod g-w "), "{said}");
    chmod(&bench, "here/libx.so", 0o644);
    std::os::unix::fs::chown(bench.path("here"), Some(12345), None).unwrap();
    let said = said_about(&bench);
    assert!(said.contains("here belongs to user 12345, who is neither you nor root: "), "{said}");
}

#[test]
fn a_link_out_of_the_plugin_folders_is_refused_and_one_within_them_is_not() {
    let bench = with_good_library();
    fs::rename(bench.path("here/libx.so"), bench.path("apart/liby.so")).unwrap();
    symlink("../apart/liby.so", bench.path("here/libx.so")).unwrap();
    let said = said_about(&bench);
    assert!(
        said.contains("is a link to ") && said.contains("outside the plugin folders: "),
        "{said}"
    );
    fs::rename(bench.path("apart/liby.so"), bench.path("here/liby.so")).unwrap();
    fs::remove_file(bench.path("here/libx.so")).unwrap();
    symlink("liby.so", bench.path("here/libx.so")).unwrap();
    assert!(said_about(&bench).starts_with("libx.so  quiet 0.1.0"));
}

#[test]
fn a_library_is_found_and_trained_with_without_a_home_that_can_be_written_to() {
    let bench = Bench::new(&hook("EMAIterHook", ""));
    let mut train = hookrack(&bench, &["train", "config.toml", "--run-dir", "run"]);
    Ran::of(train.env("XDG_CACHE_HOME", "/dev/null").env("HOME", "/dev/null")).expect(0);
    let mut check = hookrack(&bench, &["check", "config.toml"]);
    Ran::of(check.env_remove("XDG_CACHE_HOME").env_remove("HOME")).expect(0);
}

/// What a library could do in a probe. Older kernels and some containers lack what forbids the rest; no file has new
/// content anywhere.
#[test]
fn a_library_that_is_probed_can_read_and_start_threads_and_nothing_else() {
    let bench = Bench::new(&hook("Pries", ""));
    bench.write("victim", "untouched");
    compile_with_file("pries", &bench, "plugins/libpries.so", "victim");
    let listed = Ran::of(&mut hookrack(&bench, &["plugins"]));
    let could = listed.expect(0).stdout.split("could:").nth(1).unwrap().lines().next().unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    if status.contains("\nSeccomp:") && ["x86_64", "aarch64"].contains(&std::env::consts::ARCH) {
        assert_eq!(could, " read thread");
        assert_eq!(bench.read("victim"), "untouched");
        assert!(!bench.path("victim.new").exists());
    }
    // In the host it declares something else than in the probe: the config was checked against another manifest.
    let checked = Ran::of(&mut hookrack(&bench, &["check", "config.toml"]));
    checked.expect(3).says(&["libpries.so: its manifests differ from those that the probe saw"]);
}

#[test]
fn a_file_of_any_name_is_listed_and_loaded_and_none_controls_the_terminal() {
    let bench = Bench::bare();
    fs::create_dir(bench.path("here")).unwrap();
    compile_c("good", &bench.path("good.so"), &["-shared"]);
    let names: [&[u8]; 3] = [b"a\x1b[2J.so", b"b\nlibc.so  quiet.so", b"c\xff.so"];
    for name in names {
        let file = bench.path("here").join(OsStr::from_bytes(name));
        fs::copy(bench.path("good.so"), file).unwrap();
        let bad = bench.path("here").join(OsStr::from_bytes(&[b"bad", name].concat()));
        fs::write(bad, "text").unwrap();
    }
    let listed = bench.run(["plugins", "--dir", "here"]);
    assert!(!listed.expect(0).stdout.contains('\u{1b}'), "{}", listed.stdout);
    listed.prints(&["a\\u{1b}[2J.so  quiet 0.1.0", "b\\nlibc.so  quiet.so  quiet 0.1.0"]);
    listed.prints(&["c\u{fffd}.so  quiet 0.1.0", "bada\\u{1b}[2J.so: not an ELF shared library"]);
    let json = bench.run(["plugins", "--dir", "here", "--json"]);
    let files = json.expect(0).json();
    let ready = files.as_array().unwrap().iter().filter(|file| file["state"] == "ready");
    assert_eq!(ready.count(), names.len(), "{files}");
    let quiet = "[[custom_hooks]]\ntype = \"Quiet\"\n";
    let dirs = TINY.replace("dirs = [\"plugins\"]", "dirs = [\"alone\"]");
    bench.write("config.toml", &(dirs + quiet));
    fs::create_dir(bench.path("alone")).unwrap();
    let alone = bench.path("alone").join(OsStr::from_bytes(names[2]));
    fs::copy(bench.path("good.so"), alone).unwrap();
    bench.train("run", &[]).0.expect(0);
}

#[test]
fn of_a_large_file_that_is_no_library_only_the_beginning_is_read() {
    let bench = with_good_library();
    let file = fs::File::create(bench.path("here/libx.so")).unwrap();
    // More than there is memory for; on the disk it takes no space.
    file.set_len((4 << 30) - 1).unwrap();
    let limited = format!("ulimit -v {}; exec \"$0\" plugins --dir here", 3 << 20);
    let mut command = Command::new("sh");
    command.args(["-c", &limited]).arg(program()).current_dir(bench.path("."));
    command.env_remove("LD_LIBRARY_PATH").env("XDG_CACHE_HOME", bench.path("cache"));
    Ran::of(&mut command).expect(0).prints(&["libx.so: not an ELF shared library"]);
}
