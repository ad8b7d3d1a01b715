//! A resolved config is itself a config, and means the same.

use std::path::Path;

use super::catalog::catalog;
use super::fixtures::{cases, fixtures, libraries_of, overrides};
use crate::config::{ConfigFile, Origin, ResolvedConfig};

/// Everything a config means, without where it was written.
fn meaning(mut config: ResolvedConfig) -> String {
    config.hooks.iter_mut().for_each(|hook| hook.origin = Origin::Default);
    config.metrics.iter_mut().for_each(|metric| metric.origin = Origin::Default);
    let components = [
        Some(&config.model),
        config.loss.as_ref(),
        Some(&config.optimizer),
        Some(&config.lr_scheduler),
        Some(&config.schedule),
    ];
    let components = components.map(|one| one.map(|one| (&one.name, &one.settings)));
    let data = [Some(&config.data.train), config.data.val.as_ref(), config.data.test.as_ref()];
    let data =
        data.map(|split| split.map(|split| (*split.loading.batch_size, &split.component.settings)));
    let rest = (&config.run, &config.train, &config.plugins, &config.hooks, &config.metrics);
    let of_params = (&config.weights, &config.param_groups);
    format!("{components:#?}{data:#?}{rest:#?}{of_params:#?}{}", config.to_toml())
}

fn resolve(current: &Path, path: &Path, overrides: &[String]) -> ResolvedConfig {
    let file = ConfigFile::load_in(current, path, overrides).unwrap();
    let libraries = libraries_of(&file).unwrap();
    file.resolve(&catalog(&libraries)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn goes_round(config: ResolvedConfig, dir: &Path) {
    let path = dir.join("config.toml");
    std::fs::write(&path, config.to_toml()).unwrap();
    // Another current directory: nothing in a resolved config may depend on it.
    let again = resolve(dir, &path, &[]);
    assert_eq!(meaning(config), meaning(again));
}

#[test]
fn every_good_config_goes_round() {
    let folder = fixtures("good_configs").canonicalize().unwrap();
    let dir = tempfile::tempdir().unwrap();
    for case in cases(&folder) {
        goes_round(resolve(&folder, &case, &overrides(&case)), dir.path());
    }
}

/// Each subset of these is a config of its own.
const CHANGES: [&str; 9] = [
    "model.activation=gelu",
    "model.hidden=[]",
    "train.clip_grad_norm_type=inf",
    "train.clip_grad_norm=1e-300",
    "default_hooks.timer=false",
    "default_hooks.main=true",
    "default_hooks.logger={type='IterationTimerHook', name='x', level=-9223372036854775808}",
    "data.test={type='IdxImages', images='a\\b\"c', extra={'odd key'=[{}], \"\\u0001\"=\"\\n\\t\"}}",
    "custom_hooks=[{type='EMAIterHook', momentum=0, phase=['pred', 'train'], every='1it'}]",
];

#[test]
fn every_subset_of_changes_goes_round() {
    let folder = fixtures("good_configs").canonicalize().unwrap();
    let dir = tempfile::tempdir().unwrap();
    for subset in 0..1_u32 << CHANGES.len() {
        let chosen = CHANGES.iter().enumerate().filter(|(bit, _)| subset >> bit & 1 == 1);
        let overrides: Vec<_> = chosen.map(|(_, change)| (*change).to_owned()).collect();
        goes_round(resolve(&folder, Path::new("ema_from_a_library.toml"), &overrides), dir.path());
    }
}
