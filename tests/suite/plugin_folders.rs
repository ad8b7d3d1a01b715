//! Where plugin libraries are searched for, which of two is used, and the messages about unusable ones.

use crate::workbench::{Bench, Ran, TINY, hook, library, program, run_in};
use crate::workshop::compile_c;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program in `bin/` and the plugins that ship with it in `plugins/`, as a release has them.
struct Installation {
    bench: Bench,
}

impl Installation {
    fn new() -> Self {
        let bench = Bench::bare();
        fs::remove_dir_all(bench.path("plugins")).unwrap();
        for folder in ["opt/bin", "opt/plugins", "elsewhere", "mine"] {
            fs::create_dir_all(bench.path(folder)).unwrap();
        }
        // A copy: through a link the program would be where it was built.
        fs::copy(program(), bench.path("opt/bin/hookrack")).unwrap();
        bench.add_bundled("opt/plugins");
        Self { bench }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.bench.path(name).canonicalize().unwrap()
    }

    /// Writes `config.toml` into the folder `elsewhere`, which has no plugins.
    fn write(&self, more: &str) {
        let config = TINY.replace("[plugins]\ndirs = [\"plugins\"]\n", "");
        assert!(!config.contains("[plugins]"));
        self.bench.write("elsewhere/config.toml", &format!("{config}{more}"));
    }

    /// Runs the installed program in the folder `elsewhere`.
    fn run(&self, args: &[&str], folders: Option<&Path>) -> Ran {
        let mut command = Command::new(self.bench.path("opt/bin/hookrack"));
        command.args(args).current_dir(self.bench.path("elsewhere"));
        command.env_remove("LD_LIBRARY_PATH").env_remove("HOOKRACK_PLUGINS");
        command.envs(folders.map(|folders| ("HOOKRACK_PLUGINS", folders)));
        Ran::of(&mut command)
    }
}

const EMA: &str = "[[custom_hooks]]\ntype = \"EMAIterHook\"\n";

#[test]
fn the_plugins_of_the_installation_are_found_from_any_folder() {
    let installed = Installation::new();
    installed.write(EMA);
    installed.run(&["train", "config.toml", "--run-dir", "run"], None).expect(0);
    let folder = installed.path("opt/plugins");
    let listed = installed.run(&["plugins"], None);
    listed.expect(0).prints(&[&format!("{}:\n", folder.display()), "libema.so  ema 0.1.0"]);

    // The resolved config contains the folder; it resolves to the same after the folder is removed.
    let resolved = installed.run(&["config", "config.toml", "--toml"], None);
    resolved.expect(0).prints(&[&format!("search = [\"{}\"]", folder.display())]);
    installed.write("");
    let resolved = installed.run(&["config", "config.toml", "--toml"], None);
    installed.bench.write("elsewhere/resolved.toml", &resolved.stdout);
    fs::rename(installed.path("opt/plugins"), installed.bench.path("opt/gone")).unwrap();
    installed.run(&["check", "resolved.toml"], None).expect(0);
}

#[test]
fn the_default_folder_is_beside_the_config_wherever_hookrack_is_started() {
    let bench = Bench::bare();
    let config = TINY.replace("[plugins]\ndirs = [\"plugins\"]\n", "[plugins]\nsearch = []\n");
    bench.write("config.toml", &format!("{config}{EMA}"));
    fs::create_dir(bench.path("elsewhere")).unwrap();
    let args = ["check", "../config.toml"];
    run_in(&bench.path("elsewhere"), args).expect(0);
    // Without it, that of the current directory.
    fs::rename(bench.path("plugins"), bench.path("elsewhere/plugins")).unwrap();
    run_in(&bench.path("elsewhere"), args).expect(0);
    bench.check(&[]).expect(2).says(&["unknown hook `EMAIterHook`"]);
}

#[test]
fn an_unknown_hook_comes_with_every_folder_that_was_searched() {
    let installed = Installation::new();
    installed.write("[[custom_hooks]]\ntype = \"ZebraHook\"\n");
    let (mine, opt) = (installed.path("mine"), installed.path("opt/plugins"));
    let own = installed.path("elsewhere").join("plugins");
    installed.run(&["check", "config.toml"], Some(&mine)).expect(2).says(&[
        "unknown hook `ZebraHook`",
        &format!("searched {} (no such folder)", own.display()),
        &format!("searched {}\n", mine.display()),
        &format!("searched {}\n", opt.display()),
    ]);
    installed.write("[[custom_hooks]]\ntype = \"ZebraHook\"\nlibrary = \"libzebra.so\"\n");
    let ran = installed.run(&["check", "config.toml"], Some(&mine));
    ran.expect(2).says(&["`libzebra.so` does not exist", &format!("searched {}", opt.display())]);
    installed.write(&format!("[plugins]\nsearch = []\n{EMA}"));
    installed.run(&["check", "config.toml"], Some(&mine)).expect(2).says(&["EMAIterHook"]);
}

