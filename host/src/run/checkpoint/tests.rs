//! Checkpoints on a real disk: written, damaged, found.

use super::*;
use crate::engine::{FlatRange, SavedState, TensorShard};
use crate::events::{Sample, SavedSeries};
use crate::run::safetensors_file;
use crate::torch::rng::RngState;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tch::Tensor;

fn tensors() -> [Vec<TensorShard>; 2] {
    [
        vec![TensorShard::whole("w", Tensor::from_slice(&[1.0_f32, 2.0]))],
        vec![TensorShard::whole("w.exp_avg", Tensor::from_slice(&[0.5_f32, 0.5]))],
    ]
}

fn portions() -> [Portion; 2] {
    let [model, optimizer] = tensors();
    [Portion::all(Contents::Model, model), Portion::all(Contents::Optimizer, optimizer)]
}

fn snapshot(iter: u64, asked_by: &[&str], buffers: Buffers) -> Snapshot {
    let asked_by = asked_by.iter().map(|&who| who.to_owned()).collect();
    Snapshot::take(&portions(), Some((&checkpoint(iter), asked_by)), buffers).unwrap()
}

fn checkpoint(iter: u64) -> Captured {
    let mut ema = SavedState::default();
    ema.values.insert("updates".into(), 7i64.into());
    ema.tensors.insert("shadow.0".into(), Tensor::from_slice(&[1.5_f32]));
    let mut engine = SavedState::default();
    engine.values.insert("scale".into(), 65536.0.into());
    let series = SavedSeries {
        name: "train/loss".into(),
        smooth: true,
        count: 3,
        numbers: 2,
        sum: Some(0.1 + 0.3),
        pending: true,
        values: [0.1, f64::NAN, 0.3].map(|value| Sample { iter, samples: 8, value }).to_vec(),
    };
    let position = Position { epoch: 2, iter, inner_iter: 3, samples: 640, ..Position::default() };
    Checkpoint {
        model: (),
        optimizer: (),
        engine,
        hooks: BTreeMap::from([("EMAIterHook".to_owned(), ema)]),
        hook_tensors: (),
        rng: RngState { cpu: vec![1, 2, 3], cuda: Some(vec![4]) },
        rank_rng: vec![
            RngState { cpu: vec![7], cuda: None },
            RngState { cpu: vec![8], cuda: Some(vec![9]) },
        ],
        state: CheckpointState { position, events: vec![series], ..CheckpointState::default() },
    }
}

fn write_one(folder: &Path, iter: u64) -> PathBuf {
    write(folder, &snapshot(iter, &["c"], Buffers::default())).unwrap()
}

