//! Compiles the C hook that is measured, and lets the bench find libtorch.

#[path = "../host/torch/link_args.rs"]
mod link_args;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let plugin = compile_c_plugin()?;
    println!("cargo:rustc-env=HOOKRACK_BENCH_NOOP_C={}", plugin.display());
    link_args::print(&link_args::libtorch()?);
    Ok(())
}

/// The library of `noop_c/`, with the flags that a bundled plugin in C is built with.
fn compile_c_plugin() -> Result<PathBuf, Box<dyn Error>> {
    let (source, headers) = (Path::new("noop_c/noop.c"), Path::new("../plugin-api/include"));
    for path in [source, headers] {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let library = out.join("libnoop_c.so");
    let mut command = cc::Build::new().cargo_metadata(false).try_get_compiler()?.to_command();
    command.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I"]);
    command.arg(headers).arg("-o").arg(&library).arg(source);
    if !command.status()?.success() {
        return Err(format!("the C compiler refused {}", source.display()).into());
    }
    Ok(library)
}
