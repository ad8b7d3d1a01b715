//! The loader alone and with threads, over samples that are their own numbers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::super::{SampleBuffer, Target, size};
use super::*;

/// Its samples are their own numbers.
struct Count {
    len: usize,
    /// A sample that cannot be read.
    bad: usize,
    /// One at which the reader panics.
    worse: usize,
    reads: AtomicUsize,
}

impl Dataset for Count {
    fn len(&self) -> usize {
        self.len
    }
    fn spec(&self) -> DataSpec {
        DataSpec { input: vec![1], target: Target::Classes(1_000_000) }
    }
    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        assert_ne!(index, self.worse, "a sample that panics");
        if index == self.bad {
            return Err(EngineError::Data("a sample that cannot be read".into()));
        }
        self.reads.fetch_add(1, Ordering::Relaxed);
        sample.floats([0.5]);
        sample.class(size(index));
        Ok(())
    }
}

fn bad(len: usize, bad: usize, worse: usize) -> Arc<Count> {
    Arc::new(Count { len, bad, worse, reads: AtomicUsize::new(0) })
}

fn count(len: usize) -> Arc<Count> {
    bad(len, usize::MAX, usize::MAX)
}

fn settings(batch_size: usize, drop_last: bool) -> LoaderSettings {
    LoaderSettings { shuffle: true, drop_last, seed: 5, ..LoaderSettings::new(batch_size) }
}

fn loader(len: usize, batch_size: usize, drop_last: bool) -> Result<Loader> {
    Loader::new(count(len), &settings(batch_size, drop_last))
}

fn rest(loader: &mut Loader) -> Vec<Vec<i64>> {
    let mut batches = Vec::new();
    while let Some(batch) = loader.next_batch().unwrap() {
        batches.push(Vec::try_from(batch.label).unwrap());
    }
    batches
}

#[test]
fn starting_anywhere_returns_the_rest() {
    let mut loader = loader(23, 4, false).unwrap();
    loader.begin(6, 0);
    let all = rest(&mut loader);
    assert_eq!(all.len(), 6);
    assert_eq!(all[5].len(), 3);
    for position in 0..=6 {
        loader.begin(6, position);
        let from = usize::try_from(position).unwrap();
        assert_eq!(rest(&mut loader), all[from..]);
    }
    loader.begin(7, 0);
    assert_ne!(rest(&mut loader), all);
}

#[test]
fn a_last_batch_that_is_not_full_may_be_left_out() {
    let mut loader = loader(23, 4, true).unwrap();
    assert_eq!(loader.batches(), 5);
    assert!(rest(&mut loader).iter().all(|batch| batch.len() == 4));
}

#[test]
fn a_loader_without_a_batch_is_refused_with_the_reason() {
    let text = |len, batch_size| loader(len, batch_size, true).unwrap_err().to_string();
    assert!(text(3, 4).contains("batch_size = 4 but only 3 samples"));
    assert_eq!(text(0, 4), "data: the data set is empty");
    assert!(text(4, 0).contains("batch_size = 0"));
}

fn with_workers(len: usize, workers: usize, prefetch: usize) -> Loader {
    let settings = LoaderSettings { workers, prefetch, ..settings(4, false) };
    Loader::new(count(len), &settings).unwrap()
}

#[test]
fn threads_give_the_same_batches_in_the_same_order() {
    let mut alone = loader(103, 4, false).unwrap();
    for (workers, prefetch) in [(1, 1), (2, 3), (4, 2), (3, 50)] {
        let mut threads = with_workers(103, workers, prefetch);
        for epoch in 0..3 {
            alone.begin(epoch, 0);
            threads.begin(epoch, 0);
            assert_eq!(rest(&mut threads), rest(&mut alone));
            assert!(threads.next_batch().unwrap().is_none());
        }
        // In the middle of an epoch, with batches of another one made ahead.
        threads.begin(0, 0);
        threads.next_batch().unwrap();
        threads.begin(7, 20);
        alone.begin(7, 20);
        assert_eq!(rest(&mut threads), rest(&mut alone));
    }
}

