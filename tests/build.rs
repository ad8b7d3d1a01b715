//! Lets the test program find libtorch, which it needs because it links the host's library.

use std::env;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-changed=build.rs");
    let libtorch = env::var_os("LIBTORCH")
        .ok_or("LIBTORCH is not set: run `cargo xtask setup`, which makes it")?;
    let lib = Path::new(&libtorch).join("lib").canonicalize()?;
    // As in host/build.rs: RPATH, so that libtorch's own dependencies are found by it too.
    println!("cargo:rustc-link-arg-tests=-Wl,--no-as-needed,--disable-new-dtags");
    for name in ["torch_cpu", "c10"] {
        println!("cargo:rustc-link-arg-tests=-l{name}");
    }
    println!("cargo:rustc-link-arg-tests=-Wl,-rpath,{}", lib.display());
    Ok(())
}
