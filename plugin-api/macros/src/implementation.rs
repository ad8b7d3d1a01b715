//! `#[hook]` and `#[metric]`: the impl block as written, and an impl of `HookInfo` or `MetricInfo` derived from it.

use crate::attributes::{check_keys, check_texts, expr_of, text_of};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Error, Expr, ImplItem, ItemImpl, Meta, Result};

/// Names of points in other frameworks. `Point::ALIASES` of plugin-api has the same list; a test there compares them.
const ALIASES: [(&str, &str); 9] = [
    ("before_step", "before_train_iter"),
    ("after_step", "after_train_iter"),
    ("on_run_begin", "before_run"),
    ("on_run_end", "after_run"),
    ("on_epoch_begin", "before_epoch"),
    ("on_epoch_end", "after_epoch"),
    ("on_iter_begin", "before_iter"),
    ("on_iter_end", "after_iter"),
    ("after_hook_is_attached", "on_attach"),
];

/// `#[hook(level = NORMAL, every = "10it", ranks = "main", aliases = "…", mutates = "params", reads = "…", writes = "…", ops = […], on_error = "abort")]`
pub(crate) fn hook(entries: &[Meta], mut item: ItemImpl) -> Result<TokenStream> {
    check_keys(
        entries,
        &["level", "every", "ranks", "aliases", "mutates", "reads", "writes", "ops", "on_error"],
    )?;
    check_texts(entries, &["every", "ranks", "aliases", "mutates", "reads", "writes", "on_error"])?;
    check_every(entries)?;
    check_ranks(entries)?;
    resolve_aliases(&mut item);
    let methods = methods(&item);
    let is_state = |name: &str| matches!(name, "save_state" | "load_state");
    let has_state = methods.iter().any(|(name, _)| name == "save_state");
    // A method with `#[cfg(…)]` is a point only if it is compiled.
    let points = methods
        .iter()
        .filter(|(name, _)| !is_state(name))
        .map(|(name, cfg)| quote!(#(#cfg)* #name));
    let level = level(expr_of(entries, "level"));
    let text = |key| text_of(entries, key).unwrap_or_default();
    let (mutates, reads, writes, on_error, aliases, every, ranks) = (
        text("mutates"),
        text("reads"),
        text("writes"),
        text("on_error"),
        text("aliases"),
        text("every"),
        text("ranks"),
    );
    let ty = &item.self_ty;
    let (about, ops, no_fields) = (about(ty), ops(entries)?, no_fields());
    Ok(quote! {
        #item

        impl ::hookrack_plugin_api::HookInfo for #ty {
            const POINTS: &'static [&'static str] = &[#(#points),*];
            const LEVEL: ::hookrack_plugin_api::Level = #level;
            const EVERY: &'static str = #every;
            const RANKS: &'static str = #ranks;
            const ALIASES: &'static str = #aliases;
            const MUTATES: &'static str = #mutates;
            const READS: &'static str = #reads;
            const WRITES: &'static str = #writes;
            const ON_ERROR: &'static str = #on_error;
            const HAS_STATE: bool = {
                #no_fields
                #has_state || api::Fields::<#ty>::ANY
            };
            fn save_fields(&self, state: &mut ::hookrack_plugin_api::StateWriter<'_>) -> ::hookrack_plugin_api::Result<()> {
                #no_fields
                api::Fields::<#ty>::save(self, state)
            }
            fn load_fields(&mut self, state: &::hookrack_plugin_api::StateReader<'_>) -> ::hookrack_plugin_api::Result<()> {
                #no_fields
                api::Fields::<#ty>::load(self, state)
            }
            #ops
            #about
        }
    })
}

/// Checks that a cadence is a number and a unit. The host checks it again; here the error points at the attribute.
fn check_every(entries: &[Meta]) -> Result<()> {
    let Some(every) = expr_of(entries, "every") else { return Ok(()) };
    let text = text_of(entries, "every").unwrap_or_default();
    let count = text.strip_suffix("it").or_else(|| text.strip_suffix("ep"));
    if count.and_then(|count| count.parse::<u64>().ok()).is_some_and(|count| count > 0) {
        return Ok(());
    }
    Err(Error::new_spanned(every, "expected iterations or epochs, such as \"10it\" or \"2ep\""))
}

/// Checks the value of `ranks`, for the same reason.
fn check_ranks(entries: &[Meta]) -> Result<()> {
    let Some(ranks) = expr_of(entries, "ranks") else { return Ok(()) };
    match text_of(entries, "ranks").unwrap_or_default().as_str() {
        "all" | "main" | "last_stage" => Ok(()),
        _ => Err(Error::new_spanned(ranks, "expected \"all\", \"main\" or \"last_stage\"")),
    }
}

/// `#[metric(better = "higher", unit = "%", aliases = "…", ops = […])]`
pub(crate) fn metric(entries: &[Meta], item: &ItemImpl) -> Result<TokenStream> {
    check_keys(entries, &["better", "unit", "aliases", "ops"])?;
    check_texts(entries, &["better", "unit", "aliases"])?;
    let text = |key| text_of(entries, key).unwrap_or_default();
    let (better, unit, aliases) = (text("better"), text("unit"), text("aliases"));
    if !matches!(better.as_str(), "higher" | "lower" | "") {
        return Err(Error::new_spanned(&entries[0], "better must be \"higher\" or \"lower\""));
    }
    let ty = &item.self_ty;
    // A macro in the block may expand to `save_state`.
    let has_macro = item.items.iter().any(|item| matches!(item, ImplItem::Macro(_)));
    let saves = has_macro || methods(item).iter().any(|(name, _)| name == "save_state");
    let (about, ops, no_fields) = (about(ty), ops(entries)?, no_fields());
    Ok(quote! {
        #item

        const _: () = {
            #no_fields
            ::core::assert!(
                #saves || api::Fields::<#ty>::ANY,
                "a metric must save what it accumulates: mark its fields with #[param(state)], or implement save_state"
            );
        };

        impl ::hookrack_plugin_api::MetricInfo for #ty {
            fn save_fields(&self, state: &mut ::hookrack_plugin_api::StateWriter<'_>) -> ::hookrack_plugin_api::Result<()> {
                #no_fields
                api::Fields::<#ty>::save(self, state)
            }
            const BETTER: &'static str = #better;
            const UNIT: &'static str = #unit;
            const ALIASES: &'static str = #aliases;
            #ops
            #about
        }
    })
}

