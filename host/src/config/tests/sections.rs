//! What the parts of a file mean.

use std::path::Path;

use hookrack_plugin_api::Phase;

use super::catalog::{catalog, entry};
use super::fixtures::libraries_of;
use crate::config::{
    Catalog, ConfigFile, Every, Kind, MemberEntry, Phases, ResolvedConfig, Source,
};
use hookrack_plugin_api::{OnError, Value};

const COMPLETE: &str = "
model.type = 'MLP'
data.train.type = 'Digits'
loss.type = 'CrossEntropy'
optimizer.type = 'AdamW'
train.max_epochs = 2
";

struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { dir }
    }

    fn resolve(&self, config: &str) -> Result<ResolvedConfig, String> {
        self.resolve_with(config, &catalog(&[]))
    }

    fn resolve_with(&self, config: &str, catalog: &Catalog) -> Result<ResolvedConfig, String> {
        let file = ConfigFile::load_in(self.dir.path(), Path::new(config), &[]);
        file.and_then(|file| file.resolve(catalog)).map_err(|errors| errors.to_string())
    }
}

fn resolve(more: &str) -> Result<ResolvedConfig, String> {
    Project::new(&[("c.toml", &format!("{COMPLETE}{more}"))]).resolve("c.toml")
}

fn hook<'a>(config: &'a ResolvedConfig, name: &str) -> &'a MemberEntry {
    config.hooks.iter().find(|hook| hook.name == name).unwrap()
}

#[test]
fn a_small_file_resolves_completely() {
    let config = resolve("").unwrap();
    assert_eq!((config.train.max_epochs, config.train.max_iters), (Some(2), None));
    assert_eq!(config.lr_scheduler.name, "ConstantLR");
    assert_eq!(config.schedule.name, "NoPipeline");
    assert_eq!(*config.data.train.loading.batch_size, 64);
    assert!(*config.data.train.loading.shuffle && config.data.val.is_none());
    assert_eq!(*config.run.name, "c");
    assert!(config.run.dir.is_absolute() && config.run.dir.ends_with("runs"));
    assert!(config.plugins.dirs.is_empty() && config.metrics.is_empty());
    assert!(*config.train.threads >= 1);
}

#[test]
fn default_hooks_come_first_and_custom_ones_in_file_order() {
    let more = "
        [[custom_hooks]]\ntype = 'PeriodicLogger'\nname = 'b'\nlevel = 'HIGHEST'
        [[custom_hooks]]\ntype = 'PeriodicLogger'\nname = 'a'\nlevel = -3";
    let config = resolve(more).unwrap();
    let names: Vec<_> = config.hooks.iter().map(|hook| hook.name.as_str()).collect();
    let defaults =
        ["MainHook", "IterationTimerHook", "EvaluateHook", "PeriodicLogger", "CheckPointHook"];
    assert_eq!(names, [&defaults[..], &["b", "a"]].concat());
    assert!(hook(&config, "MainHook").is_default && !hook(&config, "a").is_default);
    assert_eq!((hook(&config, "b").level, hook(&config, "a").level), (0, -3));
}

#[test]
fn a_hook_entry_falls_back_on_the_facts_of_its_type() {
    let config = resolve("[[custom_hooks]]\ntype = 'PeriodicLogger'\nname = 'mine'").unwrap();
    let mine = hook(&config, "mine");
    assert_eq!((mine.level, mine.on_error), (50, OnError::Disable));
    assert_eq!((mine.every, mine.phases), (Every::Always, Phases::ALL));
}

#[test]
fn false_removes_a_default_hook_and_a_table_changes_it() {
    let more = "[default_hooks]\ntimer = false\nlogger = { interval = 7, level = 11 }";
    let config = resolve(more).unwrap();
    assert!(config.hooks.iter().all(|hook| hook.name != "IterationTimerHook"));
    let logger = hook(&config, "PeriodicLogger");
    assert_eq!(logger.level, 11);
    assert!(format!("{:?}", logger.settings).contains("Int(7)"));
}

#[test]
fn a_default_hook_keeps_its_place_when_its_type_is_replaced() {
    let config = resolve("[default_hooks]\ntimer = { type = 'EvalHook', name = 'e' }").unwrap();
    let replaced = hook(&config, "e");
    assert_eq!((replaced.type_name.as_str(), replaced.level), ("EvaluateHook", 10));
    assert!(replaced.is_default);
}

#[test]
fn other_names_of_a_type_and_of_a_setting_mean_the_same() {
    let more = "[[custom_hooks]]\ntype = 'EvalHook'\neval_period = 7";
    let config = resolve(more).unwrap();
    let named = hook(&config, "EvalHook");
    assert_eq!(named.type_name, "EvaluateHook");
    assert_eq!(named.settings.field("eval_iter_period"), Some(&Value::Int(7)));
    let twice = resolve(&format!("{more}\neval_iter_period = 3")).unwrap_err();
    assert!(twice.contains("`eval_period` and `eval_iter_period` are two names"), "{twice}");
}

