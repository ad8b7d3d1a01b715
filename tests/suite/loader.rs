//! What the loader does with good libraries, and with everything that is none.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own machinery fails the test")]

use crate::patience::output;
use crate::workshop::{compile_c, fixtures, rust};
use hookrack::plugins::{HookType, LoadError, MetricType, PluginSet, Source, open};
use hookrack_plugin_api::abi::{ABI_MAJOR, ABI_MINOR};
use hookrack_plugin_api::{Level, OnError, ParamType, Point, Presence};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Compiles `fixture` into a folder of its own.
fn compiled(fixture: &str) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join(format!("lib{fixture}.so"));
    compile_c(fixture, &file, &["-shared"]);
    (dir, file)
}

/// What the loader says about a file, after the path.
fn refusal(file: &Path) -> String {
    let error = open(file).map(|_| ()).unwrap_err().to_string();
    let reason = error.strip_prefix(&format!("cannot load {}: ", file.display()));
    assert!(!error.contains('\n'), "{error}");
    reason.unwrap_or_else(|| panic!("{error}")).to_owned()
}

/// The bytes of a good library, changed and written to a file.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> (TempDir, PathBuf) {
    let (dir, file) = compiled("good");
    let mut bytes = fs::read(&file).unwrap();
    change(&mut bytes);
    fs::remove_file(&file).unwrap();
    let file = dir.path().join("libchanged.so");
    fs::write(&file, bytes).unwrap();
    (dir, file)
}

