//! The macros that make the tables of hooks and metrics, and the symbols of a library.

/// The table of a hook type: `hook_table!(Ema as "EMAIterHook")`. Libraries use [`export_plugin!`](crate::export_plugin).
#[macro_export]
macro_rules! hook_table {
    ($ty:ty) => {
        $crate::hook_table!($ty as ::core::stringify!($ty))
    };
    ($ty:ty as $name:expr) => {{
        extern "C" fn manifest() -> $crate::abi::HrStr {
            static TEXT: ::std::sync::OnceLock<::std::string::String> =
                ::std::sync::OnceLock::new();
            $crate::abi::HrStr::new(TEXT.get_or_init(|| {
                $crate::manifest::guarded(|| $crate::manifest::of_hook::<$ty>($name))
            }))
        }
        $crate::abi::HookExport::<$ty>::table($name, manifest)
    }};
}

/// The table of a metric type: `metric_table!(TopK)`. Libraries use [`export_plugin!`](crate::export_plugin).
#[macro_export]
macro_rules! metric_table {
    ($ty:ty) => {
        $crate::metric_table!($ty as ::core::stringify!($ty))
    };
    ($ty:ty as $name:expr) => {{
        extern "C" fn manifest() -> $crate::abi::HrStr {
            static TEXT: ::std::sync::OnceLock<::std::string::String> =
                ::std::sync::OnceLock::new();
            $crate::abi::HrStr::new(TEXT.get_or_init(|| {
                $crate::manifest::guarded(|| $crate::manifest::of_metric::<$ty>($name))
            }))
        }
        $crate::abi::MetricExport::<$ty>::table($name, manifest)
    }};
}

/// Makes this crate a plugin: `export_plugin! { hooks: [Ema as "EMAIterHook"], metrics: [TopK] }`.
///
/// Use it once, at the top level of a crate with `crate-type = ["cdylib"]`. The name after `as` is the `type` in configs; the default
/// is the name of the Rust type. Names consist of letters, digits, `_`, `-` and `.`, and must be unique in the library. It
/// exports two symbols: one for every host, and one with which a host checks the layout of the tables.
#[macro_export]
macro_rules! export_plugin {
    (hooks: [$($hooks:tt)*] $(, metrics: [$($metrics:tt)*])? $(,)?) => {
        $crate::__export! { [$($hooks)*] [$($($metrics)*)?] }
    };
    (metrics: [$($metrics:tt)*] $(,)?) => { $crate::__export! { [] [$($metrics)*] } };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ([$($hook:ident $(as $hook_name:literal)?),* $(,)?] [$($metric:ident $(as $metric_name:literal)?),* $(,)?]) => {
        #[allow(unsafe_code, reason = "exporting a symbol is a promise about its name, made here once")]
        const _: () = {
            static HOOKS: &[&$crate::abi::HookBase] =
                &[$({ static TABLE: $crate::abi::HookBase = $crate::hook_table!($hook $(as $hook_name)?); &TABLE }),*];
            static METRICS: &[&$crate::abi::MetricBase] = &[
                $({ static TABLE: $crate::abi::MetricBase = $crate::metric_table!($metric $(as $metric_name)?); &TABLE }),*
            ];
            static PLUGIN: $crate::abi::HrPlugin = $crate::abi::HrPlugin::of(
                ::core::env!("CARGO_PKG_NAME"),
                ::core::env!("CARGO_PKG_VERSION"),
                HOOKS,
                METRICS,
            );

            fn root() -> $crate::abi::PluginRootRef {
                $crate::panics::note_instead_of_print();
                $crate::abi::plugin_root(&PLUGIN)
            }

            extern "C" fn checked_root() -> $crate::__private::RootModuleResult {
                $crate::abi::root_result(root)
            }

            #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
            static ROOT: $crate::__private::LibHeader = $crate::abi::library_header(checked_root);

            #[unsafe(export_name = "hookrack_plugin")]
            extern "C" fn entry() -> *const $crate::abi::HrPlugin {
                $crate::panics::note_instead_of_print();
                &PLUGIN
            }
        };
    };
}
