//! Hosts and plugins of different versions: an older and a newer minor go together, another major does not.
//!
//! The same plugin and the same small host are built against the present plugin-api, a next minor version that has
//! gained a point (`after_merge`) and an extension (`hookrack.merge/1`), and a next major version.

#![expect(clippy::unwrap_used, reason = "a test's own machinery fails the test")]

use crate::patience::output;
use crate::workshop::{VERSIONS, rust};
use hookrack::plugins::open;
use hookrack_plugin_api::abi::{ABI_MAJOR, ABI_MINOR};

/// What the host of one version says about the plugin of another.
fn verdict(host: &str, plugin: &str) -> String {
    let library = rust().library(&format!("evolving_{plugin}"));
    let output = output(rust().host(host).arg(library)).unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{}: {error}", output.status);
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn number(version: &str) -> String {
    match version {
        "present" => format!("{ABI_MAJOR}.{ABI_MINOR}"),
        "next_minor" => format!("{ABI_MAJOR}.{}", ABI_MINOR + 1),
        _ => format!("{}.0", ABI_MAJOR + 1),
    }
}

#[test]
fn older_plugin_runs_in_newer_host() {
    let (host, plugin) = (number("next_minor"), number("present"));
    assert_eq!(
        verdict("next_minor", "present"),
        format!(
            "host {host} plugin {plugin}, EvolvingHook: before_train after_train_iter, metrics Constant"
        )
    );
}

#[test]
fn newer_plugin_runs_in_older_host_and_is_not_called_at_its_new_point() {
    let (host, plugin) = (number("present"), number("next_minor"));
    assert_eq!(
        verdict("present", "next_minor"),
        format!(
            "host {host} plugin {plugin}, EvolvingHook: before_train after_train_iter, \
             unknown after_merge, metrics Constant"
        )
    );
}

#[test]
fn the_new_point_and_the_new_extension_work_where_both_sides_have_them() {
    let number = number("next_minor");
    assert_eq!(
        verdict("next_minor", "next_minor"),
        format!(
            "host {number} plugin {number}, EvolvingHook: before_train after_train_iter after_merge, metrics Constant"
        )
    );
}

#[test]
fn optimizations_and_another_allocator_on_one_side_make_no_difference() {
    let fast = rust().fast();
    for host in ["present", "next_minor"] {
        let ran = output(rust().host(host).arg(&fast)).unwrap();
        let (said, error) =
            (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success() && error.is_empty(), "{}: {error}", ran.status);
        assert_eq!(said.trim_end(), verdict(host, "present"));
    }
}

#[test]
fn another_major_version_is_refused_both_ways_in_one_line() {
    for (host, plugin) in [
        ("present", "next_major"),
        ("next_minor", "next_major"),
        ("next_major", "present"),
        ("next_major", "next_minor"),
    ] {
        let newer = if plugin == "next_major" {
            format!(", or use a host that has {}", ABI_MAJOR + 1)
        } else {
            String::new()
        };
        let (ours, theirs) = (number(host), number(plugin));
        let major = ours.split('.').next().unwrap();
        assert_eq!(
            verdict(host, plugin),
            format!(
                "refused: built against plugin-api {theirs}.0, this host has {ours}.0: \
                 rebuild it against plugin-api {major}{newer}"
            )
        );
    }
}

#[test]
fn a_table_that_changed_without_a_new_version_is_refused_in_one_line() {
    let verdict = verdict("present", "careless");
    let number = number("present");
    let expected = format!(
        "refused: the layout of its tables differs from plugin-api {number}.0 (HookBase: unexpected field, \
         expected field_name:on_point, found field_name:pause; details are in the debug log): \
         rebuild it against plugin-api {number}.0"
    );
    assert_eq!(verdict, expected);
}

#[test]
fn every_version_goes_with_itself() {
    for version in VERSIONS {
        let number = number(version);
        let verdict = verdict(version, version);
        assert!(verdict.starts_with(&format!("host {number} plugin {number}, ")), "{verdict}");
    }
}

#[test]
fn a_host_loads_older_and_newer_plugins_in_any_order() {
    for order in [["present", "next_minor"], ["next_minor", "present"]] {
        for host in order {
            let libraries = order.map(|plugin| rust().library(&format!("evolving_{plugin}")));
            let output = output(rust().host(host).args(libraries)).unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(text.lines().filter(|line| line.starts_with("host ")).count(), 2, "{text}");
        }
    }
}

#[test]
fn what_only_a_newer_host_knows_is_kept_aside_in_the_manifest() {
    let library = open(&rust().library("evolving_next_minor")).unwrap();
    assert_eq!(library.about.info.abi, (ABI_MAJOR, ABI_MINOR + 1));
    assert_eq!(library.hooks[0].manifest.unknown_points, ["after_merge"]);
}
