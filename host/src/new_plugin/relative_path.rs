//! The relative path from one folder to another.

use super::NewPluginError;
use std::path::{Component, Path, PathBuf};

/// The path from the folder `from` to the folder `to`, both of which exist: relative, so that the two can be moved
/// together, unless they have nothing in common but the root.
pub(super) fn between(from: &Path, to: &Path) -> Result<String, NewPluginError> {
    let whole = |path: &Path| {
        path.canonicalize()
            .map_err(|source| NewPluginError::Write { path: path.to_owned(), source })
    };
    let path = relative(&whole(from)?, &whole(to)?);
    path.to_str().map(str::to_owned).ok_or(NewPluginError::Path { path })
}

fn relative(from: &Path, to: &Path) -> PathBuf {
    let (mut here, mut there) = (from.components().peekable(), to.components().peekable());
    let mut shared = 0;
    while here.peek().is_some() && here.peek() == there.peek() {
        here.next();
        there.next();
        shared += 1;
    }
    if shared <= 1 {
        return to.to_owned();
    }
    here.map(|_| Component::ParentDir).chain(there).collect()
}

#[cfg(test)]
mod tests {
    use super::relative;
    use std::path::Path;

    #[test]
    fn folders_of_one_tree_are_reached_by_a_relative_path() {
        let path = |from, to| relative(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(path("/home/me/plugins/a", "/home/me/sdk"), "../../sdk");
        assert_eq!(path("/home/me/a", "/home/me/a/sdk"), "sdk");
        assert_eq!(path("/home/me/a", "/opt/sdk"), "/opt/sdk");
    }
}
