//! The macros of `hookrack-plugin-api`. See there for how they are used.

mod attributes;
mod settings;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// serde's `Deserialize`, plus the description of each field that goes into the manifest.
///
/// Takes every `#[serde(…)]` attribute, and `#[param(min = 0.0, max = 1.0)]` on a field for the range that
/// the host checks before the plugin is asked.
#[proc_macro_derive(Deserialize, attributes(serde, param))]
pub fn derive_deserialize(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    settings::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
