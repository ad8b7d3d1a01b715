//! Events of a run, posted to a URL as JSON: run started, epoch done, validated, checkpoint written, failed, ended.
//!
//! ```toml
//! [[custom_hooks]]
//! type = "WebhookHook"
//! library = "libwebhook.so"
//! url = "http://127.0.0.1:8080/events"
//! events = ["validated", "failed", "ended"]
//! ```
//!
//! A thread posts from a bounded queue, with a time limit and retries: a step never waits for the network.
//! It supports plain `http` only; for `https`, post to a proxy on this machine. [`url`] and [`post`] are the protocol, [`sender`]
//! the queue, [`hook`] the events.

pub mod hook;
pub mod post;
pub mod sender;
pub mod url;

use hook::WebhookHook;
use hookrack_plugin_api::export_plugin;

export_plugin! { hooks: [WebhookHook] }
