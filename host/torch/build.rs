//! Compiles the C++ shim in `shim/` against libtorch.

mod link_args;

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let libtorch = link_args::libtorch()?;
    if !is_linting() {
        compile_shim(&libtorch)?;
    }
    println!("cargo:rustc-link-search=native={}", libtorch.join("lib").display());
    for name in link_args::CALLED {
        println!("cargo:rustc-link-lib=dylib={name}");
    }
    link_args::print(&libtorch);
    Ok(())
}

/// Whether clippy runs this. It links nothing, and would spend minutes on a shim of its own: cargo keeps its build separate.
fn is_linting() -> bool {
    let name = "RUSTC_WORKSPACE_WRAPPER";
    println!("cargo:rerun-if-env-changed={name}");
    env::var_os(name).is_some_and(|path| Path::new(&path).ends_with("clippy-driver"))
}

fn compile_shim(libtorch: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={}", libtorch.join("build-version").display());
    let include = libtorch.join("include");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++20").opt_level(2).define("_GLIBCXX_USE_CXX11_ABI", "1");
    // One header per operator: the shim compiles in a third of the time.
    build.define("AT_PER_OPERATOR_HEADERS", None);
    let gloo = Path::new("shim/gloo-stub").to_owned();
    for path in [&include, &include.join("torch/csrc/api/include"), &gloo] {
        // System headers: their warnings are not ours.
        build.flag(format!("-isystem{}", path.display()));
    }
    // Untested: no machine with CUDA has built this yet.
    if libtorch.join("lib/libtorch_cuda.so").is_file() && include.join("nccl.h").is_file() {
        build.define("HOOKRACK_NCCL", None);
    }
    println!("cargo:rerun-if-changed=shim");
    let mut sources = Vec::new();
    for entry in fs::read_dir("shim")? {
        let path = entry?.path();
        println!("cargo:rerun-if-changed={}", path.display());
        if path.extension().is_some_and(|extension| extension == "cpp") {
            sources.push(path);
        }
    }
    sources.sort();
    build.files(sources).warnings(true).try_compile("hookrack_torch_shim")?;
    Ok(())
}
