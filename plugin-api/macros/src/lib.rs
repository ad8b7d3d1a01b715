//! The macros of `hookrack-plugin-api`. See there for how they are used.

mod attributes;
mod implementation;
mod settings;

use proc_macro::TokenStream;
use settings::Dialect;
use syn::punctuated::Punctuated;
use syn::{DeriveInput, ItemImpl, Meta, Token, parse_macro_input};

/// Makes a struct the settings of a hook or a metric, or an enum of plain names one of them.
///
/// Each field is a key of the config, its doc comment the key's help text. Unknown keys are refused. A field without a
/// default must be written, unless it is an `Option`. The host checks a config by all of this before the plugin is
/// called, and `hookrack inspect` prints it. Everything else is said in `#[param(…)]`:
///
/// - `default = 10`: the value where none is written, any expression of the field's type; a text (`"adam"`) and a list
///   (`[64, 32]`, `["loss", "lr"]`) become a `String` and a `Vec`. A bare `default` is `Default::default()`, and for a
///   struct of settings the defaults of its fields;
/// - `min = 0.0`, `max = 1.0`: the range of a number, both ends included;
/// - `name = "type"`: the key, where it is not the field's name; `alias = "lr"`: another key that means the same;
/// - `check = function`: a `fn(&T) -> Result<(), String>` that refuses a value with its reason;
/// - `monitor`: the text is the full name of a scalar, such as `val/loss`;
/// - `skip`: not a setting, but what the hook keeps for itself; it starts as `Default::default()`;
/// - `state`: likewise, and a checkpoint keeps it, under the field's name: numbers, texts, lists of them, tensors and whatever
///   else is a `StateField`. A resumed run finds it as it was, without a `save_state` and a `load_state`;
/// - `flatten`: the fields of this struct are keys of the same table. Unknown keys are then refused by the host alone.
///
/// The variants of an enum are written in snake case; `#[param(name = "…")]` gives one another name.
///
/// An attribute that cannot be is an error at its place when the plugin is compiled.
#[proc_macro_derive(Settings, attributes(serde, param))]
pub fn derive_settings(input: TokenStream) -> TokenStream {
    derive(input, Dialect::Settings)
}

/// serde's `Deserialize`, plus the description of each field that goes into the manifest.
///
/// Takes every `#[serde(…)]` attribute, and `#[param(…)]` beside them. What plugins were written with before there was
/// [`macro@Settings`], which says the same in fewer lines.
#[proc_macro_derive(Deserialize, attributes(serde, param))]
pub fn derive_deserialize(input: TokenStream) -> TokenStream {
    derive(input, Dialect::Deserialize)
}

fn derive(input: TokenStream, dialect: Dialect) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    settings::derive(&input, dialect).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// On an `impl Hook for …`: finds the implemented points and describes the hook for the manifest.
///
/// - `level = NORMAL` (or any integer): where it stands when the config does not say;
/// - `every = "10it"` or `"2ep"`: how often it runs when the config does not say;
/// - `ranks = "main"`: it runs on the main rank of several, not on all;
/// - `aliases = "PeriodicWriter"`: other names by which a config may name it;
/// - `mutates = "params, grads, lr"`: what it changes, also `input`, `label`, `output` and `loss`; without it the hook is an observer;
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
