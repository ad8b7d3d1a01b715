//! `hookrack plan`: which hooks run at each point, in order.

use super::ConfigSource;
use super::exit::Failure;
use super::rank_plan::RankPlan;
use super::schedule_plan::SchedulePlan;
use crate::config::{Origin, ParallelSection, ResolvedConfig};
use crate::job::Job;
use crate::ranks::Ranks;
use crate::run::atomic;
use crate::train::{Grid, Parts};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print which hooks run at each point, in order, and the library each comes from
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack plan configs/quickstart.toml
  hookrack plan configs/quickstart.toml -s custom_hooks.0.level=HIGHEST
  hookrack plan configs/quickstart.toml --json | jq '.[].point'
  hookrack plan configs/quickstart.toml --ranks 64
  hookrack plan configs/fashion_lenet.toml --schedule OneFOneB --ranks 2 --svg schedule.svg"))]
pub(super) struct PlanArgs {
    #[command(flatten)]
    source: ConfigSource,

    /// Print the share of each of N ranks instead: samples, gradient buckets, memory; no process is started
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    ranks: Option<u32>,

    /// Print the stages of the pipeline and their timeline instead, for the configured schedule or another TYPE;
    /// --ranks is then the number of stages times the number of data-parallel copies
    #[arg(long, value_name = "TYPE", num_args = 0..=1, default_missing_value = "")]
    schedule: Option<String>,

    /// Write the timeline of --schedule to an SVG file
    #[arg(long, value_name = "FILE", requires = "schedule")]
    svg: Option<PathBuf>,

    /// Print the table as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &PlanArgs) -> Result<ExitCode, Failure> {
    if let Some(schedule) = &args.schedule {
        return run_schedule(args, Some(schedule.as_str()).filter(|name| !name.is_empty()));
    }
    let job = args.source.job()?;
    if let Some(ranks) = args.ranks {
        if Grid::new(&job.config, ranks as usize)?.stages > 1 {
            return run_schedule(args, None);
        }
        return run_ranks(&job, ranks, args.json);
    }
    warn_of_stale_reads(&job);
    let specs = job.specs();
    if args.json {
        let rows: Vec<_> = job
            .plan
            .rows()
            .map(|row| {
                let hooks: Vec<_> = row
                    .specs
                    .iter()
                    .map(|&i| serde_json::json!({ "hook": specs[i].name, "type": specs[i].type_name, "level": specs[i].level.0, "source": specs[i].source() }))
                    .collect();
                serde_json::json!({ "point": row.point.name(), "role": row.point.is_role(), "hooks": hooks })
            })
            .collect();
        say!("{}", serde_json::to_string_pretty(&rows).unwrap_or_default());
        return Ok(ExitCode::SUCCESS);
    }
    for line in lines(&job) {
        say!("{line}");
    }
    Ok(ExitCode::SUCCESS)
}

fn run_ranks(job: &Job, ranks: u32, json: bool) -> Result<ExitCode, Failure> {
    // Before the data are read.
    let world = ranks as usize;
    job.config.check_share(world)?;
    let parts = Parts::build_on(&job.config, &Ranks { world, ..Ranks::single() }, None)?;
    let plan = RankPlan::new(&job.config, &parts, world)?;
    if json {
        say!("{}", serde_json::to_string_pretty(&plan.json()).unwrap_or_default());
    } else {
        plan.lines().iter().for_each(|line| say!("{line}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn run_schedule(args: &PlanArgs, schedule: Option<&str>) -> Result<ExitCode, Failure> {
    let source = match schedule {
        Some(name) => with_schedule(args, name)?,
        None => args.source.clone(),
    };
    let job = source.job()?;
    let plan = SchedulePlan::new(&job.config, Parts::build(&job.config)?, args.ranks)?;
    if let Some(path) = &args.svg {
        atomic::write(path, plan.svg().as_bytes())?;
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&plan.json()).unwrap_or_default());
    } else {
        plan.lines().iter().for_each(|line| say!("{line}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The config with another type of schedule.
fn with_schedule(args: &PlanArgs, name: &str) -> Result<ConfigSource, Failure> {
    let mut source = args.source.clone();
    let is_written =
        |config: &ResolvedConfig, key| !matches!(config.origin_of(key), Origin::Default);
    if name == "NoPipeline" {
        // Neither the settings of a pipeline apply, nor the layout that it is written for.
        let config = source.job()?.config;
        if is_written(&config, "schedule") {
            source.set.push("schedule={_delete_=true,type=\"NoPipeline\"}".to_owned());
        }
        if config.parallel != ParallelSection::default() {
            source.set.push("parallel={_delete_=true}".to_owned());
        }
        return Ok(source);
    }
    source.set.push(format!("schedule.type={name}"));
    // Without a number of stages, it is that of the ranks.
    if let Some(ranks) = args.ranks
        && !is_written(&source.job()?.config, "schedule.stages")
    {
        source.set.push(format!("schedule.stages={ranks}"));
    }
    Ok(source)
}

/// Warns about values that are read before they are written.
pub(super) fn warn_of_stale_reads(job: &Job) {
    for read in job.stale_reads() {
        tracing::warn!("{read}");
    }
}

/// The table, line by line.
pub(super) fn lines(job: &Job) -> Vec<String> {
    let specs = job.specs();
    let width = specs.iter().map(|spec| spec.name.len()).max().unwrap_or(0);
    let mut lines = vec![format!("{:<24} {:<12} {:<width$}  FROM", "POINT", "LEVEL", "HOOK")];
    for row in job.plan.rows() {
        let mut point = row.point.name();
        for &i in &row.specs {
            let (level, spec) = (specs[i].level.to_string(), specs[i]);
            let level = if row.point.is_role() { "role".to_owned() } else { level };
            lines.push(format!("{point:<24} {level:<12} {:<width$}  {}", spec.name, spec.source()));
            point = "";
        }
    }
    lines
}
