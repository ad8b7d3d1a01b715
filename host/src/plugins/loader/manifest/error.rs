//! Why a manifest cannot be used.

/// Why a manifest cannot be used. `subject` is the hook or metric, such as "hook `Ema`".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ManifestError {
    /// A table has no name.
    #[error("{subject} has no name: set the name that configs use")]
    Unnamed { subject: String },
    /// It cannot be called so: the name is a key of checkpoints and a part of key paths.
    #[error("{subject} cannot be named `{name}`: {rule}", rule = hookrack_plugin_api::name::RULE)]
    BadName { subject: String, name: String },
    /// Two tables have one name.
    #[error("{subject} is exported twice: give one of them another name")]
    Twice { subject: String },
    /// It is not UTF-8, or its pointer or length were never set.
    #[error("the manifest of {subject} is not UTF-8 text")]
    NotText { subject: String },
    /// It is not a JSON object, or lacks a required field.
    #[error("the manifest of {subject} is invalid: {cause}")]
    Json { subject: String, cause: String },
    /// It speaks of another hook.
    #[error("the manifest of {subject} names `{says}`: use the same name in both")]
    Name { subject: String, says: String },
    /// An unknown point.
    #[error(
        "the manifest of {subject} lists an unknown point `{point}`: did you mean `{nearest}`?"
    )]
    Point { subject: String, point: String, nearest: &'static str },
    /// An unknown word.
    #[error("the manifest of {subject} has {key} = `{says}`: expected {expected}")]
    Word { subject: String, key: &'static str, says: String, expected: &'static str },
}
