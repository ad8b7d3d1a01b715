//! Second names of a hook's checkpoints beside `iter_0000020`, in the syntax of each seed.

/// The name of `prefix` and `suffix`: `model_0000020`, `iter_0000020-a`; none if both are empty.
pub(super) fn pattern(prefix: &str, suffix: &str) -> String {
    match (prefix, suffix) {
        ("", "") => String::new(),
        ("", suffix) => format!("iter_{{iter}}{suffix}"),
        (prefix, suffix) => format!("{prefix}_{{iter}}{suffix}"),
    }
}

/// Folder and name of a `filepath` such as `ckpt/{epoch}-{iter}`, which calls a checkpoint `epoch=2-iter=0000020`.
pub(super) fn of_filepath(filepath: &str) -> (&str, String) {
    let (folder, name) = filepath.rsplit_once('/').unwrap_or(("", filepath));
    (folder, name.replace("{epoch}", "epoch={epoch}").replace("{iter}", "iter={iter}"))
}

/// Whether a setting can be part of a name.
pub(super) fn is_part(text: &str) -> Result<(), String> {
    match text {
        _ if text.contains(['/', '\0', '\n']) => {
            Err(format!("`{text}` must not contain `/`: set the folder with checkpoint_dir"))
        }
        _ if text.starts_with('.') => Err(format!("`{text}`: a name cannot begin with a dot")),
        _ => Ok(()),
    }
}

/// Whether a `filepath` names more than one checkpoint.
pub(super) fn is_filepath(text: &str) -> Result<(), String> {
    match text.rsplit('/').next() {
        None | Some("") => Ok(()),
        Some(name) if name.contains("{epoch}") || name.contains("{iter}") => is_part(name),
        Some(name) => Err(format!("`{name}` would be the same for all: add {{epoch}} or {{iter}}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seed_s_words_make_a_name() {
        assert_eq!(pattern("", ""), "");
        assert_eq!(pattern("model", ""), "model_{iter}");
        assert_eq!(pattern("", "-a"), "iter_{iter}-a");
        assert_eq!(pattern("m", "-a"), "m_{iter}-a");
        assert_eq!(of_filepath("a/b/{epoch}"), ("a/b", "epoch={epoch}".to_owned()));
        assert_eq!(of_filepath("x-{iter}"), ("", "x-iter={iter}".to_owned()));
        assert_eq!(of_filepath("a/"), ("a", String::new()));
    }

    #[test]
    fn what_cannot_be_part_of_a_name_is_refused() {
        assert!(is_part("a/b").unwrap_err().contains("checkpoint_dir"));
        assert!(is_part(".a").is_err() && is_part("_a").is_ok() && is_part("").is_ok());
        assert!(is_filepath("a/last").unwrap_err().contains("the same for all"));
        assert!(is_filepath("a/{iter}").is_ok() && is_filepath("a/").is_ok());
        assert!(is_filepath("").is_ok() && is_filepath("a/.{iter}").is_err());
    }
}
