//! Why a manifest cannot be used.

/// Why a manifest cannot be used. `owner` is the hook or metric, such as "hook `Ema`".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ManifestError {
    #[error("{owner} has no name: set the name that configs use")]
    Unnamed { owner: String },
    /// Its name is not valid: it is a key of checkpoints and a part of key paths.
    #[error("{owner} cannot be named `{name}`: {rule}", rule = hookrack_plugin_api::name::RULE)]
    BadName { owner: String, name: String },
    #[error("{owner} is exported twice: give one of them another name")]
    Twice { owner: String },
    /// It is not UTF-8, or its pointer or length were never set.
    #[error("the manifest of {owner} is not UTF-8 text")]
    NotText { owner: String },
    #[error("the manifest of {owner} is invalid: {cause}")]
    Json { owner: String, cause: String },
    #[error("the manifest of {owner} names `{says}`: use the same name in both")]
    Name { owner: String, says: String },
    #[error("the manifest of {owner} lists an unknown point `{point}`: did you mean `{nearest}`?")]
    Point { owner: String, point: String, nearest: &'static str },
    #[error("the manifest of {owner} has {key} = `{says}`: expected {expected}")]
    Word { owner: String, key: &'static str, says: String, expected: &'static str },
}
