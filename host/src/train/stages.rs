//! Divides the layers of the model among the stages of a pipeline; an impossible division is an error at its line of the config.

use super::build_engine::refused;
use super::grid::{Grid, schedule};
use crate::config::{ConfigErrors, ExecutionMode, ResolvedConfig};
use crate::engine::data::DataSpec;
use crate::engine::model::{BuiltUnits, MODELS, ModelContext, ModelInfo, Unit};
use crate::engine::registry::Build as _;
use crate::engine::schedule::{Layout, Schedule, SplitRule, Table, check};
use crate::engine::stages::{balanced, listed};
use crate::engine::{Engine, EngineError, Stage, UnitCost};
use crate::ranks::Ranks;
use crate::torch::shape::number;
use crate::world::World;
use std::ops::Range;

/// A model divided into stages.
pub(crate) struct Stages {
    /// The number of stages, chunks, and micro-batches of an iteration.
    pub(crate) layout: Layout,
    /// The units of each chunk, in the order of the model: chunk `c` of stage `s` is number `c * stages + s`.
    pub(crate) ranges: Vec<Range<usize>>,
    /// The cost of each unit for a micro-batch.
    pub(crate) costs: Vec<UnitCost>,
    /// Rows of a micro-batch, on each data-parallel rank.
    pub(crate) rows: usize,
    /// The number of copies of the pipeline.
    pub(crate) copies: usize,
}

impl Stages {
    /// Divides the model of an engine as the config says, for `data` copies of the pipeline.
    ///
    /// # Errors
    /// The layers or the batch cannot be divided this way.
    pub(crate) fn new(
        config: &ResolvedConfig,
        engine: &mut Engine,
        data: usize,
    ) -> Result<Self, ConfigErrors> {
        let rows = micro_rows(config, engine.schedule(), data)?;
        let costs = engine.unit_costs(number(rows)).map_err(not_split(config))?;
        let (schedule, info) = (engine.schedule(), engine.model().info());
        let layout = layout(config, schedule, info);
        let ranges = divide(config, info, schedule, &layout, &costs)?;
        Ok(Self { layout, ranges, costs, rows, copies: data })
    }

    /// Checks that the ranks of a layout can train the model of a config as a pipeline, without creating it.
    pub(crate) fn check(
        config: &ResolvedConfig,
        data: &DataSpec,
        grid: Grid,
    ) -> Result<(), ConfigErrors> {
        if grid.stages == 1 {
            return Ok(());
        }
        Self::of_config(config, data, grid, |_| Ok(Vec::new())).map(drop)
    }

    /// Divides the model of a config without creating it: by parameters, or as listed in `split`. With `split = "time"`, `measured` returns
    /// the division.
    ///
    /// # Errors
    /// As [`new`](Self::new), and a setting that a pipeline does not support.
    pub(crate) fn of_config(
        config: &ResolvedConfig,
        data: &DataSpec,
        grid: Grid,
        measured: impl FnOnce(&Self) -> Result<Vec<Range<usize>>, ConfigErrors>,
    ) -> Result<Self, ConfigErrors> {
        if config.train.mode == ExecutionMode::Graph {
            return Err(not_split(config)(EngineError::NoUnits));
        }
        check_reduction(config)?;
        let schedule = schedule(config)?;
        let rows = micro_rows(config, &schedule, grid.data)?;
        let context = ModelContext::new(data.clone(), tch::Device::Cpu);
        let context = ModelContext { made: BuiltUnits::None, ..context };
        let model = config.model.build(MODELS, &context).map_err(refused(config, "model"))?;
        let info = model.info();
        if info.units.is_empty() {
            return Err(not_split(config)(EngineError::NoUnits));
        }
        let layout = layout(config, &schedule, info);
        check_layers(config, info, &layout)?;
        let (ranges, costs) = (Vec::new(), Vec::new());
        let mut stages = Self { layout, ranges, costs, rows, copies: grid.data };
        stages.ranges = match schedule.split_rule() {
            SplitRule::Time => measured(&stages)?,
            _ => divide(config, info, &schedule, &layout, &[])?,
        };
        check(&Table::new(schedule.order(), layout)).map_err(|error| {
            config.refuse("schedule", error.to_string(), "report this as a bug")
        })?;
        Ok(stages)
    }

