//! Compiles the C++ shim in `shim/` against libtorch.

mod link_args;

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

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
    // A product and a sum are rounded one by one, on every CPU.
    build.flag_if_supported("-ffp-contract=off");
    // Vectors are passed between inlined functions only: it does not matter in which registers they would be.
    build.flag_if_supported("-Wno-psabi");
    let gloo = Path::new("shim/gloo-stub").to_owned();
    for path in [&include, &include.join("torch/csrc/api/include"), &gloo] {
        // System headers: their warnings are not ours.
        build.flag(format!("-isystem{}", path.display()));
    }
    if let Some(headers) = nccl_headers(libtorch) {
        build.define("HOOKRACK_NCCL", None);
        for path in headers {
            build.flag(format!("-isystem{}", path.display()));
        }
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

/// The folders with the headers of NCCL and CUDA, for a libtorch that has CUDA: the packages that come with PyTorch's (the compiler's
/// headers are in `nvidia-cuda-crt` and `nvidia-cuda-cccl`), or the system's. Compiled, and never run on a GPU.
fn nccl_headers(libtorch: &Path) -> Option<[PathBuf; 3]> {
    println!("cargo:rerun-if-env-changed=CUDA_HOME");
    if !libtorch.join("lib/libtorch_cuda.so").is_file() {
        return None;
    }
    let packages = libtorch.parent()?.join("nvidia");
    let mut folders: Vec<_> = ["nccl", "cu13"].map(|it| packages.join(it).join("include")).into();
    folders.extend(env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("include")));
    folders.extend(["/usr/local/cuda/include", "/usr/include"].map(PathBuf::from));
    let with = |header: &str| folders.iter().find(|folder| folder.join(header).is_file()).cloned();
    let (nccl, cuda) = (with("nccl.h")?, with("crt/host_config.h")?);
    // Newer toolkits have some headers in a folder of their own.
    let more = cuda.join("cccl");
    Some([nccl, cuda, more])
}
