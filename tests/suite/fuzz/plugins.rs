//! Readers of what decides about plugins: ELF files, manifests, the index, signatures, keys and policies.

use super::fuzz;
use crate::workbench::Bench;
use crate::workshop::{compile_c, repository};
use hookrack::config::{PluginTrust, TrustPolicy};
use hookrack::plugins::loader::{Description, Facts, Image, image};
use hookrack::plugins::trust::{PublicKeys, SystemPolicy, Trust, signature_path};
use hookrack::plugins::{open, trust};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A good library, compiled into a folder.
fn library(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("libgood.so");
    compile_c("good", &path, &["-shared"]);
    path
}

fn golden() -> Vec<PathBuf> {
    let folder = repository().join("tests/fixtures/golden");
    ["libgolden.so", "libgolden_1_1.so", "libgolden_c.so"].map(|file| folder.join(file)).to_vec()
}

#[test]
fn a_library_file_of_any_bytes_is_refused_or_within_its_bounds() {
    let folder = TempDir::new().unwrap();
    let seeds = [fs::read(library(&folder)).unwrap(), fs::read(&golden()[2]).unwrap()];
    fuzz("elf", &seeds, |file| drop(image(file, None).map_err(|error| error.to_string())));
}

/// Reads facts as the host does after a probe or from the index.
fn describe(facts: Facts) {
    let image = Image { path: "/p/libx.so".into(), sha256: String::new(), bytes: Vec::new() };
    drop(Description::new(&image, facts).map_err(|error| error.to_string()));
}

#[test]
fn a_manifest_of_any_text_is_read_or_refused() {
    let facts: Vec<_> =
        golden().iter().map(|file| open(file).unwrap().about.facts.clone()).collect();
    let types = || facts.iter().flat_map(|facts| facts.hooks.iter().chain(&facts.metrics));
    let seeds: Vec<_> = types().map(|one| one.manifest.clone().into_bytes()).collect();
    fuzz("manifest", &seeds, |file| {
        let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        let mut one = facts[0].hooks[0].clone();
        for newer in [0, 1] {
            one.abi_minor += newer * 1000;
            one.manifest.clone_from(&text);
            describe(Facts { hooks: vec![one.clone()], metrics: Vec::new(), ..facts[0].clone() });
            describe(Facts { hooks: Vec::new(), metrics: vec![one.clone()], ..facts[0].clone() });
        }
    });
}

#[test]
fn an_entry_of_the_index_of_any_bytes_is_read_or_refused() {
    let seeds: Vec<_> = golden()
        .iter()
        .map(|file| serde_json::to_vec(&open(file).unwrap().about.facts).unwrap())
        .collect();
    fuzz("index", &seeds, |file| {
        if let Ok(facts) = serde_json::from_slice::<Facts>(&fs::read(file).unwrap()) {
            describe(facts);
        }
    });
}

/// A bench with a key, a library and its signature.
fn signed() -> Bench {
    let bench = Bench::bare();
    compile_c("good", &bench.path("libx.so"), &["-shared"]);
    bench.run(["keygen", "team", "--no-password"]).expect(0);
    bench.run(["sign", "--key", "team.key", "libx.so"]).expect(0);
    bench
}

#[test]
fn a_signature_of_any_bytes_stands_for_a_library_only_if_it_is_one() {
    let bench = signed();
    let library = image(&bench.path("libx.so"), None).unwrap();
    let own = signature_path(&library.path);
    let good = bench.read("libx.so.minisig");
    let required = PluginTrust {
        policy: TrustPolicy::Require,
        trusted_keys: vec![bench.path("team.pub")],
        ..PluginTrust::default()
    };
    let trust = Trust::new(&required);
    assert!(trust.check(&library).unwrap().signer.is_some());
    // A second signature that is cut off once made the host panic.
    let global = good.trim_end().rfind('\n').unwrap() + 1;
    for end in global..good.trim_end().len() {
        fs::write(&own, &good[..end]).unwrap();
        assert!(trust.check(&library).is_err(), "cut off after {} digits", end - global);
    }
    // Only the first comment is not signed.
    let signed_parts = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    fuzz("signature", &[good.clone().into()], |file| {
        fs::copy(file, &own).unwrap();
        if trust.check(&library).map_err(|error| error.to_string()).is_ok() {
            let damaged = fs::read(file).unwrap();
            let text = String::from_utf8_lossy(&damaged);
            assert_eq!(signed_parts(text.trim_end()), signed_parts(good.trim_end()));
        }
    });
}

#[test]
fn a_key_of_any_bytes_is_read_or_refused() {
    let key = signed().read("team.pub");
    fuzz("key", &[key.into()], |file| {
        drop(PublicKeys::read(&[file.to_owned()]).map_err(|error| error.to_string()));
    });
}

#[test]
fn a_policy_file_of_any_bytes_is_read_or_refused() {
    let seed = "policy = \"require\"\nlock = \"/etc/hookrack/plugins.lock\"\ntrusted_keys = [\"/etc/x.pub\"]\nfolders = [\"/opt/p\"]\n";
    fuzz("policy", &[seed.into()], |file: &Path| {
        drop(SystemPolicy::read(file).map_err(|error: trust::SystemError| error.to_string()));
    });
}
