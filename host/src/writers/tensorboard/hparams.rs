//! The config as TensorBoard's hyperparameters, so that runs can be compared by what was set.

use super::messages::{Metadata, PluginData, Summary, Value};
use prost::{Message, Oneof};
use std::collections::BTreeMap;

/// The tag that the hparams plugin reads.
const START: &str = "_hparams_/session_start_info";
const END: &str = "_hparams_/session_end_info";

/// The messages of the hparams plugin, as in its `plugin_data.proto`.
#[derive(Clone, PartialEq, Message)]
struct Data {
    #[prost(oneof = "Session", tags = "3, 4")]
    session: Option<Session>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Session {
    #[prost(message, tag = "3")]
    Start(StartInfo),
    #[prost(message, tag = "4")]
    End(EndInfo),
}

#[derive(Clone, PartialEq, Message)]
struct StartInfo {
    #[prost(btree_map = "string, message", tag = "1")]
    hparams: BTreeMap<String, Setting>,
    #[prost(double, tag = "5")]
    start_time_secs: f64,
}

#[derive(Clone, PartialEq, Message)]
struct EndInfo {
    /// 1 success.
    #[prost(int32, tag = "1")]
    status: i32,
    #[prost(double, tag = "2")]
    end_time_secs: f64,
}

/// `google.protobuf.Value`, as far as a setting needs it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Setting {
    #[prost(oneof = "Kind", tags = "2, 3, 4")]
    pub kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Kind {
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(bool, tag = "4")]
    Truth(bool),
}

/// The settings of a config by dotted name: `optimizer.lr`, `custom_hooks.0.type`.
pub(super) fn settings(config: &str) -> BTreeMap<String, Setting> {
    let mut settings = BTreeMap::new();
    if let Ok(table) = config.parse::<toml::Table>() {
        flatten("", &toml::Value::Table(table), &mut settings);
    }
    settings
}

fn flatten(name: &str, value: &toml::Value, settings: &mut BTreeMap<String, Setting>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    #[expect(clippy::cast_precision_loss, reason = "TensorBoard keeps every number as a double")]
    let kind = match value {
        toml::Value::Table(table) => {
            return table.iter().for_each(|(key, value)| flatten(&below(key), value, settings));
        }
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            let items = items.iter().enumerate();
            return items.for_each(|(index, item)| {
                flatten(&below(&index.to_string()), item, settings);
            });
        }
        toml::Value::Array(items) => Kind::Text(toml::Value::Array(items.clone()).to_string()),
        toml::Value::String(text) => Kind::Text(text.clone()),
        toml::Value::Integer(number) => Kind::Number(*number as f64),
        toml::Value::Float(number) => Kind::Number(*number),
        toml::Value::Boolean(truth) => Kind::Truth(*truth),
        toml::Value::Datetime(time) => Kind::Text(time.to_string()),
    };
    settings.insert(name.to_owned(), Setting { kind: Some(kind) });
}

fn summary(tag: &str, session: Session) -> Summary {
    let content = Data { session: Some(session) }.encode_to_vec();
    let plugin = Some(PluginData { name: "hparams".to_owned(), content });
    let metadata = Some(Metadata { plugin, data_class: 0 });
    Summary { value: vec![Value { tag: tag.to_owned(), metadata, shown: None }] }
}

/// A run with these settings starts.
pub(super) fn begin(config: &str, time: f64) -> Summary {
    let start = StartInfo { hparams: settings(config), start_time_secs: time };
    summary(START, Session::Start(start))
}

/// The run has ended.
pub(super) fn end(time: f64) -> Summary {
    summary(END, Session::End(EndInfo { status: 1, end_time_secs: time }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_dotted_names_and_keep_their_kind() {
        let config = "[optimizer]\nlr = 0.1\nbetas = [0.9, 0.99]\nfused = true\n\
                      [[custom_hooks]]\ntype = \"EMA\"\nlevel = 30\n";
        let found = settings(config);
        let kinds: Vec<_> =
            found.iter().map(|(name, setting)| (name.as_str(), setting.kind.clone())).collect();
        let text = |text: &str| Some(Kind::Text(text.to_owned()));
        assert_eq!(
            kinds,
            [
                ("custom_hooks.0.level", Some(Kind::Number(30.0))),
                ("custom_hooks.0.type", text("EMA")),
                ("optimizer.betas", text("[0.9, 0.99]")),
                ("optimizer.fused", Some(Kind::Truth(true))),
                ("optimizer.lr", Some(Kind::Number(0.1))),
            ]
        );
    }
}
