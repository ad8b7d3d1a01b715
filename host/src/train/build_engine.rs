//! Builds the engine from the config; an invalid setting is an error at its line.

use super::length;
use super::loaders::Loaders;
use crate::config::{
    self, ConfigErrors, Device, ExecutionMode, FormatChoice, GroupEntry, Origin, ParamGroups,
    ResolvedConfig,
};
use crate::engine::clip::ClipLimits;
use crate::engine::data::Rank;
use crate::engine::name_pattern::NamePattern;
use crate::engine::optimizer::{GroupRule, GroupRules};
use crate::engine::registry::ComponentKind;
use crate::engine::{Engine, EngineError, MemoryFormat, PatternList, Precision, Stage};
use crate::ranks::Ranks;

/// The engine of a process that takes the share `copy` of each batch and has the whole model or one stage.
pub(super) fn engine(
    config: &ResolvedConfig,
    loaders: &Loaders,
    copy: Rank,
    stage: Option<Stage>,
) -> Result<Engine, ConfigErrors> {
    let mut builder = Engine::builder()
        .model(config.model.clone())
        .optimizer(config.optimizer.clone())
        .groups(group_rules(config)?)
        .freeze(patterns(config, "train.freeze", &config.train.freeze)?)
        .lr_scheduler(config.lr_scheduler.clone())
        .schedule(config.schedule.clone())
        .accumulation(config.train.accumulation)
        .clip(ClipLimits {
            norm: config.train.clip_grad_norm,
            norm_type: config.train.clip_grad_norm_type,
            value: config.train.clip_grad_value,
        })
        .device(loaders.device)
        .precision(precision(config.train.precision))
        .memory_format(memory_format(config.train.memory_format))
        .graph(config.train.mode == ExecutionMode::Graph)
        .loss_scaler(config.train.loss_scaler)
        .seed(config.train.seed)
        .horizon(length::of_new(config, loaders))
        .stage(stage);
    if let Some(loss) = &config.loss {
        builder = builder.loss(loss.clone());
    }
    if config.param_groups.shard {
        builder = builder.shard_optimizer(copy);
    }
    builder.build(loaders.train.spec()).map_err(|error| {
        let section = match &error {
            EngineError::NoGraph { .. } => "train.mode",
            EngineError::Device { .. } => "train.device",
            EngineError::ListedPattern { list, index, .. } => &pattern_key(*list, *index),
            EngineError::Settings { kind, .. } | EngineError::UnknownType { kind, .. } => {
                section(*kind)
            }
            EngineError::Layer { path, .. } => &format!("model.{path}"),
            _ => "model",
        };
        refused(config, section)(error.clone())
    })
}

/// The device of a rank, for libtorch.
pub(super) fn device(device: Device, ranks: &Ranks) -> tch::Device {
    match device {
        Device::Cpu => tch::Device::Cpu,
        Device::Cuda(Some(index)) => tch::Device::Cuda(index),
        Device::Cuda(None) => {
            let visible = usize::try_from(tch::Cuda::device_count()).unwrap_or(0);
            tch::Device::Cuda(own_device(ranks.local_rank, visible))
        }
    }
}

/// The number of a rank's own device among those that it sees: batch systems may show each rank only its own.
fn own_device(local_rank: usize, visible: usize) -> usize {
    local_rank % visible.max(1)
}

/// The arithmetic of the config, for the engine.
fn precision(chosen: config::Precision) -> Precision {
    match chosen {
        config::Precision::Fp32 => Precision::Fp32,
        config::Precision::Bf16 => Precision::Bf16,
        config::Precision::Fp16 => Precision::Fp16,
        config::Precision::Fp64 => Precision::Fp64,
    }
}

/// The memory format to start with; `auto` may change it before training.
fn memory_format(choice: FormatChoice) -> MemoryFormat {
    match choice {
        FormatChoice::Auto | FormatChoice::Contiguous => MemoryFormat::Contiguous,
        FormatChoice::ChannelsLast => MemoryFormat::ChannelsLast,
    }
}

