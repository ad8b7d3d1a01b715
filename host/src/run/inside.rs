//! Which paths stay inside the run directory.

use std::path::{Component, Path};

/// Whether a relative path leads nowhere but into the folder that it is relative to: no root, no `..`, no `.`.
pub fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_could_lead_out_is_not_inside() {
        for (path, inside) in [
            ("tb", true),
            ("a/b.json", true),
            ("", true),
            ("../tb", false),
            ("a/../..", false),
            ("/a", false),
        ] {
            assert_eq!(is_inside(Path::new(path)), inside, "{path}");
        }
    }
}
