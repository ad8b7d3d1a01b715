//! Why a manifest cannot be used.

/// Why a manifest cannot be used. `owner` is the hook or metric, such as "hook `Ema`".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A table has no name.
    #[error("{owner} has no name: set the name that configs use")]
    Unnamed {
        /// Which.
        owner: String,
    },
    /// Its name is not valid: it is a key of checkpoints and a part of key paths.
    #[error("{owner} cannot be named `{name}`: {rule}", rule = hookrack_plugin_api::name::RULE)]
    BadName {
        /// Which.
        owner: String,
        /// Its name, or one of its aliases.
        name: String,
    },
    /// Two tables have one name.
    #[error("{owner} is exported twice: give one of them another name")]
    Twice {
        /// Which.
        owner: String,
    },
    /// It is not UTF-8, or its pointer or length were never set.
    #[error("the manifest of {owner} is not UTF-8 text")]
    NotText {
        /// Whose.
        owner: String,
    },
    /// It is not a JSON object, or lacks a required field.
    #[error("the manifest of {owner} is invalid: {cause}")]
    Json {
        /// Whose.
        owner: String,
        /// What is wrong, with line and column.
        cause: String,
    },
    /// It names another hook.
    #[error("the manifest of {owner} names `{says}`: use the same name in both")]
    Name {
        /// Whose.
        owner: String,
        /// The name in it.
        says: String,
    },
    /// An unknown point.
    #[error("the manifest of {owner} lists an unknown point `{point}`: did you mean `{nearest}`?")]
    Point {
        /// Whose.
        owner: String,
        /// The name in it.
        point: String,
        /// The point with the nearest name.
        nearest: &'static str,
    },
    /// An unknown word.
    #[error("the manifest of {owner} has {key} = `{says}`: expected {expected}")]
    Word {
        /// Whose.
        owner: String,
        /// The key.
        key: &'static str,
        /// Its value.
        says: String,
        /// The values that it may have.
        expected: &'static str,
    },
}
