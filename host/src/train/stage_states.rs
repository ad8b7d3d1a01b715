//! The states of hooks in a pipeline: each stage saves what belongs to its own parameters, and a checkpoint has the same states as that
//! of one process.
//!
//! A tensor named after a parameter (`average.PARAM`) belongs to the stage that has it, and a list of parameter names is divided among
//! the stages. Other tensors and values are those of the first stage. A tensor without a parameter's name that differs between
//! stages is kept for its stage, and can be resumed with the same number of stages only.

use crate::engine::{Engine, SavedState, Stage, TensorShard};
use hookrack_plugin_api::Value;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use tch::{Kind, Tensor};

/// The states of hooks by instance name.
pub(super) type HookStates = BTreeMap<String, SavedState>;

/// What a stage sends to the others about the states of its hooks.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct StageSummary {
    // Hook, key, and names: lists of parameter names.
    lists: Vec<(String, String, Vec<String>)>,
    // Hook, key, and checksum: tensors that are not named after a parameter.
    tensors: Vec<(String, String, u32)>,
}

/// The parameters of the whole model, and those of this stage.
pub(super) struct StageParams {
    stage: Option<Stage>,
    own: HashSet<String>,
    all: Vec<String>,
}

impl StageParams {
    pub(super) fn of(engine: &Engine) -> Self {
        let own = engine.params().iter().map(|param| param.name.clone()).collect();
        Self { stage: engine.stage().cloned(), own, all: engine.param_names() }
    }

