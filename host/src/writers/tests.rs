//! Writers that hooks open, and how often a pass is drawn.

use super::*;

#[test]
fn an_unknown_kind_is_refused() {
    let error = Writers::default().open("wandb", "").unwrap_err().to_string();
    assert_eq!(error, "unknown writer `wandb`; available: evaluations, json, tensorboard");
}

#[test]
fn a_kind_is_opened_once_inside_the_run_directory() {
    let folder = tempfile::tempdir().unwrap();
    let run_dir = Some(folder.path().to_owned());
    let mut writers = Writers::new(RunFacts { run_dir, ..RunFacts::default() });
    for outside in ["../json", "/tmp/json", "a/../../b"] {
        let error = writers.open("json", outside).unwrap_err().to_string();
        assert_eq!(error, format!("`{outside}`: use a path inside the run directory"));
    }
    for (kind, own) in [("evaluations", "metrics.json"), ("json", "checkpoints/x")] {
        let error = writers.open(kind, own).unwrap_err().to_string();
        assert_eq!(error, format!("`{own}` is written by the run itself: choose another name"));
    }
    assert!(!writers.take_media());
    writers.open("tensorboard", "").unwrap();
    writers.open("tensorboard", "./tb").unwrap();
    assert_eq!((writers.all.len(), writers.take_media()), (1, true));
    let error = writers.open("tensorboard", "other").unwrap_err().to_string();
    assert_eq!(error, "tensorboard is open in `tb` already: a run can have only one");
}

#[test]
fn a_dot_is_the_run_directory_itself() {
    let folder = tempfile::tempdir().unwrap();
    let run_dir = Some(folder.path().to_owned());
    let mut writers = Writers::new(RunFacts { run_dir, ..RunFacts::default() });
    writers.open("json", ".").unwrap();
    writers.open("json", "./").unwrap();
    assert!(folder.path().join("training_status.json").is_file());
    assert_eq!(writers.all.len(), 1);
}

/// Counts how often its line is drawn.
struct Line(std::rc::Rc<std::cell::Cell<u32>>);

impl Writer for Line {
    fn write(&mut self, _: &EventStorage, _: &Progress) -> Result<(), RunDirError> {
        Ok(())
    }
    fn is_drawn(&self) -> bool {
        true
    }
    fn redraw(&mut self, _: &EventStorage, _: &Progress) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_pass_is_drawn_now_and_then_and_a_short_one_never() {
    let (mut writers, drawn) = (Writers::default(), std::rc::Rc::default());
    writers.add(Line(std::rc::Rc::clone(&drawn)));
    let (events, progress) = (EventStorage::default(), Progress::default());
    writers.begin_pass();
    (0..100).for_each(|_| writers.draw_pass(&events, &progress));
    writers.end_pass(&events, &progress);
    assert_eq!(drawn.get(), 0, "it took no time");
    writers.begin_pass();
    std::thread::sleep(SHORTEST);
    (0..100).for_each(|_| writers.draw_pass(&events, &progress));
    assert!((1..=2).contains(&drawn.get()), "{}", drawn.get());
    let before = drawn.get();
    writers.end_pass(&events, &progress);
    writers.end_pass(&events, &progress);
    assert_eq!(drawn.get(), before + 1, "the line of training is drawn again");
}

#[test]
fn a_run_that_leaves_nothing_opens_nothing() {
    let mut writers = Writers::default();
    writers.open("tensorboard", "").unwrap();
    assert!(writers.all.is_empty());
}
