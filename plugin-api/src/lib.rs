//! What a hookrack plugin author depends on.
// The derive names this crate by its full path, in here too.
extern crate self as hookrack_plugin_api;

pub mod describe;
pub mod value;

pub use describe::{Describe, Param, ParamType, Presence};
pub use value::{Value, from_value};

/// What a plugin imports.
pub mod prelude {
    pub use crate::describe::Describe;
    pub use crate::value::Value;
    pub use hookrack_plugin_macros::Deserialize;
    pub use serde::de::Deserialize;
}

/// What the macros' output names. Not for authors.
#[doc(hidden)]
pub mod __private {
    pub use crate::describe::{
        Ask, AskAnything, AskDescribe, AskSetting, AskUndescribed, Describe, Param, ParamType,
        Presence, Setting,
    };
    pub use crate::value::Value;
    pub use serde;
}
