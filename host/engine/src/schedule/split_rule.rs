//! `split`: how the layers of a model are divided among stages.

use serde::de::{Deserialize, Deserializer, Error as _};

use crate::tree::Tree;
use hookrack_plugin_api::describe::Setting;
use hookrack_plugin_api::{ParamType, Value};

/// How the layers of a model are divided among stages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SplitRule {
    /// The largest number of parameters of a stage is as small as it can be.
    #[default]
    Params,
    /// The longest time of a stage is as short as it can be, measured before the run.
    Time,
    /// The number of layers of each, in order.
    Layers(Vec<usize>),
}

impl<'de> Deserialize<'de> for SplitRule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Tree(value) = Tree::deserialize(from)?;
        let number = |value: &Value| value.as_i64().and_then(|count| usize::try_from(count).ok());
        let known = match &value {
            Value::Str(name) if name == "params" => Some(Self::Params),
            Value::Str(name) if name == "time" => Some(Self::Time),
            Value::List(counts) => {
                counts.iter().map(number).collect::<Option<_>>().map(Self::Layers)
            }
            _ => None,
        };
        let wanted =
            "split must be \"params\", \"time\" or a list with the number of layers of each stage";
        known.ok_or_else(|| D::Error::custom(wanted))
    }
}

impl Setting for SplitRule {
    fn param_type() -> ParamType {
        ParamType::Any
    }

    fn to_value(&self) -> Option<Value> {
        Some(match self {
            Self::Params => Value::Str("params".to_owned()),
            Self::Time => Value::Str("time".to_owned()),
            Self::Layers(counts) => return counts.to_value(),
        })
    }
}