#[test]
fn a_checkpoint_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    write_one(folder.path(), 5);
    write_one(folder.path(), 10);
    let Newest { path, checkpoint: back, .. } = newest_valid(folder.path()).unwrap().unwrap();
    assert_eq!(path, folder.path().join("iter_0000010"));
    let expected = checkpoint(10);
    assert_eq!(back.state.position, expected.state.position);
    assert_eq!(back.model.tensor("w").unwrap(), tensors()[0][0].tensor);
    assert_eq!(back.rng, RngState { cpu: vec![1, 2, 3], cuda: Some(vec![4]) });
    let ranks = [(vec![7], None), (vec![8], Some(vec![9]))];
    assert_eq!(back.rank_rng, ranks.map(|(cpu, cuda)| RngState { cpu, cuda }));
    assert_eq!(back.engine.values["scale"], 65536.0.into());
    assert!(back.hooks["EMAIterHook"].tensors.is_empty(), "they are read when they are requested");
    let ema = back.hook_state("EMAIterHook", |key| key == "shadow.0").unwrap().unwrap();
    assert_eq!(ema.tensors.len(), 1);
    assert!(back.hook_state("EMAIterHook", |_| false).unwrap().unwrap().tensors.is_empty());
    assert_eq!(ema.values["updates"], 7i64.into());
    assert_eq!(ema.tensors["shadow.0"], expected.hooks["EMAIterHook"].tensors["shadow.0"]);
    let bits = |state: &CheckpointState| {
        state.events[0].values.iter().map(|s| s.value.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(bits(&back.state), bits(&expected.state));
    assert_eq!(Manifest::read(&path).unwrap().about.asked_by, ["c"]);
}

#[test]
fn a_checkpoint_of_the_same_iteration_is_replaced_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut empty = portions();
    empty[0].tensors.clear();
    let run = Some((&checkpoint(5), Vec::new()));
    write(folder.path(), &Snapshot::take(&empty, run, Buffers::default()).unwrap()).unwrap();
    let path = write_one(folder.path(), 5);
    assert_eq!(read(&path).unwrap().model.names().count(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the checkpoint and `latest`");
}

#[test]
fn a_snapshot_reuses_the_memory_of_the_previous_one() {
    let first = snapshot(1, &[], Buffers::default());
    let place = |snapshot: &Snapshot| snapshot.files[0].1.as_ptr();
    let before = place(&first);
    let second = snapshot(2, &[], first.into_buffers());
    assert_eq!(place(&second), before);
}

#[test]
fn the_first_snapshot_uses_memory_that_was_reserved_for_it() {
    let mut background = Background::default();
    assert!(background.wants_reserve(0));
    let [model, optimizer] = tensors().map(|tensors| safetensors_file::size(&tensors).unwrap());
    let one = checkpoint(1);
    let kept = one.hooks.values().flat_map(|state| state.tensors.values());
    let hooks = safetensors_file::room_for(kept);
    background.reserve(1, vec![model, optimizer, hooks]);
    let buffers = background.buffers();
    let places = buffers.places();
    let snapshot = snapshot(1, &[], buffers);
    assert_eq!(snapshot.files[0].1.len(), model);
    assert_eq!(snapshot.into_buffers().places()[..3], places);
}

#[test]
fn more_memory_is_reserved_when_hooks_come_to_keep_far_more() {
    let mut background = Background::default();
    background.reserve(8, vec![1000, 2000, 3000]);
    let before = background.buffers();
    let places = before.places();
    let snapshot = snapshot(1, &[], before);
    let folder = tempfile::tempdir().unwrap();
    background.begin(folder.path(), snapshot, Vec::new(), Vec::new()).unwrap();
    assert!(!background.wants_reserve(20), "the memory is in use");
    background.wait().unwrap();
    assert!(!background.wants_reserve(10), "a quarter more is not worth a thread");
    assert!(background.wants_reserve(11));
    background.reserve(11, vec![1000, 2000, 30_000]);
    let after = background.buffers().places();
    assert_eq!(after[..2], places[..2], "what is large enough stays");
    assert!(after[2].1 >= 30_000);
}

type Damage = fn(&[u8]) -> Option<Vec<u8>>;

/// Ways to damage a file. Each returns the remaining bytes; `None` removes the file.
const DAMAGES: [(&str, Damage); 4] = [
    ("cut", |bytes| Some(bytes[..bytes.len() - 1].to_vec())),
    ("emptied", |_| Some(Vec::new())),
    ("removed", |_| None),
    ("flipped", |bytes| {
        let mut bytes = bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        Some(bytes)
    }),
];

fn put(path: &Path, bytes: Option<Vec<u8>>) {
    match bytes {
        Some(bytes) => fs::write(path, bytes).unwrap(),
        None => fs::remove_file(path).unwrap(),
    }
}

#[test]
fn any_damage_to_any_file_is_found_and_named_and_the_checkpoint_before_is_used() {
    for name in FILES.into_iter().chain([MANIFEST]) {
        for (what, damage) in DAMAGES {
            let folder = tempfile::tempdir().unwrap();
            let before = write_one(folder.path(), 5);
            let path = write_one(folder.path(), 10);
            put(&path.join(name), damage(&fs::read(path.join(name)).unwrap()));
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(name), "{name} {what}: {error}");
            let Newest { path: found, checkpoint, .. } =
                newest_valid(folder.path()).unwrap().unwrap();
            assert_eq!((found, checkpoint.state.position.iter), (before, 5), "{name} {what}");
        }
    }
}

#[test]
fn swapped_files_and_swapped_checkpoints_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (write_one(folder.path(), 5), write_one(folder.path(), 10));
    let aside = folder.path().join("aside");
    fs::rename(two.join(MODEL), &aside).unwrap();
    fs::rename(two.join(OPTIMIZER), two.join(MODEL)).unwrap();
    fs::rename(&aside, two.join(OPTIMIZER)).unwrap();
    assert!(read(&two).unwrap_err().to_string().contains(MODEL));
    fs::remove_dir_all(&two).unwrap();
    fs::rename(&one, &two).unwrap();
    let error = read(&two).unwrap_err().to_string();
    assert!(error.ends_with("it is the checkpoint of iteration 5"), "{error}");
}