/// Imports the fallback for `Fields::<T>` if `T` has no saved fields.
fn no_fields() -> TokenStream {
    quote! {
        #[allow(unused_imports, reason = "a struct with saved fields has its own implementation")]
        use ::hookrack_plugin_api::__private::{self as api, NoFields as _};
    }
}

/// `ops = [NORM, "aten::add"]`: operators as statics or by name.
fn ops(entries: &[Meta]) -> Result<TokenStream> {
    let listed = match expr_of(entries, "ops") {
        None => return Ok(TokenStream::new()),
        Some(Expr::Array(list)) => list.elems.iter(),
        Some(other) => {
            return Err(Error::new_spanned(
                other,
                "expected a list, such as [NORM, \"aten::add\"]",
            ));
        }
    };
    Ok(quote! {
        fn ops() -> ::std::vec::Vec<&'static str> {
            ::std::vec![#(::hookrack_plugin_api::op::OpName::op_name(&#listed)),*]
        }
    })
}

/// Doc line and parameters, from the settings struct if it implements `Describe`.
fn about(ty: &syn::Type) -> TokenStream {
    quote! {
        fn doc() -> &'static str {
            #[allow(unused_imports, reason = "only one of the two applies to a given type")]
            use ::hookrack_plugin_api::__private::{Ask, AskDescribe as _, AskUndescribed as _};
            (&&Ask::<#ty>::new()).doc()
        }
        fn params() -> ::core::option::Option<::std::vec::Vec<::hookrack_plugin_api::Param>> {
            #[allow(unused_imports, reason = "only one of the two applies to a given type")]
            use ::hookrack_plugin_api::__private::{Ask, AskDescribe as _, AskUndescribed as _};
            (&&Ask::<#ty>::new()).params()
        }
    }
}

fn resolve_aliases(item: &mut ItemImpl) {
    for method in &mut item.items {
        let ImplItem::Fn(method) = method else { continue };
        let name = method.sig.ident.to_string();
        if let Some((_, point)) = ALIASES.iter().find(|(alias, _)| *alias == name) {
            method.sig.ident = syn::Ident::new(point, method.sig.ident.span());
        }
    }
}

/// The methods of the block, each with its `#[cfg(…)]` attributes.
fn methods(item: &ItemImpl) -> Vec<(String, Vec<&Attribute>)> {
    let mut methods = Vec::new();
    for member in &item.items {
        if let ImplItem::Fn(method) = member {
            let conditions = method.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
            methods.push((method.sig.ident.to_string(), conditions.collect()));
        }
    }
    methods
}

/// A single identifier such as `NORMAL` is a named level; anything else is a number.
fn level(given: Option<&Expr>) -> TokenStream {
    match given {
        None => quote!(::hookrack_plugin_api::Level::NORMAL),
        Some(Expr::Path(path)) if path.path.get_ident().is_some() => {
            quote!(::hookrack_plugin_api::Level::#path)
        }
        Some(number) => quote!(::hookrack_plugin_api::Level(#number)),
    }
}

#[cfg(test)]
mod tests {
    use super::{hook, metric};
    use syn::{ItemImpl, Meta, parse_quote};

    fn error(entry: Meta) -> String {
        let item: ItemImpl = parse_quote!(impl Hook for Watch {});
        hook(&[entry], item).unwrap_err().to_string()
    }

    #[test]
    fn an_invalid_attribute_of_a_hook_is_refused_with_the_valid_ones() {
        assert_eq!(
            error(parse_quote!(levle = 3)),
            "unknown key `levle`: expected level, every, ranks, aliases, mutates, reads, writes, ops or on_error"
        );
        assert_eq!(error(parse_quote!(mutates = params)), "expected a string: mutates = \"…\"");
        assert_eq!(
            error(parse_quote!(ops = "aten::add")),
            "expected a list, such as [NORM, \"aten::add\"]"
        );
        for every in ["10", "it", "0it", "10 it", "-1ep"] {
            let entry = parse_quote!(every = #every);
            assert!(error(entry).starts_with("expected iterations or epochs"), "{every}");
        }
    }

    #[test]
    fn a_metric_is_better_higher_or_lower() {
        let item: ItemImpl = parse_quote!(impl Metric for Share {});
        let error = metric(&[parse_quote!(better = "more")], &item).unwrap_err().to_string();
        assert_eq!(error, "better must be \"higher\" or \"lower\"");
    }
}
