//! The macros of `hookrack-plugin-api`. See there for how they are used.

mod attributes;
mod implementation;
mod settings;

use proc_macro::TokenStream;
use syn::punctuated::Punctuated;
use syn::{DeriveInput, ItemImpl, Meta, Token, parse_macro_input};

/// serde's `Deserialize`, plus the description of each field that goes into the manifest.
///
/// Takes every `#[serde(…)]` attribute, and `#[param(min = 0.0, max = 1.0)]` on a field for the range that
/// the host checks before the plugin is asked.
#[proc_macro_derive(Deserialize, attributes(serde, param))]
pub fn derive_deserialize(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    settings::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// On an `impl Hook for …`: finds the implemented points and describes the hook for the manifest.
///
/// - `level = NORMAL` (or any integer): where it stands when the config does not say;
/// - `aliases = "PeriodicWriter"`: other names by which a config may name it;
/// - `mutates = "params, grads, lr"`: what it changes; without it the hook is an observer;
/// - `reads = "…"`, `writes = "…"`: values that other hooks write or read;
/// - `on_error = "abort" | "disable" | "warn"`: what the host does when it fails and the config does not say.
#[proc_macro_attribute]
pub fn hook(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let entries =
        parse_macro_input!(arguments with Punctuated::<Meta, Token![,]>::parse_terminated);
    let entries: Vec<_> = entries.into_iter().collect();
    let item = parse_macro_input!(item as ItemImpl);
    implementation::hook(&entries, item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// On an `impl Metric for …`: describes the metric for the manifest. `better = "higher" | "lower"`, `unit = "%"`,
/// `aliases = "AUC"`.
#[proc_macro_attribute]
pub fn metric(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let entries =
        parse_macro_input!(arguments with Punctuated::<Meta, Token![,]>::parse_terminated);
    let entries: Vec<_> = entries.into_iter().collect();
    let item = parse_macro_input!(item as ItemImpl);
    implementation::metric(&entries, &item).unwrap_or_else(syn::Error::into_compile_error).into()
}
