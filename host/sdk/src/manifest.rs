//! A crate's `Cargo.toml` without the workspace that it is written for.

use toml::{Table, Value};

/// Why a manifest could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is not TOML.
    #[error("it is not TOML")]
    Parse(#[from] toml::de::Error),
    /// It cannot be written.
    #[error("it cannot be written")]
    Write(#[from] toml::ser::Error),
    /// It inherits something that the workspace does not have.
    #[error("the workspace has no `{0}`")]
    Missing(String),
}

/// The manifest of the package in the folder `package` of the repository, with the keys inherited from `workspace` filled in.
/// Lints are left out: they are about developing the crate, not about using it.
pub(super) fn standalone(
    text: &str,
    package: &str,
    workspace: &str,
) -> Result<String, ManifestError> {
    let mut manifest: Table = text.parse()?;
    let root: Table = workspace.parse()?;
    let shared = |section: &str| root.get("workspace")?.get(section)?.as_table();
    manifest.remove("lints");
    if let Some(Value::Table(facts)) = manifest.get_mut("package") {
        for (key, value) in facts.iter_mut().filter(|(_, value)| is_inherited(value)) {
            *value = inherited(shared("package"), key)?;
        }
    }
    if let Some(Value::Table(dependencies)) = manifest.get_mut("dependencies") {
        for (name, value) in dependencies.iter_mut().filter(|(_, value)| is_inherited(value)) {
            let whole = inherited(shared("dependencies"), name)?;
            *value = merged(whole, value, package);
        }
    }
    let made = toml::to_string(&manifest)?;
    Ok(format!(
        "# Made by `hookrack sdk` from the crate's manifest in the hookrack repository.\n\n{made}"
    ))
}

/// `{ workspace = true, … }`
fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

fn inherited(section: Option<&Table>, key: &str) -> Result<Value, ManifestError> {
    let value = section.and_then(|section| section.get(key));
    value.cloned().ok_or_else(|| ManifestError::Missing(key.to_owned()))
}

/// The workspace's dependency with what the package adds to it: features are joined, anything else is the package's.
fn merged(whole: Value, own: &Value, package: &str) -> Value {
    let mut merged = match whole {
        Value::Table(table) => table,
        version => Table::from_iter([("version".to_owned(), version)]),
    };
    for (key, value) in own.as_table().into_iter().flatten().filter(|(key, _)| *key != "workspace")
    {
        match (merged.get_mut(key), value) {
            (Some(Value::Array(all)), Value::Array(more)) => all.extend(more.iter().cloned()),
            _ => _ = merged.insert(key.clone(), value.clone()),
        }
    }
    // A path of the workspace is one from its top.
    if let Some(Value::String(path)) = merged.get_mut("path")
        && let Some(within) = path.strip_prefix(package)
    {
        *path = within.trim_start_matches('/').to_owned();
    }
    Value::Table(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = r#"
[workspace.package]
edition = "2024"
[workspace.dependencies]
own-macros = { path = "api/macros", version = "=1.2.0" }
plain = "=0.1.3"
serde = { version = "1", default-features = false, features = ["std"] }
"#;

    #[test]
    fn what_comes_from_the_workspace_is_filled_in() {
        let text = r#"
[package]
name = "api"
edition.workspace = true
[dependencies]
plain.workspace = true
own-macros.workspace = true
serde = { workspace = true, features = ["derive"], optional = true }
[features]
tracing = []
[lints]
workspace = true
"#;
        let made: Table = standalone(text, "api", WORKSPACE).unwrap().parse().unwrap();
        let expected: Table = r#"
[package]
name = "api"
edition = "2024"
[dependencies]
plain = { version = "=0.1.3" }
own-macros = { path = "macros", version = "=1.2.0" }
serde = { version = "1", default-features = false, features = ["std", "derive"], optional = true }
[features]
tracing = []
"#
        .parse()
        .unwrap();
        assert_eq!(made, expected);
    }

    #[test]
    fn what_the_workspace_does_not_have_is_named() {
        let text = "[dependencies]\nmissing.workspace = true\n";
        let error = standalone(text, "api", WORKSPACE).unwrap_err().to_string();
        assert_eq!(error, "the workspace has no `missing`");
    }
}
