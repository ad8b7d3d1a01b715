//! A fieldless enum as the type of a setting: one of several strings.

use super::{Dialect, no_serde, serde_attrs};
use crate::attributes::{check_keys, entries, text_of, texts_of};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Error, Fields, Result, Variant};

pub(super) fn derive(
    input: &DeriveInput,
    data: &DataEnum,
    dialect: Dialect,
) -> Result<TokenStream> {
    if let Some(variant) = data.variants.iter().find(|v| !matches!(v.fields, Fields::Unit)) {
        return Err(Error::new_spanned(
            variant,
            "a settings enum must have only variants without fields; or derive serde::Deserialize",
        ));
    }
    let name = &input.ident;
    let rename_all = match dialect {
        Dialect::Settings => Some("snake_case".to_owned()),
        Dialect::Deserialize => text_of(&entries(&input.attrs, "serde")?, "rename_all"),
    };
    let container = serde_attrs(&input.attrs);
    let variants: Vec<_> = data.variants.iter().map(|v| &v.ident).collect();
    let written =
        data.variants.iter().map(|variant| written(variant, rename_all.as_deref(), dialect));
    let (names, attrs): (Vec<_>, Vec<_>) = written.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    Ok(quote! {
        const _: () = {
            use ::hookrack_plugin_api::__private as api;

            #[derive(api::serde::Deserialize)]
            #[serde(crate = "::hookrack_plugin_api::__private::serde")]
            #(#container)*
            enum Twin { #(#attrs #variants),* }

            impl<'de> api::serde::de::Deserialize<'de> for #name {
                fn deserialize<D: api::serde::de::Deserializer<'de>>(
                    deserializer: D,
                ) -> ::core::result::Result<Self, D::Error> {
                    ::core::result::Result::Ok(
                        match <Twin as api::serde::de::Deserialize>::deserialize(deserializer)? {
                            #(Twin::#variants => Self::#variants),*
                        },
                    )
                }
            }

            impl api::Setting for #name {
                fn param_type() -> api::ParamType {
                    api::ParamType::OneOf(::std::vec![#(::std::string::String::from(#names)),*])
                }
                fn to_value(&self) -> ::core::option::Option<api::Value> {
                    ::core::option::Option::Some(api::Value::Str(::std::string::String::from(match self {
                        #(Self::#variants => #names),*
                    })))
                }
            }
        };
    })
}

/// A variant's name in a config, and the serde attributes of its twin.
fn written(
    variant: &Variant,
    rename_all: Option<&str>,
    dialect: Dialect,
) -> Result<(String, TokenStream)> {
    let own = || cased(&variant.ident.to_string(), rename_all);
    if dialect == Dialect::Deserialize {
        let name = text_of(&entries(&variant.attrs, "serde")?, "rename").unwrap_or_else(own);
        let attrs = serde_attrs(&variant.attrs);
        return Ok((name, quote!(#(#attrs)*)));
    }
    no_serde(&variant.attrs)?;
    let param = entries(&variant.attrs, "param")?;
    check_keys(&param, &["name", "alias"])?;
    let name = text_of(&param, "name").unwrap_or_else(own);
    let aliases = texts_of(&param, "alias");
    Ok((name.clone(), quote!(#[serde(rename = #name #(, alias = #aliases)*)])))
}

/// A variant's name in the case of `rename_all`.
fn cased(name: &str, rename_all: Option<&str>) -> String {
    let words = |separator: char| {
        let mut out = String::new();
        for (i, c) in name.chars().enumerate() {
            if c.is_uppercase() && i > 0 {
                out.push(separator);
            }
            out.extend(c.to_lowercase());
        }
        out
    };
    match rename_all {
        Some("lowercase") => name.to_lowercase(),
        Some("UPPERCASE") => name.to_uppercase(),
        Some("snake_case") => words('_'),
        Some("kebab-case") => words('-'),
        _ => name.to_owned(),
    }
}
