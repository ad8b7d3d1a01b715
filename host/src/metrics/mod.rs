//! Built-in metrics, written against plugin-api like any plugin: one file each, one line in [`METRICS`].
//!
//! What several share: `numbers` reads a batch; `mean`, `class_counts`, `kept_scores` and `moments` accumulate it; `curve` draws curves.

mod accuracy;
mod auroc;
mod average_precision;
mod binary_cross_entropy;
mod bits_per_token;
mod bleu;
mod categorical_cross_entropy;
mod class_counts;
mod class_score;
mod confusion_matrix;
mod curve;
#[cfg(test)]
mod curve_parity;
mod gathered;
mod kept_scores;
mod kl_divergence;
mod loss;
mod mae;
mod mean;
mod mean_rank;
mod mean_reciprocal_rank;
mod moments;
mod mse;
mod numbers;
mod pearson;
mod perplexity;
mod poisson;
mod precision_recall_curve;
mod r2;
mod rank;
mod recall_at;
mod recall_at_k;
mod rmse;
mod roc;
mod softmax;
mod spearman;
mod throughput;

use hookrack_plugin_api::abi::MetricBase;
use hookrack_plugin_api::metric_table;

/// Names under `[[custom_hooks]]` that add a metric: of the type given by this key of the entry, else of this type.
pub static METRIC_HOOKS: &[(&str, &str, Option<&str>)] =
    &[("AccuracyHook", "accuracy_func", Some("Accuracy")), ("MetricHook", "metric", None)];

/// Hooks of `[[custom_hooks]]` that bring a metric with them, as ColossalAI's register one; the default hooks bring none.
pub static COMPANIONS: &[(&str, &str)] = &[("LossHook", "Loss")];

/// Every metric that a config can name without a library.
pub static METRICS: &[MetricBase] = &[
    metric_table!(accuracy::Accuracy as "Accuracy"),
    metric_table!(auroc::Auroc as "AUROC"),
    metric_table!(average_precision::AveragePrecision as "AveragePrecision"),
    metric_table!(binary_cross_entropy::BinaryCrossEntropy as "BinaryCrossEntropy"),
    metric_table!(bits_per_token::BitsPerToken as "BitsPerToken"),
    metric_table!(bleu::Bleu as "BLEU"),
    metric_table!(categorical_cross_entropy::CategoricalCrossEntropy as "CategoricalCrossEntropy"),
    metric_table!(confusion_matrix::ConfusionMatrix as "ConfusionMatrix"),
    metric_table!(class_score::F1 as "F1"),
    metric_table!(kl_divergence::KlDivergence as "KLDivergence"),
    metric_table!(loss::Loss as "Loss"),
    metric_table!(mae::Mae as "MAE"),
    metric_table!(mean_rank::MeanRank as "MeanRank"),
    metric_table!(mean_reciprocal_rank::MeanReciprocalRank as "MeanReciprocalRank"),
    metric_table!(mse::Mse as "MSE"),
    metric_table!(pearson::Pearson as "Pearson"),
    metric_table!(perplexity::Perplexity as "Perplexity"),
    metric_table!(poisson::Poisson as "Poisson"),
    metric_table!(class_score::Precision as "Precision"),
    metric_table!(precision_recall_curve::PrecisionRecallCurve as "PrecisionRecallCurve"),
    metric_table!(r2::R2 as "R2"),
    metric_table!(class_score::Recall as "Recall"),
    metric_table!(recall_at::RecallAt1 as "RecallAt1"),
    metric_table!(recall_at::RecallAt5 as "RecallAt5"),
    metric_table!(recall_at::RecallAt10 as "RecallAt10"),
    metric_table!(recall_at_k::RecallAtK as "RecallAtK"),
    metric_table!(rmse::Rmse as "RMSE"),
    metric_table!(roc::Roc as "ROC"),
    metric_table!(spearman::Spearman as "Spearman"),
    metric_table!(throughput::Throughput as "Throughput"),
];