#[test]
fn an_endless_loader_makes_the_next_epoch_while_this_one_ends() {
    let (data, mut alone) = (count(40), loader(40, 4, false).unwrap());
    let settings = LoaderSettings { workers: 2, prefetch: 3, endless: true, ..settings(4, false) };
    let mut ahead = Loader::new(Arc::clone(&data) as Arc<dyn Dataset>, &settings).unwrap();
    rest(&mut ahead);
    // At least two batches of the next epoch, more than half of the prefetch limit, before that epoch is begun.
    let deadline = Instant::now() + Duration::from_secs(30);
    while data.reads.load(Ordering::Relaxed) < 40 + 8 {
        assert!(Instant::now() < deadline, "the threads wait for the next epoch to begin");
        std::thread::yield_now();
    }
    for epoch in 1..4 {
        ahead.begin(epoch, 0);
        alone.begin(epoch, 0);
        assert_eq!(rest(&mut ahead), rest(&mut alone));
    }
    // Nothing was made twice: four epochs, and what was prefetched after them.
    assert!(data.reads.load(Ordering::Relaxed) <= 4 * 40 + 12);
}

#[test]
fn what_a_thread_cannot_read_is_reported_when_its_turn_comes() {
    let none = usize::MAX;
    let cases =
        [(50, none, "data: a sample that cannot be read"), (none, 50, "a sample that panics")];
    for (unread, worse, why) in cases {
        let settings = LoaderSettings { workers: 2, prefetch: 4, ..settings(4, false) };
        let mut loader = Loader::new(bad(101, unread, worse), &settings).unwrap();
        let order = loader.sampler.order(0);
        let place = (0..order.count()).find(|place| order.at(*place) == 50).unwrap();
        for _ in 0..place / 4 {
            assert!(loader.next_batch().unwrap().is_some(), "the batches before it are whole");
        }
        let error = loader.next_batch().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert_eq!(error.contains("panicked"), worse == 50, "{error}");
        // The threads live on.
        loader.begin(0, 0);
        assert_eq!(loader.next_batch().is_ok(), place >= 4);
    }
}

#[test]
fn a_loader_that_is_dropped_leaves_no_thread() {
    let mut loader = with_workers(1000, 3, 2);
    loader.next_batch().unwrap();
    let dataset = Arc::downgrade(loader.dataset());
    drop(loader);
    assert!(dataset.upgrade().is_none(), "a thread still has the data set");
}

#[test]
fn a_start_in_the_middle_reads_no_sample_before_it_and_makes_no_list() {
    // So many that anything that iterated over them, or stored a number for each, would never finish.
    let data = count(1 << 50);
    let mut loader =
        Loader::new(Arc::clone(&data) as Arc<dyn Dataset>, &settings(64, false)).unwrap();
    loader.begin(3, 1 << 40);
    let batch = loader.next_batch().unwrap().unwrap();
    assert_eq!((batch.rows(), data.reads.load(Ordering::Relaxed)), (64, 64));
}

#[test]
fn what_no_machine_has_room_for_is_refused_at_its_setting() {
    let refused = |settings: LoaderSettings| match Loader::new(count(1 << 60), &settings) {
        Err(EngineError::TooLarge { key, .. }) => key,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(settings(1 << 59, false)), "batch_size");
    let ahead = LoaderSettings { workers: 1, prefetch: 1 << 60, ..settings(1, false) };
    assert_eq!(refused(ahead.clone()), "prefetch");
    // Without threads nothing is prefetched.
    let loader = Loader::new(count(1 << 60), &LoaderSettings { workers: 0, ..ahead }).unwrap();
    assert!(loader.check_group(8).is_ok());
    let group = loader.check_group(u64::MAX);
    assert!(matches!(group, Err(EngineError::TooLarge { key: "accumulate_grad_batches", .. })));
}
