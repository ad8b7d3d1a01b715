//! `#[derive(Settings)]` and `#[derive(Deserialize)]`: serde's derive on a hidden copy of the struct (`Twin`), and a description
//! of the fields for the manifest.

mod choice;
mod field;
#[cfg(test)]
mod tests;

use crate::attributes::{doc_line, entries};
use field::{FieldSpec, ValueSource};
use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Result};

/// Which of the two derives is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `#[derive(Settings)]`: only `#[param(…)]` attributes; unknown keys are refused.
    Settings,
    /// `#[derive(Deserialize)]`: serde's attributes in addition to `#[param(…)]`.
    Deserialize,
}

/// The implementation for one struct or enum.
pub(crate) fn derive(input: &DeriveInput, dialect: Dialect) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "settings take no generic parameters"));
    }
    if dialect == Dialect::Settings {
        no_serde(&input.attrs)?;
        if let Some(attr) = input.attrs.iter().find(|attr| attr.path().is_ident("param")) {
            return Err(Error::new_spanned(attr, "`#[param]` belongs on a field or a variant"));
        }
    }
    let nothing = Punctuated::default();
    match (&input.data, dialect) {
        (Data::Struct(data), _) => match (&data.fields, dialect) {
            (Fields::Named(fields), _) => derive_struct(input, &fields.named, dialect),
            (Fields::Unit, Dialect::Settings) => derive_struct(input, &nothing, dialect),
            _ => Err(Error::new_spanned(&input.ident, "settings need named fields")),
        },
        (Data::Enum(data), _) => choice::derive(input, data, dialect),
        (Data::Union(_), _) => Err(Error::new_spanned(&input.ident, "a union cannot be settings")),
    }
}

fn serde_attrs(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("serde"))
}

/// Refuses `#[serde(…)]` in `#[derive(Settings)]`, which has `#[param(…)]` for everything.
fn no_serde(attrs: &[Attribute]) -> Result<()> {
    match serde_attrs(attrs).next() {
        None => Ok(()),
        Some(attr) => Err(Error::new_spanned(
            attr,
            "`#[derive(Settings)]` takes `#[param(…)]` instead: default, name, alias, skip, flatten; unknown keys are \
             always refused",
        )),
    }
}

/// Refuses attributes that change which keys serde accepts without changing the description.
fn refuse_undescribed(attrs: &[Attribute], keys: &[&str]) -> Result<()> {
    let found = entries(attrs, "serde")?
        .into_iter()
        .find(|meta| keys.iter().any(|key| meta.path().is_ident(key)));
    match found {
        None => Ok(()),
        Some(meta) => Err(Error::new_spanned(
            meta,
            "the description of the parameters does not support this attribute; set it on each field, or derive serde::Deserialize",
        )),
    }
}