#[test]
fn a_custom_main_hook_takes_over_from_the_default_one() {
    let config = resolve("[[custom_hooks]]\ntype = 'MainHook'\nname = 'mine'").unwrap();
    assert_eq!(config.hooks.iter().filter(|hook| hook.type_name == "MainHook").count(), 2);
}

#[test]
fn huge_and_negative_levels_are_levels() {
    for level in [i64::MIN, -1, 0, 7, i64::MAX] {
        let more = format!("[[custom_hooks]]\ntype = 'MainHook'\nname = 'm'\nlevel = {level}");
        assert_eq!(hook(&resolve(&more).unwrap(), "m").level, level);
    }
}

#[test]
fn a_metric_is_for_evaluation_unless_it_says_otherwise() {
    let config = resolve("[[metrics]]\ntype = 'Accuracy'").unwrap();
    assert_eq!(config.metrics[0].phases, Phases::EVAL);
    let config = resolve("[[metrics]]\ntype = 'Accuracy'\nphase = 'train'").unwrap();
    assert!(config.metrics[0].phases.contains(Phase::Train));
}

#[test]
fn a_metric_hook_is_a_metric() {
    let more = "[[custom_hooks]]\ntype = 'AccuracyHook'\n\
                [[custom_hooks]]\ntype = 'MetricHook'\nmetric = 'TopK'\nk = 3\nname = 'top3'";
    let config = resolve(more).unwrap();
    let metrics: Vec<_> = config.metrics.iter().map(|m| (&*m.name, &*m.type_name)).collect();
    assert_eq!(metrics, [("Accuracy", "Accuracy"), ("top3", "TopK")]);
    assert!(config.hooks.iter().all(|hook| hook.is_default));
    let error = resolve("[[custom_hooks]]\ntype = 'MetricHook'").unwrap_err();
    assert!(error.contains("`metric`"), "{error}");
    let error = resolve("[[custom_hooks]]\ntype = 'MetricHook'\nmetric = 'Topk'").unwrap_err();
    assert!(error.contains("TopK"), "{error}");
}

#[test]
fn a_metric_has_level_cadence_and_error_policy_of_a_hook() {
    let keys = "level = 'LOW'\nevery = '2ep'\non_error = 'warn'";
    for entry in [
        format!("[[custom_hooks]]\ntype = 'AccuracyHook'\n{keys}"),
        format!("[[custom_hooks]]\ntype = 'MetricHook'\nmetric = 'Accuracy'\n{keys}"),
        format!("[[metrics]]\ntype = 'Accuracy'\n{keys}"),
    ] {
        let config = resolve(&entry).unwrap();
        let metric = &config.metrics[0];
        assert_eq!((metric.level, metric.on_error), (40, OnError::Warn));
        assert_eq!(metric.every, Every::Epochs(2));
    }
    let plain = resolve("[[custom_hooks]]\ntype = 'AccuracyHook'").unwrap();
    let metric = &plain.metrics[0];
    assert_eq!((metric.level, metric.on_error), (5, OnError::Abort));
    assert_eq!(metric.every, Every::Always);
    for (wrong, says) in [
        ("level = 'LOWISH'", "LOW"),
        ("every = 'often'", "every"),
        ("on_error = 'carry_on'", "on_error"),
    ] {
        let error = resolve(&format!("[[custom_hooks]]\ntype = 'AccuracyHook'\n{wrong}"));
        let error = error.unwrap_err();
        assert!(error.contains(says) && error.contains("c.toml:9"), "{error}");
    }
}

#[test]
fn a_loss_hook_brings_its_metric_once() {
    let hook = "[[custom_hooks]]\ntype = 'LossHook'\n";
    let config = resolve(hook).unwrap();
    let [loss] = config.metrics.as_slice() else { panic!("{:?}", config.metrics) };
    assert_eq!((loss.name.as_str(), loss.type_name.as_str()), ("Loss", "Loss"));
    for phase in [Phase::Train, Phase::Val, Phase::Test] {
        assert!(loss.phases.contains(phase));
    }
    assert!(!loss.phases.contains(Phase::Pred));
    assert!(config.hooks.iter().any(|hook| hook.type_name == "LossHook"));
    // An existing one stays as it is, and two hooks bring one.
    let own = "[[metrics]]\ntype = 'Loss'\nphase = 'val'\n";
    let config = resolve(&format!("{own}{hook}{hook}name = 'second'")).unwrap();
    assert_eq!(config.metrics.len(), 1);
    assert!(!config.metrics[0].phases.contains(Phase::Train));
}

