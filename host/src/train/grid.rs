//! The layout of a run: copies of a pipeline, each with one rank per stage.

use super::build_engine::refused;
use crate::config::{ConfigErrors, MemberEntry, ResolvedConfig};
use crate::engine::data::Rank;
use crate::engine::registry::Build as _;
use crate::engine::schedule::{SCHEDULES, Schedule, ScheduleContext};
use crate::hooks::NOT_IN_PIPELINES;
use hookrack_plugin_api::Phase;

/// The number of stages of a pipeline, and the number of its copies. The ranks of one pipeline are consecutive: they communicate most,
/// and are on one machine if they fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The number of stages; 1 if every rank has the whole model.
    pub stages: usize,
    /// The number of copies of the pipeline, which share each batch.
    pub data: usize,
}

impl Grid {
    /// Every rank has the whole model.
    pub fn whole(world: usize) -> Self {
        Self { stages: 1, data: world }
    }

    /// The layout that a config gives `world` ranks.
    ///
    /// # Errors
    /// The ranks cannot be divided into such pipelines.
    pub fn new(config: &ResolvedConfig, world: usize) -> Result<Self, ConfigErrors> {
        let stages = schedule(config)?.stages() as usize;
        if world == 1 && stages > 1 {
            let why = format!("a pipeline of {stages} stages needs {stages} ranks");
            let help = format!(
                "use `hookrack launch -n {stages} -- train CONFIG`, or [schedule] type = \"NoPipeline\""
            );
            return Err(config.refuse("schedule.stages", why, help));
        }
        if !world.is_multiple_of(stages) {
            let why = format!("{world} ranks cannot be divided into pipelines of {stages} stages");
            let help = format!("use a multiple of {stages} ranks, or another number of stages");
            return Err(config.refuse("schedule.stages", why, help));
        }
        let grid = Self { stages, data: world / stages };
        grid.check(config)?;
        Ok(grid)
    }

    /// The layout that a config is written for, where no ranks are started: `ranks` ranks, or else as many copies of the pipeline as
    /// `parallel.data` says.
    pub fn planned(config: &ResolvedConfig, ranks: Option<usize>) -> Result<Self, ConfigErrors> {
        let stages = schedule(config)?.stages() as usize;
        let copies = config.parallel.data.map_or(1, |data| data as usize);
        Self::new(config, ranks.unwrap_or(stages * copies))
    }

    /// Checks the layout against `[parallel]` and the batch size.
    fn check(&self, config: &ResolvedConfig) -> Result<(), ConfigErrors> {
        let Self { stages, data } = *self;
        let wanted = &config.parallel;
        if wanted.pipeline.is_some_and(|wanted| wanted as usize != stages) {
            let (why, help) = if stages == 1 {
                let help =
                    "choose a pipeline, such as [schedule] type = \"OneFOneB\", or remove this key";
                ("the schedule has one stage".to_owned(), help)
            } else {
                let help = "remove schedule.stages, or set it to the same number";
                (format!("the schedule has {stages} stages"), help)
            };
            return Err(config.refuse("parallel.pipeline", why, help));
        }
        if wanted.data.is_some_and(|wanted| wanted as usize != data) {
            let ranks = stages * data;
            let why = format!("{ranks} ranks with {stages} stages each are {data} copies");
            let help = "start another number of ranks, or remove this key";
            return Err(config.refuse("parallel.data", why, help));
        }
        if stages > 1 {
            check_hooks(config)?;
        }
        config.check_share(data)
    }

    /// The stage of a rank.
    pub fn stage_of(&self, rank: usize) -> usize {
        rank % self.stages
    }

    /// The copy of the pipeline that a rank belongs to, as its share of each batch.
    pub fn copy_of(&self, rank: usize) -> Rank {
        Rank { rank: rank / self.stages, world: self.data }
    }
}

/// Refuses hooks of validation that need what no rank of a pipeline has.
fn check_hooks(config: &ResolvedConfig) -> Result<(), ConfigErrors> {
    let runs = |hook: &&MemberEntry| hook.library.is_none() && hook.phases.contains(Phase::Val);
    let needs = |hook: &MemberEntry| {
        let (_, what) = NOT_IN_PIPELINES.iter().find(|(name, _)| *name == hook.type_name)?;
        Some((hook.name.clone(), *what))
    };
    let Some((name, what)) = config.hooks.iter().filter(runs).find_map(needs) else {
        return Ok(());
    };
    let why = format!(
        "hook `{name}` cannot run in a pipeline: it needs {what}; set phase = [\"test\", \"pred\"] to run it in `eval` and `predict` only, or \
         use [schedule] type = \"NoPipeline\""
    );
    Err(config.not_attached([(name, why)]))
}

/// The schedule of a config.
pub(crate) fn schedule(config: &ResolvedConfig) -> Result<Schedule, ConfigErrors> {
    let context = ScheduleContext { accumulation: config.train.accumulation };
    let built = config.schedule.build(SCHEDULES, &context);
    built.map(|schedule| *schedule).map_err(refused(config, "schedule"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_one_pipeline_are_consecutive() {
        let grid = Grid { stages: 2, data: 3 };
        let places: Vec<_> =
            (0..6).map(|rank| (grid.copy_of(rank).rank, grid.stage_of(rank))).collect();
        assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
        assert_eq!(Grid::whole(4).copy_of(3), Rank { rank: 3, world: 4 });
    }
}
