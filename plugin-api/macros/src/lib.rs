//! The macros of `hookrack-plugin-api`. See there for how they are used.

mod attributes;
mod implementation;
mod settings;

use proc_macro::TokenStream;
use settings::Dialect;
use syn::punctuated::Punctuated;
use syn::{DeriveInput, ItemImpl, Meta, Token, parse_macro_input};

/// Makes a struct the settings of a hook or a metric, or a fieldless enum the type of a setting.
///
/// Each field is a key of the config, its doc comment the help text. Unknown keys are errors. A field without a default is
/// required, unless it is an `Option`. The host validates a config with these descriptions before the plugin is called, and
/// `hookrack inspect` prints them. `#[param(…)]` sets everything else:
///
/// - `default = 10`: the default, any expression of the field's type; a string (`"adam"`) and a list (`[64, 32]`,
///   `["loss", "lr"]`) become a `String` and a `Vec`. A bare `default` is `Default::default()`, and for a nested struct of
///   settings the defaults of its fields;
/// - `min = 0.0`, `max = 1.0`: the range of a number, inclusive;
/// - `name = "type"`: the name of the key, if it is not that of the field; `alias = "lr"`: an additional name;
/// - `check = function`: a `fn(&T) -> Result<(), String>` for any other validation;
/// - `monitor`: the string is the full name of a scalar, such as `val/loss`;
/// - `skip`: not a setting, but an internal field; it starts as `Default::default()`;
/// - `state`: as `skip`, and saved in checkpoints under the field's name: numbers, strings, lists of them, tensors, and any
///   other `StateField`. A resume restores it, without `save_state` and `load_state`;
/// - `flatten`: the fields of this struct are keys of the same table. Only the host checks for unknown keys then.
///
/// The variants of an enum are in snake case in configs; `#[param(name = "…")]` renames one.
///
/// An invalid attribute is a compile error at that attribute.
#[proc_macro_derive(Settings, attributes(serde, param))]
pub fn derive_settings(input: TokenStream) -> TokenStream {
    derive(input, Dialect::Settings)
}

/// serde's `Deserialize`, plus the description of each field for the manifest.
///
/// Accepts every `#[serde(…)]` attribute in addition to `#[param(…)]`. It is kept for plugins that were written before
/// [`macro@Settings`], which does the same in fewer lines.
#[proc_macro_derive(Deserialize, attributes(serde, param))]
pub fn derive_deserialize(input: TokenStream) -> TokenStream {
    derive(input, Dialect::Deserialize)
}

fn derive(input: TokenStream, dialect: Dialect) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    settings::derive(&input, dialect).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// On an `impl Hook for …`: subscribes to the implemented points and describes the hook for the manifest.
///
/// - `level = NORMAL` (or any integer): the default level;
/// - `every = "10it"` or `"2ep"`: the default cadence;
/// - `ranks = "main"`: it runs on rank 0 only, not on all ranks; `"last_stage"`: on the ranks that have output and loss in a pipeline;
/// - `aliases = "PeriodicWriter"`: other names that a config may use;
/// - `mutates = "params, grads, lr"`: what it changes, also `momentum`, `input`, `label`, `output` and `loss`; without it the hook is an observer;
/// - `reads = "…"`, `writes = "…"`: values that it reads and writes, and the scalars that it logs;
/// - `ops = [NORM, "aten::add"]`: operators of libtorch that it calls; a missing one is reported before the run;
/// - `on_error = "abort" | "disable" | "warn"`: the default error policy.
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
