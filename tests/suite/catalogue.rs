//! `docs/hooks.md` is what the manifests say, and the tables of `docs/config.md` are what a config is checked against.

use crate::workbench::Bench;
use crate::workshop::{assert_page, repository};
use hookrack::config::{Kind, reference};
use hookrack::inventory::Inventory;
use std::fs;

#[test]
fn the_catalogue_in_the_docs_is_what_the_manifests_say() {
    let bench = Bench::bare();
    fs::create_dir(bench.path("bundled")).unwrap();
    bench.add_bundled("bundled");
    let made = bench.run(["plugins", "--markdown", "--dir", "bundled"]).expect(0).stdout.clone();
    assert_page("docs/hooks.md", &made);
    for hook in hookrack::hooks::HOOKS {
        let hook = hookrack::plugins::HookType::built_in(hook).unwrap();
        for name in hook.manifest.names() {
            assert!(made.contains(&format!("`{name}`")), "{name}");
        }
        assert!(!hook.manifest.doc.is_empty(), "{hook:?}");
    }
}

#[test]
fn the_tables_of_the_config_page_are_what_a_config_is_checked_against() {
    let catalog = Inventory::take(&[]).unwrap().catalog;
    let kept = fs::read_to_string(repository().join("docs/config.md")).unwrap();
    let made = reference::fill(&kept, &catalog).unwrap();
    assert_page("docs/config.md", &made);
    // A type is listed with its keys, or in the table of its kind.
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Hook) {
        let listed = made.contains(&format!("<!-- types of {}", kind.noun()));
        for entry in catalog.of(kind) {
            let marker = format!("<!-- keys of {} {} -->", kind.noun(), entry.name);
            assert!(listed || made.contains(&marker), "{marker} is missing in docs/config.md");
        }
    }
}

#[test]
fn every_snippet_of_the_catalogue_is_a_config_that_resolves() {
    let page = fs::read_to_string(repository().join("docs/hooks.md")).unwrap();
    let snippets: Vec<_> = page
        .split("```toml\n")
        .skip(1)
        .map(|part| part.split("```").next().unwrap())
        .filter(|snippet| !snippet.contains('…'))
        .collect();
    assert!(snippets.len() > 30, "{}", snippets.len());
    // One of each: names and roles are taken only once in a run.
    for chunk in snippets.chunks(12) {
        let bench = Bench::new("");
        for (index, snippet) in chunk.iter().enumerate() {
            let named = snippet.replacen("\ntype", &format!("\nname = \"n{index}\"\ntype"), 1);
            bench.add(&format!("\n{named}"));
        }
        let ran = bench.run(["config", "config.toml"]);
        let roles = "provide the role";
        assert!(ran.code == Some(0) || ran.stderr.contains(roles), "{}", ran.stderr);
    }
}
