//! Every block of code in the guide for authors compiles, and its test passes.

use crate::outside::cargo;
use crate::patience::output;
use crate::workshop::repository;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The blocks of the guide in a language.
fn blocks(language: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join("docs/plugin-guide.md")).unwrap();
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(str::to_owned).collect()
}

/// What the fragments take for granted: a hook with some fields, and the one that the page's test is about.
const AROUND: &str = r#"
#![allow(unused, dead_code, unreachable_code)]
pub mod around {
    use hookrack_plugin_api::prelude::*;
    #[derive(Settings)]
    pub struct MyHook { scale: f64 }
    #[hook]
    impl Hook for MyHook {
        fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
            t.put_scalar("grad_norm", self.scale * t.grads().norm()?.item()?)
        }
    }
}
"#;

const FIELDS: &str = "
    #[derive(Settings)]
    struct Around {
        gamma: f64,
        momentum: f64,
        epsilon: f64,
        #[param(skip)] shadow: TensorList,
        #[param(skip)] updates: u64,
    }";

/// A block as the items of a module.
fn items(block: &str) -> String {
    let block = block.replace("{ … }", "{ unimplemented!() }");
    let items: String = block.lines().filter(|line| !line.contains("export_plugin!")).fold(
        String::new(),
        |mut all, line| {
            _ = writeln!(all, "{line}");
            all
        },
    );
    let code = items.lines().find(|line| !line.starts_with("//")).unwrap_or_default();
    if code.starts_with("#[metric") {
        format!("#[derive(Settings)] struct TopK {{}}\n{items}")
    } else if code.starts_with("#[cfg(test)]") {
        format!("use crate::around::MyHook;\n{items}")
    } else if code.starts_with("#[param") {
        format!("#[derive(Settings)] struct Around {{ {items} }}")
    } else if code.starts_with("fn ") {
        format!("{FIELDS}\n#[hook] impl Hook for Around {{ {items} }}")
    } else if items.contains("impl Hook") {
        items
    } else {
        format!(
            "{FIELDS}\nimpl Around {{ fn block(&mut self, t: &mut Trainer) -> Result<()> {{ {items} ; Ok(()) }} }}"
        )
    }
}

#[test]
fn every_block_of_the_guide_in_rust_compiles_and_its_test_passes() {
    let blocks = blocks("rust");
    assert!(blocks.len() >= 11, "{} blocks", blocks.len());
    let mut code = AROUND.to_owned();
    for (number, block) in blocks.iter().enumerate() {
        let items = items(block);
        _ = writeln!(
            code,
            "mod block_{number} {{\nuse hookrack_plugin_api::prelude::*;\n{items}\n}}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let api = repository().join("plugin-api");
    let manifest = format!(
        "[package]\nname = \"guide\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n\
         hookrack-plugin-api = {{ path = '{}', features = ['testing'] }}\n[workspace]\n",
        api.display()
    );
    fs::create_dir(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.path().join("src/lib.rs"), code).unwrap();
    let said = cargo(dir.path(), &["test", "--quiet", "--lib"]);
    assert!(said.contains("1 passed"), "{said}");
}

/// Compiles every block of a language against the headers.
fn check(language: &str, compiler: &str, standard: &str, dir: &Path) {
    let blocks = blocks(language);
    assert!(!blocks.is_empty(), "no block in {language}");
    for (number, block) in blocks.iter().enumerate() {
        let file = dir.join(format!("block_{number}.{language}"));
        fs::write(&file, block).unwrap();
        let mut compiler = Command::new(compiler);
        compiler.args([standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
        let ran = output(compiler.arg(repository().join("plugin-api/include")).arg(&file)).unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "block {number} in {language}:\n{said}");
    }
}

#[test]
fn every_block_of_the_guide_in_c_and_cpp_compiles() {
    let dir = tempfile::tempdir().unwrap();
    check("c", "cc", "-std=c11", dir.path());
    check("cpp", "c++", "-std=c++17", dir.path());
}