#[test]
fn each_misbehavior_gets_its_own_message() {
    let dir = TempDir::new().unwrap();
    let mut cases: Vec<_> = fs::read_dir(fixtures()).unwrap().map(|e| e.unwrap().path()).collect();
    cases.retain(|case| case.join("message.txt").exists());
    assert!(cases.len() >= 20, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let file = dir.path().join(format!("lib{name}.so"));
        compile_c(name, &file, &["-shared"]);
        let expected = fs::read_to_string(case.join("message.txt")).unwrap();
        let expected = expected.replace("{minor}", &ABI_MINOR.to_string());
        let said =
            open(&file).map_or_else(|error| error.reason.to_string(), |_| "loaded".to_owned());
        if said != expected.trim_end() {
            wrong.push(format!("{name}\n  expected: {}\n  said:     {said}", expected.trim_end()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn points_go_by_orcas_names_too() {
    let (_dir, file) = compiled("orca_points");
    let library = open(&file).unwrap();
    assert_eq!(
        library.hooks[0].manifest.points,
        [
            Point::BeforeRun,
            Point::BeforeEpoch,
            Point::BeforeIter,
            Point::AfterIter,
            Point::AfterEpoch,
            Point::AfterRun
        ]
    );
}

#[test]
fn a_c_library_shows_what_it_offers() {
    let (_dir, file) = compiled("good");
    let library = open(&file).unwrap();
    let about = &library.about;
    assert_eq!(about.path, file.canonicalize().unwrap());
    let info = &about.info;
    assert_eq!((&*info.name, &*info.version, &*info.built_with), ("quiet", "0.1.0", "cc"));
    assert_eq!(
        (info.abi, about.sha256.len(), library.metrics.len()),
        ((ABI_MAJOR, ABI_MINOR), 64, 0)
    );
    let [hook] = library.hooks.as_slice() else { panic!("{library:?}") };
    assert_eq!((hook.name(), hook.manifest.level), ("Quiet", Level::LOW));
    assert_eq!(hook.manifest.points, [Point::BeforeRun]);
    assert_eq!(hook.source, Source::Library(about.path.as_path().into()));
}

#[test]
fn a_rust_library_shows_what_it_offers() {
    let library = open(&rust().library("evolving_present")).unwrap();
    let hook = &library.hooks[0].manifest;
    assert_eq!((&*hook.name, &*hook.doc), ("EvolvingHook", "Counts what it sees."));
    assert_eq!(hook.points, [Point::BeforeTrain, Point::AfterTrainIter]);
    assert_eq!((hook.level, hook.on_error), (Level::LOW, Some(OnError::Warn)));
    let [param] = hook.params.as_deref().unwrap() else { panic!("{hook:?}") };
    assert_eq!((&*param.name, &param.ty, param.min), ("enough", &ParamType::Int, Some(0.0)));
    assert_eq!(param.presence, Presence::Default(0_i64.into()));
    assert_eq!(library.metrics[0].manifest.unit, "%");
    let built_with = &library.about.info.built_with;
    assert!(built_with.starts_with("hookrack-plugin-api "), "{built_with}");
}

#[test]
fn a_table_of_the_host_goes_through_the_same_checks() {
    let library = open(&rust().library("evolving_present")).unwrap();
    let hook = HookType::built_in(library.hooks[0].table).unwrap();
    assert_eq!((hook.name(), &hook.source), ("EvolvingHook", &Source::BuiltIn));
    let metric = MetricType::built_in(library.metrics[0].table).unwrap();
    assert_eq!((metric.name(), metric.source.to_string()), ("Constant", "built-in".to_owned()));
}

#[test]
fn a_newer_minor_version_of_a_c_plugin_loads() {
    let (_dir, file) = compiled("newer_minor");
    let library = open(&file).unwrap();
    let manifest = &library.hooks[0].manifest;
    assert_eq!((library.about.info.abi, manifest.points.len()), ((ABI_MAJOR, ABI_MINOR + 1), 1));
    assert_eq!(
        (manifest.unknown_points.join(" "), manifest.on_error),
        ("after_merge".to_owned(), None)
    );
}

#[test]
fn a_panic_in_the_root_module_is_an_error() {
    let said = refusal(&rust().library("panic_in_root"));
    assert_eq!(
        said,
        "its root module panicked while it was created: a bug in the plugin, rebuild it with `export_plugin!`"
    );
}

#[test]
fn a_rust_library_with_panic_abort_is_refused_with_the_remedy() {
    let said = refusal(&rust().library("panic_abort"));
    assert!(
        said.starts_with("compiled with panic=abort: ")
            && said.contains("remove `panic = \"abort\"`"),
        "{said}"
    );
}

#[test]
fn a_path_that_leads_nowhere_says_how() {
    let dir = TempDir::new().unwrap();
    let link = dir.path().join("liblink.so");
    symlink("/no/such/library.so", &link).unwrap();
    let said = refusal(&link);
    assert_eq!(said, "a link to /no/such/library.so, which does not exist: fix the link");
    let said = refusal(&dir.path().join("libnone.so"));
    assert!(said.starts_with("no such file: "), "{said}");
    let said = refusal(dir.path());
    assert!(said.starts_with("is a folder, not a library: "), "{said}");
    let pipe = dir.path().join("pipe.so");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let said = refusal(&pipe);
    assert_eq!(said, "is a pipe, a socket or a device, not a library file");
}

/// A thread may change its own user without the others, and a user who is not root respects permissions.
#[test]
fn a_file_that_may_not_be_read_is_reported_from_a_broken_one() {
    let (dir, file) = compiled("good");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    let said = std::thread::spawn(move || {
        if rustix::process::geteuid().is_root() {
            let nobody = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
        refusal(&file)
    });
    let expected = "is not readable by this user: check its permissions (chmod a+r)";
    assert_eq!(said.join().unwrap(), expected);
}

#[test]
fn a_file_that_is_not_a_library_is_reported_as_what_it_is() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("libx.so");
    let mut noise = b"\x7fELF".to_vec();
    noise.extend((0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]));
    for (bytes, expected) in [
        (Vec::new(), "the file is empty"),
        (b"[hooks]\nema = true\n".to_vec(), "not an ELF shared library, but text"),
        (b"\x7fELF\x02\x01".to_vec(), "truncated: ends at byte 6, its headers need 64"),
        (noise, "damaged: "),
    ] {
        fs::write(&file, bytes).unwrap();
        let said = refusal(&file);
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn a_program_or_an_object_is_not_a_library() {
    let dir = TempDir::new().unwrap();
    for (flags, expected) in [
        (&["-pie"][..], "an executable, not a shared library: "),
        (&["-no-pie"], "an executable, not a shared library: "),
        (&["-c"], "an object file, not a shared library: link it with -shared"),
    ] {
        let file = dir.path().join(format!("program{}.so", flags[0]));
        compile_c("executable", &file, flags);
        let said = refusal(&file);
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn a_library_for_another_machine_names_both() {
    let host = std::env::consts::ARCH;
    for (class, machine, name) in
        [(2, 183_u16, "aarch64"), (2, 62, "x86_64"), (1, 3, "i386"), (1, 40, "arm")]
    {
        let (_dir, file) = changed(|bytes| {
            bytes[4] = class;
            bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        });
        if name == host {
            assert!(open(&file).is_ok());
        } else {
            let expected = format!("built for {name}, this host is {host}: rebuild it for {host}");
            assert_eq!(refusal(&file), expected);
        }
    }
}

#[test]
fn a_library_without_section_headers_loads() {
    let (_dir, file) = changed(|bytes| {
        bytes[40..48].fill(0);
        bytes[60..64].fill(0);
    });
    assert_eq!(open(&file).unwrap().hooks.len(), 1);
}

#[test]
fn a_truncated_library_never_takes_the_host_down() {
    let dir = TempDir::new().unwrap();
    let (_good, c) = compiled("good");
    for (library, step) in [(c, 512), (rust().library("evolving_present"), 64 * 1024)] {
        let bytes = fs::read(library).unwrap();
        let mut refused = 0;
        for end in (0..bytes.len()).step_by(step) {
            let file = dir.path().join(format!("{step}_{end}.so"));
            fs::write(&file, &bytes[..end]).unwrap();
            if let Err(error) = open(&file) {
                let text = error.to_string();
                assert!(
                    end == 0 || text.contains(&format!("truncated: ends at byte {end}, its ")),
                    "{text}"
                );
                refused += 1;
            }
        }
        assert!(refused > 8, "{refused} of {} bytes in steps of {step}", bytes.len());
    }
}

#[test]
fn a_missing_dependency_is_named() {
    let dir = TempDir::new().unwrap();
    let source = dir.path().join("gone.c");
    let gone = dir.path().join("libgone.so");
    fs::write(&source, "int gone(void) { return 1; }\n").unwrap();
    let mut cc = std::process::Command::new("cc");
    let built = output(cc.args(["-shared", "-fPIC", "-o"]).arg(&gone).arg(source));
    assert!(built.unwrap().status.success());
    let file = dir.path().join("libneedy.so");
    compile_c(
        "missing_dependency",
        &file,
        &["-shared", "-L", dir.path().to_str().unwrap(), "-lgone"],
    );
    fs::remove_file(gone).unwrap();
    let expected = "needs libgone.so, which is not on this machine: install it, or put its folder into LD_LIBRARY_PATH";
    assert_eq!(refusal(&file), expected);
}

#[test]
fn one_path_is_one_library_and_a_copy_is_another() {
    let (dir, file) = compiled("good");
    let link = dir.path().join("liblink.so");
    let copy = dir.path().join("libcopy.so");
    symlink(&file, &link).unwrap();
    fs::copy(&file, &copy).unwrap();
    let first = open(&file).unwrap();
    assert!(Arc::ptr_eq(&first, &open(&link).unwrap()));
    let second = open(&copy).unwrap();
    assert_eq!(first.about.sha256, second.about.sha256);
    assert!(!std::ptr::eq(first.hooks[0].table, second.hooks[0].table));
}

#[test]
fn a_relative_path_is_meant_from_the_working_directory() {
    let dir = TempDir::new_in(".").unwrap();
    let file = dir.path().join("libhere.so");
    compile_c("good", &file, &["-shared"]);
    let relative = Path::new(dir.path().file_name().unwrap()).join("libhere.so");
    assert!(open(&relative).unwrap().about.path.is_absolute());
}

#[test]
fn one_bad_file_does_not_stop_the_others_and_stays_listed() {
    let dir = TempDir::new().unwrap();
    for (fixture, name) in [("good", "libb.so"), ("wrong_major", "liba.so"), ("good", "libc.so")] {
        compile_c(fixture, &dir.path().join(name), &["-shared"]);
    }
    fs::write(dir.path().join("notes.txt"), "not a library").unwrap();
    fs::write(dir.path().join("libd.so"), "text").unwrap();
    symlink("libc.so", dir.path().join("libe.so")).unwrap();
    let twice = [dir.path().to_owned(), dir.path().to_owned(), dir.path().join("none")];
    let plugin_set = PluginSet::scan(&twice);

    let names: Vec<_> =
        plugin_set.libraries.iter().map(|library| library.about.file_name()).collect();
    assert_eq!(names, ["libb.so", "libc.so"]);
    let hooks: Vec<_> = plugin_set.hooks().map(|(hook, _)| hook.name.as_str()).collect();
    assert_eq!((hooks.as_slice(), plugin_set.metrics().count()), (&["Quiet", "Quiet"][..], 0));
    for wanted in ["b", "libb", "libb.so", dir.path().join("libb.so").to_str().unwrap()] {
        assert_eq!(plugin_set.named(wanted).len(), 1, "{wanted}");
    }
    assert!(Arc::ptr_eq(plugin_set.named("e")[0], plugin_set.named("c")[0]));
    let failed =
        |name: &str| plugin_set.failure(name).map(LoadError::to_string).unwrap_or_default();
    let versions = format!("built against plugin-api 2.{ABI_MINOR}, this host has 1.{ABI_MINOR}");
    assert!(failed("a").contains(&versions), "{}", failed("a"));
    assert!(
        failed("libd.so").contains("not an ELF shared library, but text"),
        "{}",
        failed("libd.so")
    );
    let last = plugin_set.failed.last().unwrap();
    assert!(
        last.0.ends_with("none") && last.1.to_string().contains("no such folder"),
        "{}",
        last.1
    );
}