#[test]
fn no_random_mutation_is_loaded_and_none_crashes() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_one(folder.path(), 10);
    // A fixed sequence: the same 300 mutations every time.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut draw = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let names: Vec<_> = FILES.into_iter().chain([MANIFEST]).collect();
    for round in 0..300 {
        let file = path.join(names[draw(names.len())]);
        let whole = fs::read(&file).unwrap();
        let mut bytes = whole.clone();
        let at = draw(bytes.len());
        match draw(4) {
            0 => bytes[at] ^= 1 << draw(8),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, bytes[draw(bytes.len())]),
            _ => {
                let end = (at + 1 + draw(16)).min(bytes.len());
                bytes[at..end].reverse();
                bytes[at] = bytes[at].wrapping_add(1);
            }
        }
        fs::write(&file, &bytes).unwrap();
        assert!(bytes == whole || read(&path).is_err(), "round {round}: {}", file.display());
        fs::write(&file, &whole).unwrap();
    }
    read(&path).unwrap();
}

#[test]
fn a_damaged_latest_is_ignored_and_a_folder_of_damaged_ones_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(newest_valid(folder.path()).unwrap().is_none());
    let path = write_one(folder.path(), 10);
    for latest in ["iter_0000000\n", "", "iter_", "\u{0}"] {
        fs::write(folder.path().join("latest"), latest).unwrap();
        assert_eq!(newest_valid(folder.path()).unwrap().unwrap().path, path);
    }
    fs::remove_file(path.join(MODEL)).unwrap();
    assert!(newest_valid(folder.path()).is_err());
}

#[test]
fn an_older_checkpoint_that_was_chosen_hides_the_later_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_one(folder.path(), 5);
    write_one(folder.path(), 10);
    point_latest_at(folder.path(), 5).unwrap();
    assert_eq!(newest_valid(folder.path()).unwrap().unwrap().path, path);
}

#[test]
fn a_write_that_fails_is_reported_and_leaves_the_previous_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_one(folder.path(), 5);
    let mut background = Background::default();
    let snapshot = || snapshot(10, &[], Buffers::default());
    // A file where the folder must go.
    let blocked = folder.path().join("blocked");
    fs::write(&blocked, "").unwrap();
    background.begin(&blocked, snapshot(), Vec::new(), Vec::new()).unwrap();
    let error = background.wait().unwrap_err().to_string();
    assert!(error.contains("blocked"), "{error}");
    assert_eq!(newest_valid(folder.path()).unwrap().unwrap().path, path);
    background.begin(folder.path(), snapshot(), Vec::new(), Vec::new()).unwrap();
    background.wait().unwrap();
    assert_eq!(newest_valid(folder.path()).unwrap().unwrap().checkpoint.state.position.iter, 10);
}