/// Converts an engine's error into a config error at its key, or at `section`.
pub(super) fn refused<'a>(
    config: &'a ResolvedConfig,
    section: &'a str,
) -> impl FnOnce(EngineError) -> ConfigErrors + 'a {
    move |error| {
        let key = match &error {
            EngineError::Settings { key, .. } => key.as_str(),
            EngineError::TooLarge { key, .. } => key,
            _ => "",
        };
        // A default has no line in the config.
        let place = format!("{section}.{key}");
        let is_written = !key.is_empty() && !matches!(config.origin_of(&place), Origin::Default);
        let place = if is_written { place.as_str() } else { section };
        config.refuse(place, error.reason(), help(&error))
    }
}

/// What to do about an engine's error.
fn help(error: &EngineError) -> &'static str {
    match error {
        EngineError::Data(_) => {
            "check the files that this section names; `hookrack config CONFIG` prints every resolved path"
        }
        EngineError::Pattern { .. } | EngineError::ListedPattern { .. } => {
            "`*` matches any characters, including dots; correct the pattern or remove it"
        }
        EngineError::Device { .. } => {
            "write \"cpu\"; docs/config.md explains how to build a host with CUDA"
        }
        EngineError::TooLarge { .. } => "use a smaller number",
        EngineError::Weights(_) => "each tensor needs a unique name in the model",
        _ => "change the setting, or choose another type",
    }
}

/// Parses patterns of parameter names.
pub(super) fn patterns(
    config: &ResolvedConfig,
    key: &str,
    written: &[String],
) -> Result<Vec<NamePattern>, ConfigErrors> {
    let read = |(index, text): (usize, &String)| {
        NamePattern::parse(text).map_err(refused(config, &format!("{key}.{index}")))
    };
    written.iter().enumerate().map(read).collect()
}

fn group_rules(config: &ResolvedConfig) -> Result<GroupRules, ConfigErrors> {
    let ParamGroups { groups, no_decay_on_norm_and_bias, .. } = &config.param_groups;
    let read = |(index, group): (usize, &GroupEntry)| {
        let place = pattern_key(PatternList::Groups, index);
        let pattern = NamePattern::parse(&group.pattern).map_err(refused(config, &place))?;
        Ok(GroupRule { pattern, lr_scale: group.lr_scale, weight_decay: group.weight_decay })
    };
    let rules = groups.iter().enumerate().map(read).collect::<Result<_, ConfigErrors>>()?;
    Ok(GroupRules { rules, no_decay_on_norm_and_bias: *no_decay_on_norm_and_bias })
}

/// The key of one pattern of a list.
fn pattern_key(list: PatternList, index: usize) -> String {
    match list {
        PatternList::Freeze => format!("train.freeze.{index}"),
        PatternList::Groups => format!("optimizer.groups.{index}.match"),
    }
}

/// The section of a component in the config.
fn section(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Model | ComponentKind::Layer => "model",
        ComponentKind::Loss => "loss",
        ComponentKind::Optimizer => "optimizer",
        ComponentKind::LrScheduler => "lr_scheduler",
        ComponentKind::Schedule => "schedule",
        ComponentKind::Dataset | ComponentKind::Transform => "data",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_of_a_machine_has_its_own_device() {
        let devices = |visible| [0, 1, 2, 3].map(|rank| own_device(rank, visible));
        assert_eq!(devices(4), [0, 1, 2, 3]);
        // Each rank sees its own only.
        assert_eq!(devices(1), [0; 4]);
        // None at all: the engine reports that.
        assert_eq!(devices(0), [0; 4]);
        let ranks = Ranks { local_rank: 3, ..Ranks::single() };
        assert_eq!(device(Device::Cuda(Some(1)), &ranks), tch::Device::Cuda(1));
        assert_eq!(device(Device::Cpu, &ranks), tch::Device::Cpu);
    }
}
