//! `hookrack plan --schedule`: the stages of a pipeline and their timeline, without starting a rank.

use super::rank_plan::{bytes_of, count, size};
use super::schedule_drawing::{drawing, text};
use crate::config::{ConfigErrors, ResolvedConfig};
use crate::engine::schedule::{Durations, Table, Timeline, check, simulate};
use crate::engine::{Engine, NamedTensor, UnitCost};
use crate::train::{Parts, Stages, layer_range};
use serde_json::{Value as Json, json};

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
    sent: usize,
    forward: f64,
    backward: f64,
}

impl SchedulePlan {
    /// The plan for `ranks` ranks, or for as many as there are stages.
    ///
    /// # Errors
    /// The ranks, the layers or the batch cannot be divided that way.
    pub(super) fn new(
        config: &ResolvedConfig,
        mut parts: Parts,
        ranks: Option<u32>,
    ) -> Result<Self, ConfigErrors> {
        let stages = parts.engine.schedule().stages();
        let ranks = ranks.unwrap_or(stages);
        if !ranks.is_multiple_of(stages) {
            let why = format!("{ranks} ranks cannot be divided into pipelines of {stages} stages");
            let help = format!("use a multiple of {stages} ranks, or another number of stages");
            return Err(config.refuse("schedule.stages", why, help));
        }
        let data = (ranks / stages) as usize;
        let divided = Stages::new(config, &mut parts.engine, data)?;
        let table = Table::new(parts.engine.schedule().order(), divided.layout);
        let unsound = |why: String| config.refuse("schedule", why, "report this as a bug");
        let checked = check(&table).map_err(|error| unsound(error.to_string()))?;
        let run = |durations: &Durations| {
            simulate(&table, durations).ok_or_else(|| unsound("it does not end".to_owned()))
        };
        let rows = chunk_rows(&divided, &parts.engine);
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
            "STAGE  RANKS       {:width$}  PARAMETERS      MEMORY        SENT  FORWARD  BACKWARD  LIVE",
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
                "{stage:<6} {:<11} {layers:width$}  {:>10}  {:>10}  {:>10}  {:>5.1} ms  {:>5.1} ms  {:>4}",
                shortened(&ranks.join(",")),
                row.params,
                size(row.memory),
                size(row.sent),
                1e3 * row.forward,
                1e3 * row.backward,
                self.peak[row.stage as usize],
            ));
        }
        lines.extend([
            String::new(),
            "MEMORY is that of parameters, gradients and optimizer, without activations; SENT is sent on per micro-batch; LIVE is the \
             largest number of micro-batches whose activations a stage keeps".to_owned(),
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
fn chunk_rows(stages: &Stages, engine: &Engine) -> Vec<ChunkRow> {
    let info = engine.model().info();
    let state = engine.optimizer_state();
    let mut next = 0;
    let owners: Vec<&[NamedTensor]> = info
        .units
        .iter()
        .map(|unit| {
            let own = &info.params[next..next + unit.tensors];
            next += unit.tensors;
            own
        })
        .collect();
    let last = stages.ranges.len() - 1;
    let row = |(place, number): (usize, u32)| {
        let range = stages.ranges[place].clone();
        let params: Vec<_> = owners[range.clone()].iter().copied().flatten().collect();
        let trained = params.iter().copied().filter(|param| param.tensor.requires_grad());
        let is_own = |name: &str| params.iter().any(|param| is_state_of(name, &param.name));
        let optimizer = state.iter().filter(|piece| is_own(&piece.name));
        let optimizer =
            optimizer.map(|it| it.tensor.numel() * it.tensor.kind().elt_size_in_bytes());
        let costs: &[UnitCost] = &stages.costs[range.clone()];
        ChunkRow {
            stage: number % stages.layout.stages,
            chunk: number / stages.layout.stages,
            layers: info.units[range.clone()].iter().map(|unit| unit.name.clone()).collect(),
            range: layer_range(&info.units[range.clone()]),
            params: info.units[range].iter().map(|unit| unit.params).sum(),
            memory: bytes_of(params.iter().copied()) + bytes_of(trained) + optimizer.sum::<usize>(),
            sent: if place == last { 0 } else { costs.last().map_or(0, |cost| cost.output) },
            forward: costs.iter().map(|cost| cost.forward).sum(),
            backward: costs.iter().map(|cost| cost.backward).sum(),
        }
    };
    (0..stages.ranges.len()).zip(0..).map(row).collect()
}

/// Whether a tensor of the optimizer's state, such as `fc1.weight.exp_avg`, belongs to a parameter.
fn is_state_of(name: &str, param: &str) -> bool {
    name.strip_prefix(param).is_some_and(|rest| rest.starts_with('.') && !rest[1..].contains('.'))
}

fn shortened(ranks: &str) -> String {
    if ranks.len() > 11 { format!("{}…", &ranks[..10]) } else { ranks.to_owned() }
}
