//! The table of schedules: a name of one of the seeds, its warm-up and its curve.

use super::cosine::{
    Cosine, CosineOver, CosineToShare, CosineWaves, FlatThenCosine, FlatThenZero, HardRestarts,
    WarmRestarts,
};
use super::linear::{Constant, LinearFactors, LinearToZero};
use super::polynomial::{Polynomial, PolynomialCycle, PolynomialOver, PolynomialTo};
use super::row::row;
use super::step_decay::{
    Exponential, Factors, MultiStep, Products, RequiredExponential, RequiredStepDecay, StepDecay,
};
use super::warmup_rules::{
    ColossalFullWarmup, ColossalWarmup, HuggingFaceWarmup, NoWarmup, OverlappingWarmup,
};
use super::{Horizon, LrSchedule};
use super::{
    bert_warmup, constant, cyclic, linear_non_zero, one_cycle, plateau, pythia, sequential, warmup,
};
use crate::registry::Entry;

/// Every schedule that a config can name.
pub static LR_SCHEDULES: &[Entry<Horizon, dyn LrSchedule>] = &[
    Entry::of::<constant::ConstantLr>(),
    // ColossalAI's, with PyTorch's where the name is the same.
    row::<NoWarmup, CosineOver>(
        "CosineAnnealingLR",
        "Half a cosine to `eta_min`: `eta_min + (base - eta_min) (1 + cos(π t / t_max)) / 2`. With `t_max` the rate goes up and down again past it.",
    ),
    row::<ColossalWarmup, Cosine>(
        "CosineAnnealingWarmupLR",
        "Warm-up A, then half a cosine to `eta_min` over the rest.",
    ),
    row::<NoWarmup, FlatThenZero>(
        "FlatAnnealingLR",
        "Constant for `⌊T pct_start⌋` steps, then half a cosine to 0.",
    ),
    row::<ColossalFullWarmup, FlatThenCosine>(
        "FlatAnnealingWarmupLR",
        "Warm-up A with `warmup_divisor = \"w\"`, then constant for `pct_start` of the rest and half a cosine to `eta_min`.",
    ),
    row::<ColossalWarmup, LinearToZero>(
        "LinearWarmupLR",
        "Warm-up A, then a line to 0: `base (T - t) / (T - w)`.",
    ),
    row::<ColossalWarmup, LinearToZero>("LinearWarmupDecay", "Former name of `LinearWarmupLR`."),
    row::<NoWarmup, MultiStep>("MultiStepLR", "Times `gamma` at each milestone."),
    row::<ColossalWarmup, MultiStep>(
        "MultiStepWarmupLR",
        "Warm-up A, then times `gamma` at each milestone. Milestones are steps of the run; those within the warm-up do nothing.",
    ),
    Entry::of::<one_cycle::OneCycleLr>(),
    row::<NoWarmup, PolynomialOver>(
        "PolynomialLR",
        "`(base - end_lr) (1 - t / total_iters)^power + end_lr`.",
    ),
    row::<ColossalWarmup, Polynomial>(
        "PolynomialWarmupLR",
        "Warm-up A, then as `PolynomialLR` over the rest.",
    ),
    row::<NoWarmup, StepDecay>("StepLR", "`base gamma^⌊t / step_size⌋`."),
    row::<NoWarmup, Exponential>("ExponentialLR", "`base gamma^t`."),
    row::<NoWarmup, Factors>("LambdaLR", "`base factors[t / every]`; the last factor stays."),
    row::<NoWarmup, Products>(
        "MultiplicativeLR",
        "Times the next factor every `every` steps, until the list ends.",
    ),
    // LiBai's.
    row::<OverlappingWarmup, CosineToShare>(
        "WarmupCosineLR",
        "Warm-up B over `base ((1 - alpha) (1 + cos(π t / T)) / 2 + alpha)`.",
    ),
    row::<OverlappingWarmup, Cosine>(
        "WarmupCosineAnnealingLR",
        "Warm-up B over `CosineAnnealingLR`.",
    ),
    row::<OverlappingWarmup, RequiredStepDecay>(
        "WarmupStepLR",
        "Warm-up B over `StepLR`; `step_size` is in steps.",
    ),
    row::<OverlappingWarmup, MultiStep>("WarmupMultiStepLR", "Warm-up B over `MultiStepLR`."),
    row::<OverlappingWarmup, RequiredExponential>(
        "WarmupExponentialLR",
        "Warm-up B over `ExponentialLR`.",
    ),
    row::<OverlappingWarmup, PolynomialCycle>(
        "WarmupPolynomialLR",
        "Warm-up B over `PolynomialLR`; with `cycle` it falls again past `max_iter`.",
    ),
    // iMIX's, with Hugging Face's curves.
    Entry::of::<linear_non_zero::WarmupLinearScheduleNonZero>(),
    Entry::of::<bert_warmup::BertWarmupLinearLr>(),
    row::<NoWarmup, Constant>("ConstantSchedule", "Constant: `base`."),
    row::<HuggingFaceWarmup, Constant>("WarmupConstantSchedule", "Warm-up C, then constant."),
    row::<HuggingFaceWarmup, LinearToZero>("WarmupLinearSchedule", "Warm-up C, then a line to 0."),
    row::<HuggingFaceWarmup, CosineWaves>(
        "WarmupCosineSchedule",
        "Warm-up C, then `num_cycles` waves of a cosine.",
    ),
    row::<HuggingFaceWarmup, HardRestarts>(
        "WarmupCosineWithHardRestartsSchedule",
        "Warm-up C, then `num_cycles` half cosines to 0, each from the top.",
    ),
    row::<HuggingFaceWarmup, PolynomialTo>(
        "WarmupPolynomialSchedule",
        "Warm-up C, then as `PolynomialLR` to `lr_end` over the rest.",
    ),
    Entry::of::<pythia::MultiStepScheduler>(),
    Entry::of::<pythia::PythiaScheduler>(),
    // PyTorch's own.
    row::<NoWarmup, WarmRestarts>(
        "CosineAnnealingWarmRestarts",
        "Half cosines of `t_0`, `t_0 t_mult`, … steps, each from the top to `eta_min`.",
    ),
    Entry::of::<cyclic::CyclicLr>(),
    row::<NoWarmup, LinearFactors>(
        "LinearLR",
        "A line from `start_factor base` to `end_factor base`, then constant.",
    ),
    Entry::of::<plateau::ReduceLrOnPlateau>(),
    // Made of others.
    Entry::of::<sequential::Sequential>(),
    Entry::of::<warmup::WarmedUp>(),
];