#[test]
fn of_two_files_of_one_name_that_of_the_first_folder_is_loaded() {
    let installed = Installation::new();
    let (mine, opt) = (installed.path("mine"), installed.path("opt/plugins"));
    compile_c("good", &mine.join("libema.so"), &["-shared"]);
    installed.write("[[custom_hooks]]\ntype = \"Quiet\"\nlibrary = \"libema.so\"\n");
    let resolved = installed.run(&["config", "config.toml", "--toml"], Some(&mine));
    resolved.expect(0).prints(&[&format!("library = \"{}/libema.so\"", mine.display())]);
    installed.write(EMA);
    installed.run(&["check", "config.toml"], Some(&mine)).expect(2).says(&["EMAIterHook"]);
    let first = format!("libema.so  not loaded: {}/libema.so takes precedence", mine.display());
    let listed = installed.run(&["plugins"], Some(&mine));
    listed.expect(0).prints(&["libema.so  quiet 0.1.0", &first, &format!("{}:\n", opt.display())]);
}

#[test]
fn a_type_of_the_config_s_own_folders_comes_before_that_of_a_folder_that_is_searched() {
    let installed = Installation::new();
    fs::create_dir(installed.bench.path("elsewhere/plugins")).unwrap();
    let own = installed.path("elsewhere/plugins");
    fs::copy(library("libema.so"), own.join("libmine.so")).unwrap();
    installed.write(EMA);
    let resolved = installed.run(&["config", "config.toml", "--toml"], None);
    resolved.expect(0).prints(&[&format!("library = \"{}/libmine.so\"", own.display())]);
    // Two in the config's own folders are an error still.
    fs::copy(library("libema.so"), own.join("libother.so")).unwrap();
    let ran = installed.run(&["check", "config.toml"], None);
    ran.expect(2).says(&["is in more than one library", "libmine.so", "libother.so"]);
}

#[test]
fn a_library_that_is_named_by_path_loads_from_anywhere() {
    let bench = Bench::new(&hook("Quiet2", "library = './apart/libx.so'"));
    fs::create_dir(bench.path("apart")).unwrap();
    symlink(library("librecorder.so"), bench.path("apart/libx.so")).unwrap();
    bench.replace("Quiet2", "Recorder");
    bench.add("file = \"points\"\n");
    bench.check(&[]).expect(0);
}

#[test]
fn a_library_that_is_named_by_path_and_does_not_load_says_why() {
    let bench = Bench::new(&hook("Quiet", "library = './apart/libx.so'"));
    fs::create_dir(bench.path("apart")).unwrap();
    let file = bench.path("apart/libx.so");
    fs::write(&file, "").unwrap();
    let says = |reason: &str| {
        bench.check(&[]).expect(3).says(&["apart/libx.so", reason]);
        fs::remove_file(&file).unwrap();
    };
    says("the file is empty");
    compile_c("wrong_major", &file, &["-shared"]);
    says("built against plugin-api 2.");
    compile_c("undefined_symbol", &file, &["-shared"]);
    says("not_defined_anywhere");
    compile_c("no_symbol", &file, &["-shared"]);
    says("hookrack_plugin");
    fs::create_dir(&file).unwrap();
    bench.check(&[]).expect(3).says(&["apart/libx.so", "is a folder, not a library"]);
}

#[test]
fn a_stray_library_that_no_config_could_use_is_reported_and_stops_no_run() {
    let bench = Bench::new("");
    compile_c("reserved_param", &bench.path("plugins/libstray.so"), &["-shared"]);
    let reason = "hook `Quiet` has a parameter `level`";
    bench.train("run", &[]).0.expect(0).says(&["libstray.so", reason]);
    bench.add(&hook("Quiet", "library = 'libstray.so'"));
    bench.check(&[]).expect(3).says(&["libstray.so", reason]);
    bench.run(["plugins"]).expect(0).prints(&["libstray.so  failed to load: ", reason]);
}
