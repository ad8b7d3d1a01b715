//! The table of a library, and the two symbols by which a host finds it.

use super::{HookBase, HrHeader, HrStr, MetricBase, TrainerHandle};
use abi_stable::StableAbi;
use abi_stable::library::{CheckTypeLayout, LibHeader, RootModule, RootModuleResult};
use abi_stable::package_version_strings;
use abi_stable::sabi_types::VersionStrings;

/// The symbol that a C plugin exports: `const HrPlugin *hookrack_plugin(void)`. Rust plugins export it too.
pub const ENTRY_SYMBOL: &str = "hookrack_plugin";

/// The hooks and metrics of a library.
#[repr(C)]
#[derive(StableAbi)]
pub struct HrPlugin {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The library's name. [borrowed for the process]
    pub name: HrStr,
    /// The library's version. [borrowed for the process]
    pub version: HrStr,
    /// The compiler that built it, for messages. [borrowed for the process]
    pub built_with: HrStr,
    /// Its hooks.
    #[sabi(unsafe_opaque_field)]
    pub hooks: *const *const HookBase,
    /// The number of hooks.
    pub hook_count: usize,
    /// Its metrics.
    #[sabi(unsafe_opaque_field)]
    pub metrics: *const *const MetricBase,
    /// The number of metrics.
    pub metric_count: usize,
}

// SAFETY: the table and all it points to is immutable for the life of the process.
unsafe impl Send for HrPlugin {}
// SAFETY: as above.
unsafe impl Sync for HrPlugin {}

/// A pointer to the library's table, which abi_stable does not follow.
#[repr(transparent)]
#[derive(Clone, Copy, StableAbi)]
#[sabi(unsafe_opaque_fields)]
pub struct HrPluginPtr(pub *const HrPlugin);

// SAFETY: it points to an immutable table that lives as long as the process.
unsafe impl Send for HrPluginPtr {}
// SAFETY: as above.
unsafe impl Sync for HrPluginPtr {}

/// The envelope in which a Rust plugin hands its table over: abi_stable compares the layout of every type named
/// here before the host looks inside.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef)))]
#[sabi(missing_field(option))]
pub struct PluginRoot {
    /// The library's table.
    pub plugin: HrPluginPtr,
    /// Never filled: it puts the tables into the layout that is compared.
    #[sabi(last_prefix_field)]
    pub layout: abi_stable::std_types::ROption<&'static TableLayout>,
}

/// Never made: the types whose layout both sides must agree on.
#[repr(C)]
#[derive(StableAbi)]
pub struct TableLayout {
    plugin: HrPlugin,
    hook: HookBase,
    metric: MetricBase,
    trainer: TrainerHandle,
}

impl RootModule for PluginRootRef {
    abi_stable::declare_root_module_statics! {PluginRootRef}
    const BASE_NAME: &'static str = "hookrack_plugin";
    const NAME: &'static str = "hookrack_plugin";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}

/// Puts a library's table into its envelope.
pub fn plugin_root(plugin: &'static HrPlugin) -> PluginRootRef {
    use abi_stable::prefix_type::PrefixTypeTrait as _;
    PluginRoot { plugin: HrPluginPtr(plugin), layout: abi_stable::std_types::ROption::RNone }
        .leak_into_prefix()
}

/// Runs the constructor of the envelope and catches what it throws.
pub fn root_result(constructor: fn() -> PluginRootRef) -> RootModuleResult {
    abi_stable::library::__call_root_module_loader(constructor)
}

/// The header that a Rust plugin exports under abi_stable's symbol.
pub const fn library_header(constructor: extern "C" fn() -> RootModuleResult) -> LibHeader {
    // SAFETY: the constructor returns the envelope of this very crate, whose layout goes into the header.
    unsafe { LibHeader::from_constructor::<PluginRootRef>(constructor, CheckTypeLayout::Yes) }
}

impl HrPlugin {
    /// The table of a library made by the macros.
    pub const fn of(
        name: &'static str,
        version: &'static str,
        hooks: &'static [&'static HookBase],
        metrics: &'static [&'static MetricBase],
    ) -> Self {
        Self {
            header: HrHeader::of::<Self>(super::plugin_flags()),
            name: HrStr::new(name),
            version: HrStr::new(version),
            built_with: HrStr::new(concat!("hookrack-plugin-api ", env!("CARGO_PKG_VERSION"))),
            hooks: hooks.as_ptr().cast(),
            hook_count: hooks.len(),
            metrics: metrics.as_ptr().cast(),
            metric_count: metrics.len(),
        }
    }
}