#[test]
fn a_path_starts_in_the_folder_of_the_file_that_says_it() {
    let data = "data.train = { type = 'IdxImages', images = 'images.gz' }";
    let project = Project::new(&[
        ("bases/data.toml", data),
        (
            "configs/c.toml",
            &format!(
                "_base_ = '../bases/data.toml'\nrun.dir = '../out'{}",
                COMPLETE.replace("data.train.type = 'Digits'", "")
            ),
        ),
    ]);
    let config = project.resolve("configs/c.toml").unwrap();
    let root = project.dir.path().canonicalize().unwrap();
    let images = root.join("bases/images.gz").display().to_string();
    assert!(format!("{:?}", config.data.train.component.settings).contains(&images));
    assert_eq!(config.run.dir, root.join("out"));
}

#[test]
fn plugin_folders_are_found_beside_the_config_or_in_the_current_directory() {
    let named = format!("{COMPLETE}plugins.dirs = ['plugins']");
    let shared = Project::new(&[("configs/c.toml", &named), ("plugins/x.so", "")]);
    let root = shared.dir.path().canonicalize().unwrap();
    assert_eq!(shared.resolve("configs/c.toml").unwrap().plugins.dirs, [root.join("plugins")]);
    let own =
        [("configs/c.toml", named.as_str()), ("plugins/x.so", ""), ("configs/plugins/y.so", "")];
    let own = Project::new(&own);
    let root = own.dir.path().canonicalize().unwrap();
    let dirs = own.resolve("configs/c.toml").unwrap().plugins.dirs;
    assert_eq!(dirs, [root.join("configs/plugins")]);
}

fn two_libraries(entry: &str) -> (Project, String) {
    let text = format!("{COMPLETE}plugins.dirs = ['plugins']\n[[custom_hooks]]\n{entry}");
    let files = [("c.toml", text.as_str()), ("plugins/liba.so", ""), ("plugins/libb.so", "")];
    let project = Project::new(&files);
    let file = ConfigFile::load_in(project.dir.path(), Path::new("c.toml"), &[]).unwrap();
    let libraries = libraries_of(&file).unwrap();
    let outcome = match project.resolve_with("c.toml", &catalog(&libraries)) {
        Ok(config) => format!("{:?}", hook(&config, "EMAIterHook").library),
        Err(errors) => errors,
    };
    (project, outcome)
}

#[test]
fn a_type_in_two_libraries_must_be_chosen() {
    let (_, outcome) = two_libraries("type = 'EMAIterHook'");
    let want = "hook `EMAIterHook` is in more than one library: plugins/liba.so, plugins/libb.so";
    assert!(outcome.contains(want), "{outcome}");
    let (_, outcome) = two_libraries("type = 'EMAIterHook'\nlibrary = 'libb.so'");
    assert!(outcome.contains("plugins/libb.so"), "{outcome}");
    let (_, outcome) = two_libraries("type = 'EMAIterHook'\nlibrary = './plugins/liba.so'");
    assert!(outcome.contains("plugins/liba.so"), "{outcome}");
}

#[test]
fn a_library_without_the_type_says_what_it_has() {
    let (_, outcome) = two_libraries("type = 'EMAHook'\nlibrary = 'liba.so'");
    assert!(outcome.contains("library `liba.so` has no hook `EMAHook`"), "{outcome}");
    assert!(outcome.contains("it has EMAIterHook"), "{outcome}");
}

#[test]
fn a_built_in_type_is_not_shadowed_by_a_library() {
    let mut catalog = catalog(&[]);
    let mut twin = entry("PeriodicLogger", vec![]);
    twin.source = Source::Library("/plugins/libtwin.so".into());
    catalog.add(Kind::Hook, twin).unwrap();
    let config = Project::new(&[("c.toml", COMPLETE)]).resolve_with("c.toml", &catalog).unwrap();
    assert_eq!(hook(&config, "PeriodicLogger").library, None);
}

#[test]
fn every_value_knows_where_it_came_from() {
    let text = format!("{COMPLETE}[[metrics]]\ntype = 'Accuracy'\n");
    let project = Project::new(&[("c.toml", &text)]);
    let overrides = ["train.seed=1".to_owned(), "metrics.0.name=acc".to_owned()];
    let file = ConfigFile::load_in(project.dir.path(), Path::new("c.toml"), &overrides).unwrap();
    let config = file.resolve(&catalog(&[])).unwrap();
    let rows = config.explain();
    let origin = |key: &str| rows.iter().find(|row| row.key == key).unwrap().origin.clone();
    assert_eq!(origin("train.max_epochs"), "c.toml:6");
    assert_eq!(origin("train.seed"), "-s 1");
    assert_eq!(origin("metrics.0.name"), "-s 2");
    assert_eq!(origin("metrics.0.type"), "c.toml:8");
    assert_eq!(origin("train.batch_size"), "default");
}

#[test]
fn text_from_a_file_does_not_steer_the_terminal() {
    let error = resolve("[train]\nmode = \"\\u001b[31mred\"\n").unwrap_err();
    assert!(!error.contains('\u{1b}'), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Project::new(&[]).resolve("no_such.toml").unwrap_err();
    assert!(error.contains("cannot read config `no_such.toml`: no such file"), "{error}");
}