    /// Warns that batch norms use the statistics of micro-batches. `info` may be that of one stage.
    pub(crate) fn warn_of_norms(&self, info: &ModelInfo) {
        let mut names = info.buffers.iter().map(|buffer| &buffer.name).chain(&info.elsewhere);
        let norm = names.find(|name| name.ends_with("running_mean"));
        if let Some(norm) = norm.filter(|_| self.layout.stages > 1) {
            tracing::warn!(
                "`{norm}`: batch normalization uses the statistics of each micro-batch of {} rows, as train.accumulation does",
                self.rows
            );
        }
    }

    /// The stage with this number.
    pub(crate) fn stage(&self, number: usize) -> Stage {
        Stage::new(u32::try_from(number).unwrap_or(0), self.layout, &self.ranges)
    }

    /// The ranks that have a stage, one for each copy of the pipeline.
    pub(crate) fn ranks_of(&self, stage: usize) -> Vec<usize> {
        let stages = self.layout.stages as usize;
        (0..self.copies).map(|copy| copy * stages + stage).collect()
    }

    /// A line for each stage: its ranks, and the layers of its chunks.
    pub(crate) fn lines(&self, units: &[Unit]) -> Vec<String> {
        let line = |number: usize| {
            let ranks: Vec<_> = self.ranks_of(number).iter().map(ToString::to_string).collect();
            let ranks = match ranks.as_slice() {
                [only] => format!("rank {only}"),
                [first, second, .., last] if ranks.len() > 4 => {
                    format!("ranks {first}, {second}, … {last}")
                }
                all => format!("ranks {}", all.join(", ")),
            };
            let chunks = self.stage(number).units.into_iter();
            let chunks: Vec<_> = chunks.map(|range| layer_range(&units[range])).collect();
            format!("stage {number} on {ranks}: {}", chunks.join("; "))
        };
        (0..self.layout.stages as usize).map(line).collect()
    }
}

/// The names of consecutive layers: the first and the last one, and their number.
pub(crate) fn layer_range(units: &[Unit]) -> String {
    match units {
        [] => String::new(),
        [only] => only.name.clone(),
        [first, last] => format!("{}, {}", first.name, last.name),
        [first, .., last] => format!("{} to {} ({})", first.name, last.name, units.len()),
    }
}

/// Divides the model by the times that rank 0 measures, so that all ranks divide it in the same way.
pub(super) fn measure_together(
    config: &ResolvedConfig,
    stages: &Stages,
    ranks: &Ranks,
    world: Option<&World>,
    whole: impl FnOnce() -> Result<Engine, ConfigErrors>,
) -> Result<Vec<Range<usize>>, ConfigErrors> {
    let own = if ranks.is_main() {
        Stages::new(config, &mut whole()?, stages.copies)?.ranges
    } else {
        Vec::new()
    };
    let Some(world) = world else { return Ok(own) };
    let all = world.exchange_json(&own).map_err(|error| {
        let help = "a rank failed while the layers were divided by measured times";
        config.refuse("schedule.split", error.to_string(), help)
    })?;
    Ok(all.into_iter().next().unwrap_or(own))
}

/// Refuses options of gradient reduction that a pipeline does not support.
fn check_reduction(config: &ResolvedConfig) -> Result<(), ConfigErrors> {
    let distributed = &config.distributed;
    let refused = [
        ("distributed.find_unused_parameters", distributed.find_unused_parameters),
        ("distributed.fp16_compression", distributed.fp16_compression),
    ];
    refused.iter().find(|(_, is_set)| *is_set).map_or(Ok(()), |(key, _)| {
        let why = "a pipeline sums the gradients of a stage at the end of its backward passes";
        Err(config.refuse(key, why, "set it to false"))
    })
}

fn not_split(config: &ResolvedConfig) -> impl FnOnce(EngineError) -> ConfigErrors + '_ {
    |error| config.refuse("model", error.to_string(), "use [schedule] type = \"NoPipeline\"")
}

fn layout(config: &ResolvedConfig, schedule: &Schedule, info: &ModelInfo) -> Layout {
    let micros = schedule.parts() as u64 * config.train.accumulate_grad_batches.max(1);
    schedule.layout(u32::try_from(micros).unwrap_or(u32::MAX), !info.shared.is_empty())
}

