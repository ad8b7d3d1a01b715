//! Compiles the C++ shim in `torch-ext/` against libtorch and tells the linker where libtorch lives.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    let libtorch = libtorch()?;
    compile_shim(&libtorch)?;
    link(&libtorch);
    Ok(())
}

/// The folder with libtorch's `include/` and `lib/`, from the `LIBTORCH` variable that
/// `.cargo/config.toml` sets.
fn libtorch() -> Result<PathBuf, Box<dyn Error>> {
    let hint = "run `cargo xtask setup`, which makes it, or point LIBTORCH at a libtorch 2.13.0";
    let given = env::var_os("LIBTORCH").ok_or(format!("LIBTORCH is not set: {hint}"))?;
    let path = PathBuf::from(given);
    println!("cargo:rerun-if-changed={}", path.join("build-version").display());
    if !path.join("include/ATen/ATen.h").is_file() {
        return Err(format!("no libtorch headers in {}: {hint}", path.display()).into());
    }
    Ok(path.canonicalize()?)
}

fn compile_shim(libtorch: &Path) -> Result<(), Box<dyn Error>> {
    let include = libtorch.join("include");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++20").opt_level(2).define("_GLIBCXX_USE_CXX11_ABI", "1");
    // One header per operator: the shim compiles in a third of the time.
    build.define("AT_PER_OPERATOR_HEADERS", None);
    for path in [&include, &include.join("torch/csrc/api/include")] {
        // System headers: their warnings are not ours.
        build.flag(format!("-isystem{}", path.display()));
    }
    println!("cargo:rerun-if-changed=torch-ext");
    let mut sources = Vec::new();
    for entry in fs::read_dir("torch-ext")? {
        let path = entry?.path();
        println!("cargo:rerun-if-changed={}", path.display());
        if path.extension().is_some_and(|extension| extension == "cpp") {
            sources.push(path);
        }
    }
    sources.sort();
    build.files(sources).warnings(true).try_compile("hookrack_torch_ext")?;
    Ok(())
}

/// Links the libraries that the shim calls, and those that put CUDA into libtorch where it has it; lets the programs of this package find them: first
/// in a released layout (`bin/` beside `lib/`), then where they were built against.
fn link(libtorch: &Path) {
    let lib = libtorch.join("lib");
    println!("cargo:rustc-link-search=native={}", lib.display());
    let called = ["torch_cpu", "c10"];
    for name in called {
        println!("cargo:rustc-link-lib=dylib={name}");
    }
    // Nobody calls these: they are there once they are loaded.
    let cuda = ["torch_cuda", "c10_cuda"];
    let has_cuda = |name: &&str| lib.join(format!("lib{name}.so")).is_file();
    // `--disable-new-dtags` writes RPATH, not RUNPATH: libtorch's own dependencies are found by it too.
    println!("cargo:rustc-link-arg=-Wl,--no-as-needed,--disable-new-dtags");
    for name in called.into_iter().chain(cuda.into_iter().filter(has_cuda)) {
        println!("cargo:rustc-link-arg=-l{name}");
    }
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../lib");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
}
