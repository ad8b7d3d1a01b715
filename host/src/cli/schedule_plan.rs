//! `hookrack plan --schedule`: the stages of a pipeline and their timeline, without starting a rank.

use super::rank_plan::{bytes_of, count, size};
use super::schedule_drawing::{drawing, text};
use crate::config::{ConfigErrors, ResolvedConfig};
use crate::engine::model::Shared;
use crate::engine::schedule::{Action, Durations, Table, Timeline, check, simulate};
use crate::engine::{Engine, UnitCost};
use crate::train::{Grid, Parts, Stages, layer_range};
use serde_json::{Value as Json, json};
use std::ops::Range;

/// The plan of a pipeline.
pub(super) struct SchedulePlan {
    name: String,
    stages: Stages,
    rows: Vec<ChunkRow>,
    /// The maximum number of live parts of each stage.
    peak: Vec<u32>,
    /// With a forward pass of 1 and a backward pass of 2.
    equal: Timeline,
    /// With the times that were measured.
    measured: Timeline,
}

/// A chunk of layers on a stage.
struct ChunkRow {
    stage: u32,
    chunk: u32,
    layers: Vec<String>,
    // The layers in short.
    range: String,
    params: usize,
    memory: usize,
    // Of all micro-batches that are alive at once.
    activations: usize,
    sent: usize,
    forward: f64,
    backward: f64,
}

impl SchedulePlan {
    /// The plan for `ranks` ranks, or for as many copies of the pipeline as the config says.
    ///
    /// # Errors
    /// The ranks, the layers or the batch cannot be divided that way.
    pub(super) fn new(
        config: &ResolvedConfig,
        mut parts: Parts,
        ranks: Option<u32>,
    ) -> Result<Self, ConfigErrors> {
        let grid = Grid::planned(config, ranks.map(|ranks| ranks as usize))?;
        Stages::check(config, parts.loaders.train.spec(), grid)?;
        let divided = Stages::new(config, &mut parts.engine, grid.data)?;
        divided.warn_of_norms(parts.engine.model().info());
        let table = Table::new(parts.engine.schedule().order(), divided.layout);
        let unsound = |why: String| config.refuse("schedule", why, "report this as a bug");
        let checked = check(&table).map_err(|error| unsound(error.to_string()))?;
        let run = |durations: &Durations| {
            simulate(&table, durations).ok_or_else(|| unsound("it never finishes".to_owned()))
        };
        let rows = chunk_rows(&divided, &parts.engine, &table, config.param_groups.shard);
        let by = |time: fn(&ChunkRow) -> f64| rows.iter().map(time).collect();
        let (forward, backward) = (by(|row| row.forward), by(|row| row.backward));
        Ok(Self {
            name: config.schedule.name.clone(),
            equal: run(&Durations::equal(&divided.layout))?,
            measured: run(&Durations { forward, backward, message: 0.0 })?,
            stages: divided,
            rows,
            peak: checked.peak,
        })
    }

    fn title(&self) -> String {
        let layout = self.stages.layout;
        let stages = count(layout.stages.into(), "stage");
        let chunks =
            if layout.chunks > 1 { format!(" of {} chunks", layout.chunks) } else { String::new() };
        let micros = match layout.micros {
            1 => "1 micro-batch".to_owned(),
            micros => format!("{micros} micro-batches"),
        };
        let rows = count(self.stages.rows as u64, "row");
        format!("{}: {stages}{chunks}, {micros} of {rows}", self.name)
    }

    /// For a person.
    pub(super) fn lines(&self) -> Vec<String> {
        let ranks = u64::from(self.stages.layout.stages) * self.stages.copies as u64;
        let mut lines =
            vec![format!("{}, on {}", self.title(), count(ranks, "rank")), String::new()];
        let width = self.rows.iter().map(|row| row.range.chars().count()).max().unwrap_or(0).max(6);
        lines.push(format!(
            "STAGE  RANKS       {:width$}  PARAMETERS      MEMORY  ACTIVATIONS        SENT  FORWARD  BACKWARD  LIVE",
            "LAYERS"
        ));
        for row in &self.rows {
            let layers = &row.range;
            let ranks = self.stages.ranks_of(row.stage as usize);
            let ranks: Vec<_> = ranks.iter().map(ToString::to_string).collect();
            let stage = if self.stages.layout.chunks > 1 {
                format!("{}.{}", row.stage, row.chunk)
            } else {
                row.stage.to_string()
            };
            lines.push(format!(
                "{stage:<6} {:<11} {layers:width$}  {:>10}  {:>10}  {:>11}  {:>10}  {:>5.1} ms  {:>5.1} ms  {:>4}",
                shortened(&ranks.join(",")),
                row.params,
                size(row.memory),
                size(row.activations),
                size(row.sent),
                1e3 * row.forward,
                1e3 * row.backward,
                self.peak[row.stage as usize],
            ));
        }
        lines.extend([
            String::new(),
            "MEMORY is the memory of parameters, gradients and optimizer state on each rank; ACTIVATIONS is what the forward passes of all live \
             micro-batches keep, without the loss; SENT is what a stage sends to the next one per micro-batch; LIVE is the largest number of micro-batches \
             whose activations a stage keeps".to_owned(),
            format!(
                "bubble: {:.1} % with equal stages whose backward pass takes twice the time of a forward pass, {:.1} % with these times",
                100.0 * self.equal.bubble(),
                100.0 * self.measured.bubble()
            ),
            String::new(),
        ]);
        lines.extend(text(&self.equal, self.stages.layout.chunks));
        lines
    }

