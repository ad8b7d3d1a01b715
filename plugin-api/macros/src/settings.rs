//! `#[derive(Deserialize)]`: serde's derive on a twin of the struct, and a description of the fields.

use crate::attributes::{doc_line, entries, expr_of, has_word, text_of, texts_of};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Expr, ExprLit, Field, Fields, FieldsNamed, Lit, LitStr,
};

/// The implementation for one struct or enum.
pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(syn::Error::new_spanned(
            &input.generics,
            "settings take no generic parameters",
        ));
    }
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => derive_struct(input, fields),
            _ => Err(syn::Error::new_spanned(&input.ident, "settings need named fields")),
        },
        Data::Enum(data) => derive_enum(input, data),
        Data::Union(_) => Err(syn::Error::new_spanned(&input.ident, "a union cannot be settings")),
    }
}

fn serde_attrs(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|a| a.path().is_ident("serde"))
}

/// Attributes that change which keys serde accepts in ways that the description does not follow.
fn refuse_undescribed(attrs: &[Attribute], keys: &[&str]) -> syn::Result<()> {
    let found = entries(attrs, "serde")?
        .into_iter()
        .find(|meta| keys.iter().any(|key| meta.path().is_ident(key)));
    match found {
        None => Ok(()),
        Some(meta) => Err(syn::Error::new_spanned(
            meta,
            "the parameter description cannot follow this; write it on each field, or derive serde::Deserialize",
        )),
    }
}

