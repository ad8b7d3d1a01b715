//! Why a manifest cannot be used.

/// Why a manifest cannot be used. `subject` is the hook or metric, such as "hook `Ema`".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A table has no name.
    #[error("{subject} has no name: set the name that configs use")]
    Unnamed {
        /// Which.
        subject: String,
    },
    /// It cannot be called so: the name is a key of checkpoints and a part of key paths.
    #[error("{subject} cannot be named `{name}`: {rule}", rule = hookrack_plugin_api::name::RULE)]
    BadName {
        /// Which.
        subject: String,
        /// Its name, or one of its aliases.
        name: String,
    },
    /// Two tables have one name.
    #[error("{subject} is exported twice: give one of them another name")]
    Twice {
        /// Which.
        subject: String,
    },
    /// It is not UTF-8, or its pointer or length were never set.
    #[error("the manifest of {subject} is not UTF-8 text")]
    NotText {
        /// Whose.
        subject: String,
    },
    /// It is not a JSON object, or lacks a required field.
    #[error("the manifest of {subject} is invalid: {cause}")]
    Json {
        /// Whose.
        subject: String,
        /// What is wrong, with line and column.
        cause: String,
    },
    /// It speaks of another hook.
    #[error("the manifest of {subject} names `{says}`: use the same name in both")]
    Name {
        /// Whose.
        subject: String,
        /// The name in it.
        says: String,
    },
    /// An unknown point.
    #[error(
        "the manifest of {subject} lists an unknown point `{point}`: did you mean `{nearest}`?"
    )]
    Point {
        /// Whose.
        subject: String,
        /// The name in it.
        point: String,
        /// The point with the nearest name.
        nearest: &'static str,
    },
    /// An unknown word.
    #[error("the manifest of {subject} has {key} = `{says}`: expected {expected}")]
    Word {
        /// Whose.
        subject: String,
        /// The key.
        key: &'static str,
        /// Its value.
        says: String,
        /// The values that it may have.
        expected: &'static str,
    },
}