fn derive_struct(
    input: &DeriveInput,
    fields: &Punctuated<Field, syn::Token![,]>,
    dialect: Dialect,
) -> Result<TokenStream> {
    refuse_undescribed(
        &input.attrs,
        &["rename_all", "rename_all_fields", "default", "transparent", "from", "try_from"],
    )?;
    let specs =
        fields.iter().map(|field| FieldSpec::read(field, dialect)).collect::<Result<Vec<_>>>()?;
    let (name, doc) = (&input.ident, doc_line(&input.attrs));
    let container = container_attrs(input, &specs, dialect);
    let twin_fields = specs.iter().map(FieldSpec::twin);
    let defaults = specs.iter().filter_map(FieldSpec::default_fn);
    let checks = specs.iter().filter_map(FieldSpec::check);
    let moved = specs.iter().map(|FieldSpec { ident, .. }| quote!(#ident: twin.#ident));
    let described = specs.iter().map(FieldSpec::describe);
    let (valued, saved) = (specs.iter().map(FieldSpec::value), saved_fields(name, &specs));
    let empty = empty_table(name, &specs);
    Ok(quote! {
        const _: () = {
            use ::hookrack_plugin_api::__private as api;
            #[allow(unused_imports, reason = "used only by structs with such fields")]
            use api::{AskAnything as _, AskDefault as _, AskNested as _, AskOption as _, AskSetting as _, AskTable as _, Describe as _, Setting as _};

            #[derive(api::serde::Deserialize)]
            #[serde(crate = "::hookrack_plugin_api::__private::serde")]
            #container
            struct Twin { #(#twin_fields),* }

            #(#defaults)*

            impl<'de> api::serde::de::Deserialize<'de> for #name {
                fn deserialize<D: api::serde::de::Deserializer<'de>>(
                    deserializer: D,
                ) -> ::core::result::Result<Self, D::Error> {
                    #[allow(unused_variables, reason = "a struct may have no settings at all")]
                    let twin = <Twin as api::serde::de::Deserialize>::deserialize(deserializer)?;
                    #(#checks)*
                    ::core::result::Result::Ok(Self { #(#moved),* })
                }
            }

            impl api::Describe for #name {
                const DOC: &'static str = #doc;
                fn params() -> ::std::vec::Vec<api::Param> {
                    #[allow(unused_mut, reason = "a struct may have no settings at all")]
                    let mut params = ::std::vec::Vec::new();
                    #(#described)*
                    params
                }
            }

            impl api::Setting for #name {
                fn param_type() -> api::ParamType {
                    api::ParamType::Table(<Self as api::Describe>::params())
                }
                fn to_value(&self) -> ::core::option::Option<api::Value> {
                    #[allow(unused_mut, reason = "a struct may have no settings at all")]
                    let mut fields = ::std::vec::Vec::new();
                    #(#valued)*
                    ::core::option::Option::Some(api::Value::Table(fields))
                }
            }

            #empty

            #saved
        };
    })
}

/// The implementation of `SettingDefaults`, if every setting may be omitted.
fn empty_table(name: &syn::Ident, specs: &[FieldSpec<'_>]) -> TokenStream {
    let idents = specs.iter().map(|spec| spec.ident);
    let Some(values) = specs.iter().map(FieldSpec::omitted).collect::<Option<Vec<_>>>() else {
        return TokenStream::new();
    };
    quote! {
        impl api::SettingDefaults for #name {
            fn setting_defaults() -> Self {
                Self { #(#idents: #values),* }
            }
        }
    }
}

/// The implementation of `SavedFields`, if a field has `#[param(state)]`.
fn saved_fields(name: &syn::Ident, specs: &[FieldSpec<'_>]) -> TokenStream {
    let saved: Vec<_> = specs.iter().filter(|spec| spec.is_state).collect();
    if saved.is_empty() {
        return TokenStream::new();
    }
    let idents: Vec<_> = saved.iter().map(|spec| spec.ident).collect();
    let keys: Vec<_> = saved.iter().map(|spec| &spec.key).collect();
    quote! {
        impl api::SavedFields for #name {
            fn save(&self, state: &mut api::StateWriter<'_>) -> api::Result<()> {
                #(api::StateField::save(&self.#idents, #keys, state)?;)*
                ::core::result::Result::Ok(())
            }
            fn load(&mut self, state: &api::StateReader<'_>) -> api::Result<()> {
                #(api::StateField::load(&mut self.#idents, #keys, state)?;)*
                ::core::result::Result::Ok(())
            }
        }
    }
}

/// The serde attributes of the twin itself. Serde cannot refuse unknown keys if a field is flattened; the host does, using
/// the description.
fn container_attrs(input: &DeriveInput, specs: &[FieldSpec<'_>], dialect: Dialect) -> TokenStream {
    let is_flat = specs.iter().any(|spec| spec.source == ValueSource::Flattened);
    match dialect {
        Dialect::Settings if is_flat => TokenStream::new(),
        Dialect::Settings => quote!(#[serde(deny_unknown_fields)]),
        Dialect::Deserialize => {
            let own = serde_attrs(&input.attrs);
            quote!(#(#own)*)
        }
    }
}