/// The rows of a micro-batch on one rank; micro-batches must divide the batch.
fn micro_rows(
    config: &ResolvedConfig,
    schedule: &Schedule,
    data: usize,
) -> Result<usize, ConfigErrors> {
    let (batch, parts) = (*config.data.train.loading.batch_size, schedule.parts());
    let shares = parts * data;
    if schedule.stages() > 1 && batch % shares != 0 {
        let of = if data > 1 { format!(" of {data} data-parallel ranks") } else { String::new() };
        let why = format!("a batch of {batch} cannot be divided into {parts} micro-batches{of}");
        let (below, above) = (batch / shares * shares, batch.div_ceil(shares) * shares);
        let sizes = if below > 0 { format!("{below} or {above}") } else { above.to_string() };
        let help = format!("use a batch size of {sizes}, or another number of microbatches");
        return Err(config.refuse("schedule.microbatches", why, help));
    }
    Ok((batch / shares).max(1))
}

/// Every chunk must have a layer.
fn check_layers(
    config: &ResolvedConfig,
    info: &ModelInfo,
    layout: &Layout,
) -> Result<(), ConfigErrors> {
    let (parts, count) = ((layout.stages * layout.chunks) as usize, info.units.len());
    if parts <= count {
        return Ok(());
    }
    let (what, key) = if layout.chunks > 1 {
        (format!("{} stages of {} chunks", layout.stages, layout.chunks), "schedule.chunks")
    } else {
        (format!("{parts} stages"), "schedule.stages")
    };
    let names = unit_names(info);
    let why = format!("{what} need at least {parts} layers, but the model has {count}: {names}");
    Err(config.refuse(key, why, "use fewer stages or chunks, or a deeper model"))
}

fn unit_names(info: &ModelInfo) -> String {
    info.units.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn divide(
    config: &ResolvedConfig,
    info: &ModelInfo,
    schedule: &Schedule,
    layout: &Layout,
    costs: &[UnitCost],
) -> Result<Vec<Range<usize>>, ConfigErrors> {
    check_layers(config, info, layout)?;
    let (units, parts) = (&info.units, (layout.stages * layout.chunks) as usize);
    #[expect(clippy::cast_precision_loss, reason = "a model has far fewer parameters than 2^53")]
    let divided = match schedule.split_rule() {
        SplitRule::Params => {
            balanced(&units.iter().map(|unit| unit.params as f64).collect::<Vec<_>>(), parts)
        }
        SplitRule::Time => {
            let time = |cost: &UnitCost| cost.forward + cost.backward;
            balanced(&costs.iter().map(time).collect::<Vec<_>>(), parts)
        }
        SplitRule::Layers(sizes) => {
            listed(sizes, units.len()).filter(|ranges| ranges.len() == parts)
        }
    };
    divided.ok_or_else(|| {
        let (count, names) = (units.len(), unit_names(info));
        let why = format!("the list must have {parts} numbers above 0 with a sum of {count}");
        let help = format!("the model has {count} layers: {names}");
        config.refuse("schedule.split", why, help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_a_line_with_its_ranks_and_the_layers_of_its_chunks() {
        let unit =
            |name: usize| Unit { name: format!("h.{name}"), params: 0, tensors: 0, buffers: 0 };
        let units: Vec<_> = (0..8).map(unit).collect();
        let layout = Layout { stages: 2, micros: 4, chunks: 2, tied: false };
        let ranges = vec![0..3, 3..4, 4..6, 6..8];
        let mut stages = Stages { layout, ranges, costs: Vec::new(), rows: 1, copies: 1 };
        assert_eq!(
            stages.lines(&units),
            ["stage 0 on rank 0: h.0 to h.2 (3); h.4, h.5", "stage 1 on rank 1: h.3; h.6, h.7"]
        );
        stages.copies = 3;
        assert!(stages.lines(&units)[1].starts_with("stage 1 on ranks 1, 3, 5: "));
        stages.copies = 8;
        assert!(stages.lines(&units)[0].starts_with("stage 0 on ranks 0, 2, … 14: "));
    }
}
