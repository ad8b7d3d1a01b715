//! `hookrack plan`: which hooks run at each point, in order.

use super::ConfigSource;
use super::exit::Failure;
use crate::job::Job;
use clap::Args;
use std::process::ExitCode;

/// Print which hooks run at each point, in order, and the library each comes from
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack plan configs/quickstart.toml
  hookrack plan configs/quickstart.toml -s custom_hooks.0.level=HIGHEST
  hookrack plan configs/quickstart.toml --json | jq '.[].point'"))]
pub(super) struct PlanArgs {
    #[command(flatten)]
    source: ConfigSource,

    /// Print the table as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let job = args.source.job()?;
    warn_of_stale_reads(&job);
    let seats = job.seats();
    if args.json {
        let rows: Vec<_> = job
            .plan
            .rows()
            .map(|row| {
                let hooks: Vec<_> = row
                    .seats
                    .iter()
                    .map(|&i| serde_json::json!({ "hook": seats[i].name, "type": seats[i].type_name, "level": seats[i].level.0, "source": seats[i].source() }))
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

/// Warns about values that are read before they are written.
pub(super) fn warn_of_stale_reads(job: &Job) {
    for read in job.stale_reads() {
        tracing::warn!("{read}");
    }
}

/// The table, line by line.
pub(super) fn lines(job: &Job) -> Vec<String> {
    let seats = job.seats();
    let width = seats.iter().map(|seat| seat.name.len()).max().unwrap_or(0);
    let mut lines = vec![format!("{:<24} {:<12} {:<width$}  FROM", "POINT", "LEVEL", "HOOK")];
    for row in job.plan.rows() {
        let mut point = row.point.name();
        for &i in &row.seats {
            let (level, seat) = (seats[i].level.to_string(), seats[i]);
            let level = if row.point.is_role() { "role".to_owned() } else { level };
            lines.push(format!("{point:<24} {level:<12} {:<width$}  {}", seat.name, seat.source()));
            point = "";
        }
    }
    lines
}