    /// The table as a picture.
    pub(super) fn svg(&self) -> String {
        let title = format!("{}, bubble {:.1} %", self.title(), 100.0 * self.equal.bubble());
        drawing(&self.equal, &title, self.stages.layout.chunks)
    }

    /// For a program.
    pub(super) fn json(&self) -> Json {
        let layout = self.stages.layout;
        let row = |row: &ChunkRow| {
            json!({
                "stage": row.stage,
                "chunk": row.chunk,
                "ranks": self.stages.ranks_of(row.stage as usize),
                "layers": row.layers,
                "parameters": row.params,
                "memory_bytes": row.memory,
                "activation_bytes": row.activations,
                "sent_bytes": row.sent,
                "forward_seconds": row.forward,
                "backward_seconds": row.backward,
                "live_micro_batches": self.peak[row.stage as usize],
            })
        };
        json!({
            "schedule": self.name,
            "stages": layout.stages,
            "chunks": layout.chunks,
            "micro_batches": layout.micros,
            "rows": self.stages.rows,
            "data_parallel": self.stages.copies,
            "bubble": self.equal.bubble(),
            "measured_bubble": self.measured.bubble(),
            "layout": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// The chunks in the order of the model.
fn chunk_rows(stages: &Stages, engine: &Engine, table: &Table, is_sharded: bool) -> Vec<ChunkRow> {
    let info = engine.model().info();
    let live = live_parts(table);
    let last = stages.ranges.len() - 1;
    let row = |(place, number): (usize, u32)| {
        let range = stages.ranges[place].clone();
        let before = place.checked_sub(1).and_then(|_| stages.costs.get(range.start - 1));
        let costs: &[UnitCost] = &stages.costs[range.clone()];
        let kept: usize = costs.iter().map(|cost| cost.activations).sum();
        // The input that was received is kept too; that of the model is part of the batch.
        let kept = kept + before.map_or(0, |cost| cost.output);
        ChunkRow {
            stage: number % stages.layout.stages,
            chunk: number / stages.layout.stages,
            layers: info.units[range.clone()].iter().map(|unit| unit.name.clone()).collect(),
            range: layer_range(&info.units[range.clone()]),
            params: info.units[range.clone()].iter().map(|unit| unit.params).sum(),
            memory: state_bytes(stages, engine, range, is_sharded),
            activations: kept * live[place] as usize,
            sent: if place == last { 0 } else { costs.last().map_or(0, |cost| cost.output) },
            forward: costs.iter().map(|cost| cost.forward).sum(),
            backward: costs.iter().map(|cost| cost.backward).sum(),
        }
    };
    (0..stages.ranges.len()).zip(0..).map(row).collect()
}

/// The largest number of live micro-batches of each chunk, in the order of the model.
fn live_parts(table: &Table) -> Vec<u32> {
    let layout = table.layout();
    let mut most = vec![0; (layout.stages * layout.chunks) as usize];
    for (stage, actions) in table.stages().iter().enumerate() {
        let mut live = vec![0_u32; layout.chunks as usize];
        for action in actions {
            let (part, is_forward) = match action {
                Action::Forward(part) => (part, true),
                Action::Backward(part) => (part, false),
                _ => continue,
            };
            let chunk = part.chunk as usize;
            live[chunk] = if is_forward { live[chunk] + 1 } else { live[chunk].saturating_sub(1) };
            let place = chunk * layout.stages as usize + stage;
            most[place] = most[place].max(live[chunk]);
        }
    }
    most
}

/// Bytes of the parameters of some units on a rank, with gradients and optimizer state.
fn state_bytes(stages: &Stages, engine: &Engine, units: Range<usize>, is_sharded: bool) -> usize {
    let info = engine.model().info();
    let tensors =
        |units: Range<usize>| info.units[units].iter().map(|unit| unit.tensors).sum::<usize>();
    let start = tensors(0..units.start);
    let params = &info.params[start..start + tensors(units.clone())];
    let trained = params.iter().filter(|param| param.tensor.requires_grad());
    let is_own = |name: &str| params.iter().any(|param| is_state_of(name, &param.name));
    let state = engine.optimizer_state();
    let state = state.iter().filter(|piece| is_own(&piece.name));
    let state: usize =
        state.map(|it| it.tensor.numel() * it.tensor.kind().elt_size_in_bytes()).sum();
    let sharers = if is_sharded { stages.copies } else { 1 };
    // The last stage has a copy of a tied parameter, and its gradient.
    let is_copied = |shared: &&Shared| stages.layout.stages > 1 && units.contains(&shared.unit);
    let copied = info
        .shared
        .iter()
        .filter(is_copied)
        .filter_map(|shared| info.params.iter().find(|param| param.name == shared.param));
    bytes_of(params) + bytes_of(trained) + state.div_ceil(sharers) + 2 * bytes_of(copied)
}

/// Whether a tensor of the optimizer's state, such as `fc1.weight.exp_avg`, belongs to a parameter.
fn is_state_of(name: &str, param: &str) -> bool {
    name.strip_prefix(param).is_some_and(|rest| rest.starts_with('.') && !rest[1..].contains('.'))
}

fn shortened(ranks: &str) -> String {
    if ranks.len() > 11 { format!("{}…", &ranks[..10]) } else { ranks.to_owned() }
}
