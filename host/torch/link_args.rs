//! How a program finds libtorch. Part of the build script of every package that makes programs: cargo does not hand linker arguments on.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};

/// The libraries of libtorch that are called.
pub(crate) const CALLED: [&str; 2] = ["torch_cpu", "c10"];

/// The folder with libtorch's `include/` and `lib/`, from the `LIBTORCH` variable that `.cargo/config.toml` sets.
pub(crate) fn libtorch() -> Result<PathBuf, Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-changed=build.rs");
    let hint = "run `cargo xtask setup`, which creates it, or set LIBTORCH to a libtorch 2.13.0";
    let given = env::var_os("LIBTORCH").ok_or(format!("LIBTORCH is not set: {hint}"))?;
    let path = PathBuf::from(given);
    if !path.join("include/ATen/ATen.h").is_file() {
        return Err(format!("no libtorch headers in {}: {hint}", path.display()).into());
    }
    Ok(path.canonicalize()?)
}

/// Links libtorch, with CUDA where it has it, and lets the programs of this package find it: first in a released layout (`bin/` beside
/// `lib/`), then where they were built against.
pub(crate) fn print(libtorch: &Path) {
    let lib = libtorch.join("lib");
    // Nobody calls these: they are there once they are loaded.
    let cuda = ["torch_cuda", "c10_cuda"];
    let has_cuda = |name: &&str| lib.join(format!("lib{name}.so")).is_file();
    println!("cargo:rustc-link-search=native={}", lib.display());
    // `--disable-new-dtags` writes RPATH, not RUNPATH: libtorch's own dependencies are found by it too.
    println!("cargo:rustc-link-arg=-Wl,--no-as-needed,--disable-new-dtags");
    for name in CALLED.into_iter().chain(cuda.into_iter().filter(has_cuda)) {
        println!("cargo:rustc-link-arg=-l{name}");
    }
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../lib");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
}