#[test]
fn only_what_a_rule_wants_stays_and_best_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut background = Background::default();
    let rule = Rule { who: "c".into(), last: Some(2), ..Rule::default() };
    for iter in [10, 20, 30, 40] {
        let snapshot = snapshot(iter, &["c"], background.buffers());
        background.begin(folder.path(), snapshot, vec![rule.clone()], Vec::new()).unwrap();
        background.wait().unwrap();
    }
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["iter_0000030", "iter_0000040", "latest"]);
}

/// What one of two ranks owns: a tensor of the model, and half of the state of another.
fn portions_of(rank: usize) -> [Portion; 2] {
    let numbers = Tensor::from_slice(&[1.0_f32, 2.0]) + i64::try_from(rank).unwrap();
    let part = FlatRange { shape: vec![2, 2], range: 2 * rank..2 * rank + 2 };
    let state = TensorShard { name: "a.exp_avg".into(), tensor: numbers.copy(), part: Some(part) };
    let of = 2;
    [
        Portion {
            contents: Contents::Model,
            index: rank,
            of,
            tensors: vec![TensorShard::whole(["a", "b"][rank], numbers)],
        },
        Portion { contents: Contents::Optimizer, index: rank, of, tensors: vec![state] },
    ]
}

#[test]
fn ranks_write_one_checkpoint_together_and_it_is_there_when_all_have() {
    let folder = tempfile::tempdir().unwrap();
    let before = write_one(folder.path(), 5);
    let captured = checkpoint(10);
    let run = Some((&captured, vec!["c".to_owned()]));
    let first = Snapshot::take(&portions_of(0), run, Buffers::default()).unwrap();
    let second = Snapshot::take(&portions_of(1), None, Buffers::default()).unwrap();
    let draft = Draft::new(folder.path(), 10).unwrap();
    let other = Draft::of_another(draft.folder().to_owned());
    let written = vec![draft.add(&first).unwrap(), other.add(&second).unwrap()];
    drop(other);
    assert_eq!(newest_valid(folder.path()).unwrap().unwrap().path, before);
    // As it comes from another process.
    let written = serde_json::from_slice(&serde_json::to_vec(&written).unwrap()).unwrap();
    let path = draft.put_in_place(&first.about, written).unwrap();
    let Newest { path: found, checkpoint: back, .. } =
        newest_valid(folder.path()).unwrap().unwrap();
    assert_eq!(found, path);
    assert_eq!(back.model.names().collect::<Vec<_>>(), ["a", "b"]);
    let state = back.optimizer.tensor("a.exp_avg").unwrap();
    assert_eq!(state, Tensor::from_slice(&[1.0_f32, 2.0, 2.0, 3.0]).view([2, 2]));
    let indexed = crate::run::safetensors_shards::read(&path.join(INDEX)).unwrap();
    let indexed: Vec<_> = indexed.into_iter().map(|(name, _)| name).collect();
    assert_eq!(indexed, ["a", "b"]);
    let manifest = fs::read_to_string(path.join(MANIFEST)).unwrap();
    assert!(manifest.contains("\"format\": 2"), "{manifest}");
    let second = path.join("model-00002-of-00002.safetensors");
    fs::remove_file(&second).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("model-00002-of-00002.safetensors"), "{error}");
    assert!(read_verified(&path).is_err());
}

#[test]
fn a_discarded_draft_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let draft = Draft::new(folder.path(), 10).unwrap();
    let snapshot = Snapshot::take(&portions_of(0), None, Buffers::default()).unwrap();
    let mut background = Background::default();
    background.begin_part(draft, snapshot, Vec::new()).unwrap();
    let outcome = background.finish_part(Vec::new(), |_| {
        Err::<Vec<Written>, _>(crate::run::RunDirError::OtherRank { rank: 1, why: "full".into() })
    });
    assert!(outcome.unwrap_err().to_string().starts_with("rank 1 could not write its part"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(!background.is_writing_part());
}
