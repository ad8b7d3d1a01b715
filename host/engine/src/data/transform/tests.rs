//! Chains of transforms over pictures small enough to write down, and over the loader's threads.

use std::sync::Arc;

use hookrack_plugin_api::Value;

use super::chain::Chain;
use crate::data::{Batch, DataSpec, Dataset, Digits, Loader, LoaderSettings, Prng, Split, Target};
use crate::registry::Choice;
use hookrack_torch::rounding;

type Settings<'a> = &'a [(&'a str, Value)];

fn list(numbers: &[f64]) -> Value {
    Value::List(numbers.iter().map(|number| Value::Float(*number)).collect())
}

fn spec(input: &[i64]) -> DataSpec {
    DataSpec { input: input.to_vec(), target: Target::Classes(3) }
}

fn chain(transforms: &[(&str, Settings<'_>)], input: &[i64]) -> Result<Chain, (usize, String)> {
    let choices: Vec<_> = transforms.iter().map(|(name, with)| Choice::new(name, with)).collect();
    Chain::build(&choices, &spec(input), 255).map_err(|(number, error)| (number, error.to_string()))
}

/// The output of a chain for an image with this seed, from bytes and from the same values as numbers.
fn render(chain: &Chain, bytes: &[u8], seed: u64) -> Vec<f32> {
    let mut scratch = chain.scratch();
    let len = usize::try_from(chain.spec().input.iter().product::<i64>()).unwrap();
    let (mut out, mut again) = (vec![f32::NAN; len], vec![f32::NAN; len]);
    chain.plan(&mut Prng::new(&[seed]), &mut scratch);
    chain.render(bytes, &mut scratch, &mut out);
    let numbers = bytes.iter().map(|byte| f32::from(*byte) / 255.0);
    chain.render_numbers(numbers, &mut scratch, &mut again);
    // A number is a byte's 255th, rounded; then both go the same way, with a weight of four neighbors at most and a scale of up to 8.
    for (a, b) in out.iter().zip(&again) {
        let off = f64::from((a - b).abs());
        assert!(off <= 8.0 * rounding::gamma(16), "{out:?}, but of numbers {again:?}");
    }
    out
}

/// Back to bytes.
fn shown(values: &[f32]) -> Vec<i32> {
    #[expect(clippy::cast_possible_truncation, reason = "bytes")]
    values.iter().map(|value| (value * 255.0).round() as i32).collect()
}

#[test]
fn values_are_scaled_channel_by_channel() {
    let mean_and_std: Settings<'_> = &[("mean", list(&[0.5, 0.0])), ("std", list(&[0.25, 2.0]))];
    let chain = chain(&[("Normalize", mean_and_std)], &[2, 1, 2]).unwrap();
    let found = render(&chain, &[0, 255, 0, 255], 0);
    assert_eq!(found, [-2.0, 2.0, 0.0, 0.5]);
    let spread: Settings<'_> = &[("low", Value::Float(-1.0))];
    let one: Settings<'_> = &[("mean", list(&[1.0])), ("std", list(&[2.0]))];
    let both = self::chain(&[("ToFloat", spread), ("Normalize", one)], &[1, 1, 2]).unwrap();
    assert_eq!(render(&both, &[0, 255], 0), [-1.0, 0.0]);
}

#[test]
fn features_in_a_row_have_a_mean_each() {
    let each: Settings<'_> = &[("mean", list(&[0.0, 1.0, 0.5])), ("std", list(&[1.0, 1.0, 0.5]))];
    let chain = chain(&[("Normalize", each)], &[3]).unwrap();
    assert_eq!(render(&chain, &[255, 255, 255], 0), [1.0, 0.0, 1.0]);
}

#[test]
fn a_flip_mirrors_and_a_second_one_mirrors_back() {
    let always: Settings<'_> = &[("p", Value::Float(1.0))];
    let down: Settings<'_> = &[("p", Value::Float(1.0)), ("vertical", Value::Bool(true))];
    let picture = [1, 2, 3, 4, 5, 6];
    let flipped = |flips: &[(&str, Settings<'_>)]| {
        shown(&render(&chain(flips, &[1, 2, 3]).unwrap(), &picture, 0))
    };
    assert_eq!(flipped(&[("RandomFlip", always)]), [3, 2, 1, 6, 5, 4]);
    assert_eq!(flipped(&[("RandomFlip", down)]), [4, 5, 6, 1, 2, 3]);
    assert_eq!(flipped(&[("RandomFlip", always), ("RandomFlip", down)]), [6, 5, 4, 3, 2, 1]);
    assert_eq!(flipped(&[("RandomFlip", always), ("RandomFlip", always)]), [1, 2, 3, 4, 5, 6]);
}

/// Every picture that a crop of 2x2 with padding 1 can give.
fn windows(picture: [u8; 4], fill: i32) -> Vec<Vec<i32>> {
    let at = |y: i32, x: i32| {
        let inside = (0..2).contains(&y) && (0..2).contains(&x);
        let place = usize::try_from(y * 2 + x).unwrap_or(0);
        if inside { i32::from(picture[place]) } else { fill }
    };
    let places = (-1..=1).flat_map(|y| (-1..=1).map(move |x| (y, x)));
    places.map(|(y, x)| vec![at(y, x), at(y, x + 1), at(y + 1, x), at(y + 1, x + 1)]).collect()
}

#[test]
fn a_crop_takes_each_window_and_no_other() {
    let (picture, black): ([u8; 4], Settings<'_>) =
        ([10, 20, 30, 40], &[("padding", Value::Int(1))]);
    let chain = chain(&[("RandomCrop", black)], &[1, 2, 2]).unwrap();
    let mut found: Vec<_> = (0..200).map(|seed| shown(&render(&chain, &picture, seed))).collect();
    found.sort();
    found.dedup();
    let mut wanted = windows(picture, 0);
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn what_a_crop_adds_is_scaled_by_what_follows_and_not_by_what_went_before() {
    let pad: Settings<'_> = &[("padding", Value::Int(2)), ("fill", Value::Float(1.0))];
    let half: Settings<'_> = &[("mean", list(&[0.0])), ("std", list(&[0.5]))];
    let picture = [0; 4];
    let largest = |order: &[(&str, Settings<'_>)]| {
        let chain = chain(order, &[1, 2, 2]).unwrap();
        let all = (0..50).flat_map(|seed| render(&chain, &picture, seed));
        all.fold(f32::MIN, f32::max)
    };
    assert!((largest(&[("RandomCrop", pad), ("Normalize", half)]) - 2.0).abs() < 1e-6);
    assert!((largest(&[("Normalize", half), ("RandomCrop", pad)]) - 1.0).abs() < 1e-6);
}

#[test]
fn a_smaller_window_makes_smaller_samples() {
    let small: Settings<'_> = &[("size", Value::List(vec![Value::Int(1), Value::Int(2)]))];
    let chain = chain(&[("RandomCrop", small), ("RandomFlip", &[])], &[2, 2, 2]).unwrap();
    assert_eq!(chain.spec().input, [2, 1, 2]);
    for seed in 0..30 {
        let found = shown(&render(&chain, &[1, 2, 3, 4, 5, 6, 7, 8], seed));
        assert!(
            [[1, 2, 5, 6], [3, 4, 7, 8], [2, 1, 6, 5], [4, 3, 8, 7]].iter().any(|w| found == w),
            "{found:?}"
        );
    }
}

#[test]
fn a_quarter_turn_is_exact_and_no_turn_changes_nothing() {
    let turned = |degrees: f64| {
        let chain =
            chain(&[("Rotate", &[("degrees", Value::Float(degrees))])], &[1, 3, 3]).unwrap();
        let mut scratch = chain.scratch();
        scratch.plan.turn(degrees, 0.0);
        let mut out = vec![0.0; 9];
        chain.render(&[1_u8, 2, 3, 4, 5, 6, 7, 8, 9][..], &mut scratch, &mut out);
        shown(&out)
    };
    assert_eq!(turned(0.0), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(turned(90.0), [3, 6, 9, 2, 5, 8, 1, 4, 7], "counter-clockwise");
    assert_eq!(turned(180.0), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
}

#[test]
fn what_is_erased_is_a_rectangle_of_the_right_size() {
    let side: Settings<'_> = &[("side", Value::Int(2)), ("fill", Value::Float(1.0))];
    let chain = chain(&[("Cutout", side)], &[2, 4, 4]).unwrap();
    for seed in 0..50 {
        let found = render(&chain, &[0; 32], seed);
        let (first, second) = found.split_at(16);
        assert_eq!(first, second, "all channels lose the same square");
        let painted = first.iter().filter(|value| **value > 0.5).count();
        assert!(matches!(painted, 1 | 2 | 4), "{first:?}");
    }
    let all: Settings<'_> =
        &[("p", Value::Float(1.0)), ("scale", list(&[0.2, 0.2])), ("fill", Value::Float(1.0))];
    let chain = self::chain(&[("RandomErase", all)], &[1, 20, 20]).unwrap();
    for seed in 0..50 {
        let painted = render(&chain, &[0; 400], seed).iter().filter(|v| **v > 0.5).count();
        assert!((60..=100).contains(&painted), "{painted} of 400, 80 wanted");
    }
}

#[test]
fn a_flip_after_a_hole_takes_the_hole_with_it() {
    let side: Settings<'_> = &[("side", Value::Int(1)), ("fill", Value::Float(1.0))];
    let always: Settings<'_> = &[("p", Value::Float(1.0))];
    let picture = [10, 20, 30, 40];
    let cut = chain(&[("Cutout", side)], &[1, 1, 4]).unwrap();
    let both = chain(&[("Cutout", side), ("RandomFlip", always)], &[1, 1, 4]).unwrap();
    for seed in 0..20 {
        let mut first = shown(&render(&cut, &picture, seed));
        first.reverse();
        assert_eq!(shown(&render(&both, &picture, seed)), first);
    }
}

fn loader(transforms: &[(&str, Settings<'_>)], shuffle: bool, workers: usize) -> Loader {
    let data: Arc<dyn Dataset> = Arc::new(Digits::new(Split::All));
    let choices: Vec<_> = transforms.iter().map(|(name, with)| Choice::new(name, with)).collect();
    let chain = Chain::build(&choices, &data.spec(), data.brightest()).unwrap();
    let settings =
        LoaderSettings { shuffle, workers, prefetch: 3, seed: 9, ..LoaderSettings::new(100) };
    Loader::transformed(data, chain, &settings).unwrap()
}

fn batches(loader: &mut Loader, epoch: u64, position: u64) -> Vec<Batch> {
    loader.begin(epoch, position);
    std::iter::from_fn(|| loader.next_batch().unwrap()).collect()
}

const ALL: &[(&str, Settings<'_>)] = &[
    ("RandomCrop", &[("padding", Value::Int(2))]),
    ("RandomFlip", &[]),
    ("Rotate", &[("degrees", Value::Float(20.0))]),
    ("Cutout", &[("side", Value::Int(2))]),
    ("MixUp", &[]),
];

#[test]
fn threads_and_a_start_in_the_middle_do_not_change_a_number() {
    let alone = batches(&mut loader(ALL, true, 0), 4, 0);
    let threads = batches(&mut loader(ALL, true, 3), 4, 0);
    let tail = batches(&mut loader(ALL, true, 2), 4, 7);
    for (a, b) in alone.iter().zip(&threads).chain(alone[7..].iter().zip(&tail)) {
        assert_eq!((&a.input, &a.label), (&b.input, &b.label));
    }
    assert_eq!((threads.len(), tail.len()), (18, 11));
    let next = batches(&mut loader(ALL, true, 0), 5, 0);
    assert_ne!(alone[0].input, next[0].input, "another epoch, other random numbers");
}

#[test]
fn what_happens_to_a_sample_does_not_depend_on_the_order() {
    let crop = &ALL[..2];
    let rows = |shuffle| {
        let mut loader = loader(crop, shuffle, 0);
        let all = batches(&mut loader, 2, 0);
        let rows = all.iter().flat_map(|batch| (0..batch.rows()).map(|row| batch.input.get(row)));
        let mut rows: Vec<Vec<f32>> =
            rows.map(|row| Vec::try_from(row.reshape([-1])).unwrap()).collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows
    };
    assert_eq!(rows(true), rows(false));
}

#[test]
fn mixed_labels_are_shares_that_add_up_to_one() {
    let mut mixed = loader(&[("MixUp", &[("alpha", Value::Float(1.0))])], false, 0);
    assert_eq!(mixed.spec().target, Target::Shares(10));
    let (plain, mixed) = (batches(&mut loader(&[], false, 0), 0, 0), batches(&mut mixed, 0, 0));
    let (plain, mixed) = (&plain[0], &mixed[0]);
    assert_eq!(mixed.label.size(), [100, 10]);
    let one_hot = plain.label.one_hot(10).to_kind(tch::Kind::Float);
    // A row whose partner has another class shows the weight: 0 and 9 of the file's first hundred.
    let kept = mixed.label.double_value(&[0, plain.label.int64_value(&[0])]);
    assert!(0.0 < kept && kept < 1.0, "{kept}");
    let blend = |of: &tch::Tensor| of * kept + of.flip([0]) * (1.0 - kept);
    for (found, wanted) in [(&mixed.label, blend(&one_hot)), (&mixed.input, blend(&plain.input))] {
        // Two products and a sum of numbers up to 1, here and there.
        let off = (found - wanted).abs().max().double_value(&[]);
        assert!(off <= rounding::gamma(6), "{off:e}");
    }
}

#[test]
fn transforms_that_do_not_fit_are_reported_with_their_number() {
    let error = |transforms: &[(&str, Settings<'_>)], input: &[i64]| {
        chain(transforms, input).map(|_| ()).unwrap_err()
    };
    let two: Settings<'_> = &[("mean", list(&[0.5, 0.5])), ("std", list(&[1.0]))];
    assert_eq!(
        error(&[("RandomFlip", &[]), ("Normalize", two)], &[3, 8, 8]),
        (1, "transform `Normalize`: mean has 2 numbers, but samples have 3 channels: set one number, or 3".into())
    );
    assert_eq!(
        error(&[("RandomFlip", &[])], &[12]),
        (0, "transform `RandomFlip`: samples have shape [12]: expected images, [channels, height, width]".into())
    );
    let nine: Settings<'_> = &[("size", Value::List(vec![Value::Int(9), Value::Int(9)]))];
    assert_eq!(
        error(&[("RandomCrop", nine)], &[1, 8, 8]),
        (0, "transform `RandomCrop`: a crop of 9x9 is larger than the padded image, 8x8".into())
    );
    let zero: Settings<'_> = &[("mean", list(&[0.0])), ("std", list(&[0.0]))];
    assert!(error(&[("Normalize", zero)], &[1, 8, 8]).1.contains("std = 0: must be above 0"));
}