    /// The parameter that a tensor is named after: its name, or what follows a dot in it.
    fn param_of(&self, key: &str) -> Option<&String> {
        let is_of = |param: &&String| {
            let rest = key.strip_suffix(param.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.all.iter().filter(is_of).max_by_key(|param| param.len())
    }

    /// The names in a value that is a list of parameter names.
    fn names_in(&self, value: &Value) -> Option<Vec<String>> {
        let Value::List(items) = value else { return None };
        let names = items.iter().map(|item| item.as_str().map(str::to_owned));
        let names = names.collect::<Option<Vec<_>>>().filter(|names| !names.is_empty())?;
        names.iter().all(|name| self.all.contains(name)).then_some(names)
    }

    /// Describes the states of this stage for the others.
    pub(super) fn summary(&self, states: &HookStates) -> StageSummary {
        let mut summary = StageSummary::default();
        for (hook, state) in states {
            for (key, value) in &state.values {
                if let Some(names) = self.names_in(value) {
                    summary.lists.push((hook.clone(), key.clone(), names));
                }
            }
            for (key, tensor) in &state.tensors {
                if self.param_of(key).is_none() {
                    summary.tensors.push((hook.clone(), key.clone(), checksum(tensor)));
                }
            }
        }
        summary
    }

    /// Merges the lists of parameter names of all stages, in the order of the model.
    pub(super) fn complete(&self, states: &mut HookStates, all: &[StageSummary]) {
        let lists = all.iter().flat_map(|summary| &summary.lists);
        let mut merged: BTreeMap<(&String, &String), HashSet<&String>> = BTreeMap::new();
        for (hook, key, names) in lists {
            merged.entry((hook, key)).or_default().extend(names);
        }
        for ((hook, key), names) in merged {
            let ordered = self.all.iter().filter(|name| names.contains(name));
            let list = Value::List(ordered.cloned().map(Value::Str).collect());
            states.entry(hook.clone()).or_default().values.insert(key.clone(), list);
        }
    }

    /// The tensors that this stage writes: those of its own parameters, and on the first stage all others. Other stages also write
    /// tensors that differ from those of the first stage, with the number of the stage in the key.
    pub(super) fn tensors(&self, states: &HookStates, all: &[StageSummary]) -> Vec<TensorShard> {
        let number = self.stage.as_ref().map_or(0, |stage| stage.number);
        let (mine, first) = (all.get(number as usize), all.first());
        let sum = |summary: Option<&StageSummary>, hook: &str, key: &str| {
            let is_it = |it: &&(String, String, u32)| it.0 == hook && it.1 == key;
            summary.and_then(|summary| summary.tensors.iter().find(is_it).map(|it| it.2))
        };
        let mut pieces = Vec::new();
        for (hook, state) in states {
            for (key, tensor) in &state.tensors {
                let is_shared = number > 0 && sum(mine, hook, key) == sum(first, hook, key);
                let name = if number == 0 || self.param_of(key).is_some() {
                    format!("{hook}/{key}")
                } else if is_shared {
                    continue;
                } else {
                    format!("{hook}/{}{key}", self.prefix())
                };
                pieces.push(TensorShard::whole(name, tensor.shallow_clone()));
            }
        }
        pieces
    }

    /// The prefix of a key that belongs to this stage only.
    fn prefix(&self) -> String {
        let stage = self.stage.as_ref();
        stage.map_or_else(String::new, |it| format!("{MARK}{}_of_{}/", it.number, it.layout.stages))
    }

    /// Whether this process reads a tensor of a saved state: not if it is named after a parameter of another stage.
    pub(super) fn wants(&self, key: &str) -> bool {
        key.starts_with(MARK) || self.param_of(key).is_none_or(|param| self.own.contains(param))
    }

    /// Converts the tensors of a saved state that are named after a parameter and had its type to the type that parameters have now: a
    /// run whose precision changed to or from `fp64` keeps its averages.
    pub(super) fn convert(
        &self,
        state: &mut SavedState,
        (before, now): (Kind, Kind),
    ) -> Result<(), String> {
        for (key, tensor) in &mut state.tensors {
            if before != now && tensor.kind() == before && self.param_of(key).is_some() {
                *tensor = tensor.f_to_kind(now).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// The part of a saved state that belongs to this process: all of it, or that of its stage.
    ///
    /// # Errors
    /// The state has tensors of a pipeline with another number of stages.
    pub(super) fn own_part(&self, state: &SavedState) -> Result<SavedState, String> {
        let mut own = SavedState::default();
        let (prefix, stages) =
            (self.prefix(), self.stage.as_ref().map_or(1, |it| it.layout.stages));
        for (key, tensor) in &state.tensors {
            if let Some(marked) = key.strip_prefix(MARK) {
                let (place, _) = marked.split_once('/').unwrap_or((marked, ""));
                let of = place.split_once("_of_").map_or("", |(_, of)| of);
                if of != stages.to_string() {
                    return Err(format!(
                        "it has tensors that are not named after a parameter and belong to one of {of} stages, but this run has \
                         {stages}: resume with {of} stages, or with --force to start the hook without its state"
                    ));
                }
                if let Some(key) = key.strip_prefix(&prefix).filter(|_| !prefix.is_empty()) {
                    own.tensors.insert(key.to_owned(), tensor.shallow_clone());
                }
                continue;
            }
            if self.wants(key) && !own.tensors.contains_key(key) {
                own.tensors.insert(key.clone(), tensor.shallow_clone());
            }
        }
        for (key, value) in &state.values {
            let names = self.names_in(value).filter(|_| self.stage.is_some());
            let value = names.map_or_else(
                || value.clone(),
                |names| {
                    let own = names.into_iter().filter(|name| self.own.contains(name));
                    Value::List(own.map(Value::Str).collect())
                },
            );
            own.values.insert(key.clone(), value);
        }
        Ok(own)
    }
}

/// The prefix of keys that belong to one stage only.
const MARK: &str = "stage_";

/// A checksum of a tensor's contents.
fn checksum(tensor: &Tensor) -> u32 {
    let bytes = tensor
        .f_detach()
        .and_then(|it| it.f_to_device(tch::Device::Cpu)?.f_contiguous()?.f_view([-1]))
        .and_then(|it| it.f_view_dtype(Kind::Uint8))
        .and_then(Vec::<u8>::try_from);
    bytes.map_or(0, |bytes| crc32c::crc32c(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::schedule::Layout;

    const NAMES: [&str; 3] = ["a.weight", "b.weight", "b.bias"];

    fn params(stage: Option<u32>, own: &[&str]) -> StageParams {
        let layout = Layout { stages: 2, micros: 2, chunks: 1, tied: false };
        StageParams {
            stage: stage.map(|number| Stage::new(number, layout, &[0..1, 1..2])),
            own: own.iter().map(|&name| name.to_owned()).collect(),
            all: NAMES.map(str::to_owned).into(),
        }
    }

    fn state(names: &[&str], step: f32) -> HookStates {
        let list = names.iter().map(|&name| Value::Str(name.to_owned())).collect();
        let values = [("names".to_owned(), Value::List(list)), ("count".to_owned(), 7.into())];
        let average = |name: &&str| {
            (format!("average.{name}"), Tensor::from(i64::try_from(name.len()).unwrap()))
        };
        let others = [("same".to_owned(), Tensor::from(1_i64)), ("step".to_owned(), step.into())];
        let tensors = names.iter().map(average).chain(others).collect();
        [("ema".to_owned(), SavedState { values: values.into(), tensors })].into()
    }

    fn saved(step: f32) -> SavedState {
        let stages = [params(Some(0), &NAMES[..1]), params(Some(1), &NAMES[1..])];
        let mut hooks = [state(&NAMES[..1], 0.5), state(&NAMES[1..], step)];
        let summary: Vec<_> =
            stages.iter().zip(&hooks).map(|(it, state)| it.summary(state)).collect();
        stages[0].complete(&mut hooks[0], &summary);
        let pieces = stages.iter().zip(&hooks).flat_map(|(it, state)| it.tensors(state, &summary));
        let tensors = pieces.map(|it| (it.name.split_once('/').unwrap().1.to_owned(), it.tensor));
        let tensors = tensors.collect::<Vec<_>>();
        let count = tensors.len();
        let tensors: BTreeMap<_, _> = tensors.into_iter().collect();
        assert_eq!(tensors.len(), count, "no tensor twice");
        SavedState { values: hooks[0]["ema"].values.clone(), tensors }
    }

    #[test]
    fn the_states_of_all_stages_equal_that_of_one_process_and_load_into_any_layout() {
        let whole = saved(0.5);
        let keys: Vec<_> = whole.tensors.keys().map(String::as_str).collect();
        let averages = ["average.a.weight", "average.b.bias", "average.b.weight"];
        assert_eq!(keys, [&averages[..], &["same", "step"]].concat());
        let names = |state: &SavedState| params(None, &NAMES).names_in(&state.values["names"]);
        assert_eq!(names(&whole).unwrap(), NAMES);
        let second = params(Some(1), &NAMES[1..]).own_part(&whole).unwrap();
        assert_eq!(names(&second).unwrap(), NAMES[1..]);
        assert!(!second.tensors.contains_key("average.a.weight"));
        let wants = |key: &str| params(Some(1), &NAMES[1..]).wants(key);
        let keys = ["average.a.weight", "average.b.bias", "same", "stage_1_of_2/step"];
        assert_eq!(keys.map(wants), [false, true, true, true]);
        assert_eq!(second.tensors["same"], Tensor::from(1_i64));
        assert_eq!(params(None, &NAMES).own_part(&whole).unwrap().tensors.len(), 5);
    }

    #[test]
    fn a_tensor_that_differs_between_stages_stays_with_its_stage() {
        let marked = saved(2.5);
        let [first, second] = [(0, &NAMES[..1]), (1, &NAMES[1..])]
            .map(|(number, own)| params(Some(number), own).own_part(&marked).unwrap());
        let step = |state: &SavedState| f64::try_from(&state.tensors["step"]).unwrap();
        assert!((step(&first) - 0.5).abs() < 1e-9 && (step(&second) - 2.5).abs() < 1e-9);
        let error = params(None, &NAMES).own_part(&marked).unwrap_err();
        assert!(error.contains("belong to one of 2 stages, but this run has 1"), "{error}");
    }
}
