//! Second names of checkpoints: links beside `iter_0000020`, the name that everything else uses.
//!
//! A pattern with `{iter}` or `{epoch}` names each checkpoint; one without them names the best, or the newest.

use super::manifest::Summary;
use super::retention::Rule;
use super::{iter_of, name_of};
use crate::run::atomic;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Whether this is a valid name for checkpoints.
pub fn check(pattern: &str) -> Result<(), String> {
    let name = rendered(pattern, &Summary::default());
    let why = match name.as_str() {
        "latest" | "best" => "the name is reserved for files of the run",
        _ if iter_of(&name).is_some() => "the name is reserved for the checkpoints themselves",
        _ if name.starts_with('.') => {
            "names that begin with a dot are reserved for unfinished checkpoints"
        }
        _ if name.contains(['/', '\0']) => "it must not contain `/`",
        _ if name.len() > 200 => "it is longer than 200 characters",
        _ => return Ok(()),
    };
    Err(format!("`{pattern}` is not a valid name for a checkpoint: {why}"))
}

fn rendered(pattern: &str, about: &Summary) -> String {
    let iter = format!("{:07}", about.iter);
    pattern.replace("{iter}", &iter).replace("{epoch}", &about.epoch.to_string())
}

/// The names that are due once the last of `all` is in place, and the iteration that each one refers to.
pub(super) fn wanted(rules: &[Rule], all: &[Summary]) -> Vec<(String, u64)> {
    rules.iter().filter_map(|rule| due(rule, all)).collect()
}

fn due(rule: &Rule, all: &[Summary]) -> Option<(String, u64)> {
    if rule.name.is_empty() {
        return None;
    }
    let mut own = all.iter().filter(|about| about.asked_by.contains(&rule.who));
    if rule.name.contains("{iter}") || rule.name.contains("{epoch}") {
        let last = all.last().filter(|last| last.asked_by.contains(&rule.who))?;
        return Some((rendered(&rule.name, last), last.iter));
    }
    let iter = match &rule.best {
        Some(best) => best.of(own).first().copied(),
        None => own.next_back().map(|about| about.iter),
    };
    Some((rule.name.clone(), iter?))
}

/// Creates the names. A name that cannot be created, because links are not supported or a file exists, is only a warning.
pub(super) fn give(folder: &Path, names: &[(String, u64)]) {
    for (name, iter) in names {
        let (path, temporary) = (folder.join(name), atomic::temporary_beside(&folder.join(name)));
        let is_ours = fs::symlink_metadata(&path).map_or(true, |found| found.is_symlink());
        let _ = fs::remove_file(&temporary);
        let given = if is_ours {
            symlink(name_of(*iter), &temporary)
                .map_err(|error| error.to_string())
                .and_then(|()| atomic::rename(&temporary, &path).map_err(|e| e.to_string()))
        } else {
            Err("another file has that name".to_owned())
        };
        if let Err(why) = given {
            tracing::warn!("could not add the name {name} to {}: {why}", name_of(*iter));
        }
    }
}

/// Removes the names of deleted checkpoints.
pub(super) fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = meant(&path).is_some();
        if is_ours && !path.exists() {
            // A link that cannot be removed is dangling, which is harmless.
            let _ = fs::remove_file(path);
        }
    }
}

/// The checkpoint that a second name refers to.
fn meant(link: &Path) -> Option<u64> {
    iter_of(fs::read_link(link).ok()?.to_str()?)
}

/// Whether a checkpoint has a second name with this suffix.
pub(super) fn has(checkpoint: &Path, suffix: &str) -> bool {
    let Some(iter) = checkpoint.file_name().and_then(|name| iter_of(name.to_str()?)) else {
        return false;
    };
    let beside = checkpoint.parent().and_then(|folder| fs::read_dir(folder).ok());
    let ends_so = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.ends_with(suffix));
    let mut beside = beside.into_iter().flatten().flatten();
    beside.any(|entry| ends_so(&entry.file_name()) && meant(&entry.path()) == Some(iter))
}

#[cfg(test)]
mod tests {
    use super::super::retention::Best;
    use super::*;
    use hookrack_plugin_api::Better;

    fn about(iter: u64, who: &str, accuracy: f64) -> Summary {
        let metrics = [("val/Accuracy".to_owned(), accuracy)].into();
        Summary { iter, epoch: iter / 10, asked_by: vec![who.to_owned()], metrics }
    }

    fn rule(name: &str) -> Rule {
        Rule { who: "a".to_owned(), name: name.to_owned(), ..Rule::default() }
    }

    #[test]
    fn a_pattern_names_what_its_hook_asked_for_and_no_other() {
        let all = [about(10, "a", 0.9), about(20, "a", 0.5)];
        let name = |pattern: &str, all: &[Summary]| wanted(&[rule(pattern)], all);
        assert_eq!(name("m_{iter}", &all), [("m_0000020".to_owned(), 20)]);
        assert_eq!(name("e{epoch}-x", &all), [("e2-x".to_owned(), 20)]);
        assert_eq!(name("final", &all), [("final".to_owned(), 20)]);
        assert_eq!(name("", &all), []);
        let mixed = [about(10, "a", 0.9), about(20, "b", 0.5)];
        assert_eq!(name("m_{iter}", &mixed), []);
        assert_eq!(name("final", &mixed), [("final".to_owned(), 10)]);
    }

    #[test]
    fn a_name_without_a_number_follows_the_best() {
        let best = Some(Best { metric: "val/Accuracy".to_owned(), better: Better::Higher, top: 1 });
        let rule = Rule { best, ..rule("model_best") };
        let all = [about(10, "a", 0.9), about(20, "a", 0.5)];
        assert_eq!(wanted(&[rule], &all), [("model_best".to_owned(), 10)]);
    }

    #[test]
    fn names_of_the_run_s_own_are_refused() {
        for pattern in ["latest", "best", "iter_{iter}", ".x", "a/b", "iter_{epoch}"] {
            assert!(
                check(pattern).unwrap_err().contains("is not a valid name for a checkpoint"),
                "{pattern}"
            );
        }
        for pattern in ["model_{iter}", "iter_{iter}_a", "model_best", "épo={epoch}"] {
            check(pattern).unwrap();
        }
    }

    #[test]
    fn links_move_go_with_their_checkpoint_and_leave_files_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        for iter in [10, 20] {
            fs::create_dir(folder.join(name_of(iter))).unwrap();
        }
        fs::write(folder.join("mine"), "text").unwrap();
        symlink("/nowhere", folder.join("theirs")).unwrap();
        let names = |iter| [("m".to_owned(), iter), (format!("m_{iter}_s"), iter)];
        give(folder, &names(10));
        give(folder, &names(20));
        give(folder, &[("mine".to_owned(), 10)]);
        assert_eq!(meant(&folder.join("m")), Some(20));
        assert_eq!(fs::read_to_string(folder.join("mine")).unwrap(), "text");
        assert!(has(&folder.join(name_of(10)), "_s") && !has(&folder.join(name_of(10)), "_t"));
        fs::remove_dir(folder.join(name_of(20))).unwrap();
        sweep(folder);
        let left = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
        assert!(left("m_10_s") && left("theirs") && left("mine"));
        assert!(!left("m") && !left("m_20_s"));
    }
}
