//! Which layers of the model are on which stage of a pipeline; what does not fit is an error at its line of the config.

use crate::config::{ConfigErrors, ResolvedConfig};
use crate::engine::schedule::{Layout, Split};
use crate::engine::stages::{balanced, listed};
use crate::engine::{Engine, EngineError, UnitCost};
use std::ops::Range;

/// A model in stages.
pub(crate) struct Stages {
    /// Stages, chunks, and the micro-batches of an iteration.
    pub(crate) layout: Layout,
    /// The units of each chunk, in the order of the model: chunk `c` of stage `s` is number `c * stages + s`.
    pub(crate) ranges: Vec<Range<usize>>,
    /// What each unit costs for a micro-batch.
    pub(crate) costs: Vec<UnitCost>,
    /// Rows of a micro-batch, on each data-parallel rank.
    pub(crate) rows: usize,
}

impl Stages {
    /// Divides the model of an engine as the config says, for a pipeline that `data` ranks have a copy of each.
    ///
    /// # Errors
    /// The layers or the batch cannot be divided so.
    pub(crate) fn new(
        config: &ResolvedConfig,
        engine: &mut Engine,
        data: usize,
    ) -> Result<Self, ConfigErrors> {
        let rows = micro_rows(config, engine, data)?;
        let refused = |error: EngineError| {
            config.refuse("model", error.to_string(), "use [schedule] type = \"NoPipeline\"")
        };
        let costs = engine.unit_costs(i64::try_from(rows).unwrap_or(i64::MAX)).map_err(refused)?;
        let schedule = engine.schedule();
        let micros = schedule.parts() as u64 * config.train.accumulate_grad_batches.max(1);
        let tied = !engine.model().info().shared.is_empty();
        let layout = schedule.layout(u32::try_from(micros).unwrap_or(u32::MAX), tied);
        let ranges = divide(config, engine, &layout, &costs)?;
        warn_of_norms(engine, rows);
        Ok(Self { layout, ranges, costs, rows })
    }

    /// Refuses to train a model in stages: they are planned, but not connected yet.
    ///
    /// # Errors
    /// The schedule has more than one stage.
    pub(crate) fn refuse_training(
        config: &ResolvedConfig,
        engine: &Engine,
    ) -> Result<(), ConfigErrors> {
        let stages = engine.schedule().stages();
        if stages == 1 {
            return Ok(());
        }
        let why = format!("a pipeline of {stages} stages can be planned, but not trained yet");
        let help =
            "use \"NoPipeline\" to train; `hookrack plan CONFIG --schedule` shows the pipeline";
        Err(config.refuse("schedule.type", why, help))
    }
}

/// The rows of a micro-batch on one rank; micro-batches must divide the batch.
fn micro_rows(
    config: &ResolvedConfig,
    engine: &Engine,
    data: usize,
) -> Result<usize, ConfigErrors> {
    let (batch, parts) = (*config.data.train.loading.batch_size, engine.schedule().parts());
    let shares = parts * data;
    if engine.schedule().stages() > 1 && batch % shares != 0 {
        let of = if data > 1 { format!(" of {data} data-parallel ranks") } else { String::new() };
        let why = format!("a batch of {batch} cannot be divided into {parts} micro-batches{of}");
        let (below, above) = (batch / shares * shares, batch.div_ceil(shares) * shares);
        let sizes = if below > 0 { format!("{below} or {above}") } else { above.to_string() };
        let help = format!("use a batch size of {sizes}, or another number of microbatches");
        return Err(config.refuse("schedule.microbatches", why, help));
    }
    Ok((batch / shares).max(1))
}

fn divide(
    config: &ResolvedConfig,
    engine: &Engine,
    layout: &Layout,
    costs: &[UnitCost],
) -> Result<Vec<Range<usize>>, ConfigErrors> {
    let units = &engine.model().info().units;
    let parts = (layout.stages * layout.chunks) as usize;
    let (names, count) = (units.iter().map(|it| it.name.as_str()), units.len());
    let names = names.collect::<Vec<_>>().join(", ");
    if parts > count {
        let (what, key) = if layout.chunks > 1 {
            (format!("{} stages of {} chunks", layout.stages, layout.chunks), "schedule.chunks")
        } else {
            (format!("{parts} stages"), "schedule.stages")
        };
        let why =
            format!("{what} need at least {parts} layers, but the model has {count}: {names}");
        return Err(config.refuse(key, why, "use fewer stages or chunks, or a deeper model"));
    }
    #[expect(clippy::cast_precision_loss, reason = "a model has far fewer parameters than 2^53")]
    let divided = match engine.schedule().split_rule() {
        Split::Params => {
            balanced(&units.iter().map(|unit| unit.params as f64).collect::<Vec<_>>(), parts)
        }
        Split::Time => {
            let time = |cost: &UnitCost| cost.forward + cost.backward;
            balanced(&costs.iter().map(time).collect::<Vec<_>>(), parts)
        }
        Split::Layers(sizes) => listed(sizes, count).filter(|ranges| ranges.len() == parts),
    };
    divided.ok_or_else(|| {
        let why = format!("the list must have {parts} numbers above 0 with a sum of {count}");
        let help = format!("the model has {count} layers: {names}");
        config.refuse("schedule.split", why, help)
    })
}

/// Says what a batch norm computes in a pipeline.
fn warn_of_norms(engine: &Engine, rows: usize) {
    let is_norm = |name: &str| name.ends_with("running_mean");
    let norm = engine.buffers().iter().find(|buffer| is_norm(&buffer.name));
    if let Some(norm) = norm.filter(|_| engine.schedule().stages() > 1) {
        tracing::warn!(
            "`{}`: batch normalisation uses the statistics of each micro-batch of {rows} rows, as train.accumulation does",
            norm.name
        );
    }
}