fn derive_struct(input: &DeriveInput, fields: &FieldsNamed) -> syn::Result<TokenStream> {
    refuse_undescribed(
        &input.attrs,
        &["rename_all", "rename_all_fields", "default", "transparent", "from", "try_from"],
    )?;
    for field in &fields.named {
        refuse_undescribed(&field.attrs, &["with", "deserialize_with"])?;
    }
    let name = &input.ident;
    let doc = doc_line(&input.attrs);
    let container = serde_attrs(&input.attrs);
    let twin_fields = fields.named.iter().map(twin_field).collect::<syn::Result<Vec<_>>>()?;
    let defaults = fields.named.iter().map(default_fn).collect::<syn::Result<Vec<_>>>()?;
    let checks = fields.named.iter().map(check).collect::<syn::Result<Vec<_>>>()?;
    let moved = fields.named.iter().map(|f| {
        let ident = &f.ident;
        quote!(#ident: twin.#ident)
    });
    let described = fields.named.iter().map(describe_field).collect::<syn::Result<Vec<_>>>()?;
    let valued = fields.named.iter().map(value_of_field).collect::<syn::Result<Vec<_>>>()?;
    Ok(quote! {
        const _: () = {
            use ::hookrack_plugin_api::__private as api;
            #[allow(unused_imports, reason = "a struct needs them only where it has such fields")]
            use api::{AskAnything as _, AskDefault as _, AskNested as _, AskOption as _, AskSetting as _, Describe as _, Setting as _};

            #[derive(api::serde::Deserialize)]
            #[serde(crate = "::hookrack_plugin_api::__private::serde")]
            #(#container)*
            struct Twin { #(#twin_fields),* }

            #(#defaults)*

            impl<'de> api::serde::de::Deserialize<'de> for #name {
                fn deserialize<D: api::serde::de::Deserializer<'de>>(
                    deserializer: D,
                ) -> ::core::result::Result<Self, D::Error> {
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
        };
    })
}

/// The field of the twin, with serde's attributes and the default that `#[param(default = …)]` gives it.
fn twin_field(field: &Field) -> syn::Result<TokenStream> {
    let (ident, ty) = (&field.ident, &field.ty);
    let Some((name, _)) = own_default(field)? else {
        let attrs = serde_attrs(&field.attrs);
        return Ok(quote!(#(#attrs)* #ident: #ty));
    };
    let entries = entries(&field.attrs, "serde")?;
    let others = entries.iter().filter(|meta| !meta.path().is_ident("default"));
    let name = name.to_string();
    Ok(quote!(#[serde(#(#others,)* default = #name)] #ident: #ty))
}

/// The function that gives a field's own default, where it has one.
fn default_fn(field: &Field) -> syn::Result<Option<TokenStream>> {
    let ty = &field.ty;
    Ok(own_default(field)?.map(|(name, value)| quote!(fn #name() -> #ty { #value })))
}

/// What `#[param(default = …)]` or a bare `#[serde(default)]` says: the name of the function that gives the default, and
/// its value. A table of settings that is left out has the defaults of those settings, as an empty one has.
fn own_default(field: &Field) -> syn::Result<Option<(syn::Ident, TokenStream)>> {
    let (param, serde) = (entries(&field.attrs, "param")?, entries(&field.attrs, "serde")?);
    let is_plain = !is_skipped(field)? && !has_word(&serde, "flatten");
    let ty = &field.ty;
    let value = match expr_of(&param, "default") {
        Some(value) if has_word(&serde, "default") || text_of(&serde, "default").is_some() => {
            return Err(syn::Error::new_spanned(value, "serde gives this field a default already"));
        }
        Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => quote!(<#ty>::from(#text)),
        Some(value) => value.to_token_stream(),
        None if is_plain && has_word(&serde, "default") => {
            quote!((&&api::Ask::<#ty>::new()).usual())
        }
        None => return Ok(None),
    };
    let own = field.ident.as_ref().map(|ident| ident.unraw().to_string()).unwrap_or_default();
    Ok(Some((format_ident!("default_{own}"), value)))
}

/// Has the function of `#[param(check = …)]` look at a field's value, where it has one.
fn check(field: &Field) -> syn::Result<Option<TokenStream>> {
    let param = entries(&field.attrs, "param")?;
    let (key, ident) = (key_of(field)?, &field.ident);
    Ok(expr_of(&param, "check").map(|check| {
        quote! {
            if let ::core::result::Result::Err(why) = (#check)(&twin.#ident) {
                return ::core::result::Result::Err(<D::Error as api::serde::de::Error>::custom(
                    ::std::format!("{}: {}", #key, why),
                ));
            }
        }
    }))
}

/// The key under which a field is written.
fn key_of(field: &Field) -> syn::Result<String> {
    let renamed = text_of(&entries(&field.attrs, "serde")?, "rename");
    // `r#type` is `type`, for serde as for people.
    let own = field.ident.as_ref().map(|ident| ident.unraw().to_string());
    Ok(renamed.unwrap_or_else(|| own.unwrap_or_default()))
}

fn is_skipped(field: &Field) -> syn::Result<bool> {
    let serde = entries(&field.attrs, "serde")?;
    Ok(has_word(&serde, "skip") || has_word(&serde, "skip_deserializing"))
}

/// A statement that pushes the field's description onto `params`.
fn describe_field(field: &Field) -> syn::Result<TokenStream> {
    let serde = entries(&field.attrs, "serde")?;
    let ty = &field.ty;
    if is_skipped(field)? {
        return Ok(TokenStream::new());
    }
    if has_word(&serde, "flatten") {
        return Ok(quote!(params.extend(<#ty as api::Describe>::params());));
    }
    let (key, doc) = (key_of(field)?, doc_line(&field.attrs));
    let presence = if let Some((name, _)) = own_default(field)? {
        default_presence(&quote!(#name()), ty)
    } else if let Some(path) = text_of(&serde, "default") {
        let path: syn::Path = LitStr::new(&path, proc_macro2::Span::call_site()).parse()?;
        default_presence(&quote!(#path()), ty)
    } else {
        quote!(if (&&&api::Ask::<#ty>::new()).optional() { api::Presence::Optional } else { api::Presence::Required })
    };
    let aliases = texts_of(&serde, "alias");
    let param = entries(&field.attrs, "param")?;
    let (min, max) = (bound(&param, "min", 0, ty), bound(&param, "max", 1, ty));
    let naming = has_word(&param, "monitor").then(|| quote!(.naming_scalars()));
    Ok(quote! {
        params.push(api::Param {
            name: ::std::string::String::from(#key),
            aliases: ::std::vec![#(::std::string::String::from(#aliases)),*],
            doc: ::std::string::String::from(#doc),
            ty: (&&&api::Ask::<#ty>::new()).param_type() #naming,
            presence: #presence,
            min: #min,
            max: #max,
        });
    })
}

fn default_presence(default: &TokenStream, ty: &syn::Type) -> TokenStream {
    quote! {
        match (&&&api::Ask::<#ty>::new()).to_value(&#default) {
            ::core::option::Option::Some(value) => api::Presence::Default(value),
            ::core::option::Option::None => api::Presence::Optional,
        }
    }
}

/// What is written, or what the type itself holds.
fn bound(entries: &[syn::Meta], key: &str, end: usize, ty: &syn::Type) -> TokenStream {
    let bound = expr_of(entries, key).map(ToTokens::to_token_stream);
    let end = syn::Index::from(end);
    bound.map_or(
        quote!((&&&api::Ask::<#ty>::new()).range().#end),
        |expr| quote!(::core::option::Option::Some((#expr) as f64)),
    )
}

/// A statement that pushes the field's value onto `fields`, for a struct that is itself a default.
fn value_of_field(field: &Field) -> syn::Result<TokenStream> {
    if is_skipped(field)? {
        return Ok(TokenStream::new());
    }
    let (ident, ty, key) = (&field.ident, &field.ty, key_of(field)?);
    if has_word(&entries(&field.attrs, "serde")?, "flatten") {
        return Ok(quote! {
            if let ::core::option::Option::Some(api::Value::Table(inner)) = api::Setting::to_value(&self.#ident) {
                fields.extend(inner);
            }
        });
    }
    Ok(quote! {
        if let ::core::option::Option::Some(value) = (&&&api::Ask::<#ty>::new()).to_value(&self.#ident) {
            fields.push((::std::string::String::from(#key), value));
        }
    })
}

fn derive_enum(input: &DeriveInput, data: &DataEnum) -> syn::Result<TokenStream> {
    if let Some(variant) = data.variants.iter().find(|v| !matches!(v.fields, Fields::Unit)) {
        return Err(syn::Error::new_spanned(
            variant,
            "a settings enum has plain names only; use serde::Deserialize",
        ));
    }
    let name = &input.ident;
    let rename_all = text_of(&entries(&input.attrs, "serde")?, "rename_all");
    let container = serde_attrs(&input.attrs);
    let variants: Vec<_> = data.variants.iter().map(|v| &v.ident).collect();
    let attrs = data.variants.iter().map(|v| {
        let attrs = serde_attrs(&v.attrs);
        quote!(#(#attrs)*)
    });
    let names = data
        .variants
        .iter()
        .map(|v| {
            Ok(text_of(&entries(&v.attrs, "serde")?, "rename")
                .unwrap_or_else(|| cased(&v.ident.to_string(), rename_all.as_deref())))
        })
        .collect::<syn::Result<Vec<_>>>()?;
    let twin = format_ident!("Twin");
    Ok(quote! {
        const _: () = {
            use ::hookrack_plugin_api::__private as api;

            #[derive(api::serde::Deserialize)]
            #[serde(crate = "::hookrack_plugin_api::__private::serde")]
            #(#container)*
            enum #twin { #(#attrs #variants),* }

            impl<'de> api::serde::de::Deserialize<'de> for #name {
                fn deserialize<D: api::serde::de::Deserializer<'de>>(
                    deserializer: D,
                ) -> ::core::result::Result<Self, D::Error> {
                    ::core::result::Result::Ok(
                        match <#twin as api::serde::de::Deserialize>::deserialize(deserializer)? {
                            #(#twin::#variants => Self::#variants),*
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

/// A variant's name in the case that `rename_all` asks for.
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
