//! Ranks as threads, which libtorch supports.

use super::*;
use crate::TensorList;
use crate::autograd;
use crate::batch_norm::BatchNormState;
use crate::rounding;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tch::{Device, Kind, Tensor};

pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// Runs `body` on every rank in a group, and returns all results.
fn on_ranks<T: Send>(world: usize, body: impl Fn(Store, Group) -> T + Sync) -> Vec<T> {
    on_members(world, |store, member| {
        let group = Group::join(&store, &member, "test", Backend::Gloo).unwrap();
        body(store, group)
    })
}

/// Runs `body` on every rank, and returns all results. The store outlives all of them.
pub(super) fn on_members<T: Send>(
    world: usize,
    body: impl Fn(Store, Member) -> T + Sync,
) -> Vec<T> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect =
        |server| Store::connect(Address { host: "127.0.0.1", port }, server, TIMEOUT).unwrap();
    let _server = connect(Server::Socket(listener.into()));
    let rank = |rank: usize| {
        let network = Network::Host("127.0.0.1".to_owned());
        let member = Member { rank, world, network, timeout: TIMEOUT, activity: Arc::default() };
        body(connect(Server::Other), member)
    };
    std::thread::scope(|scope| {
        let rank = &rank;
        let ranks: Vec<_> = (0..world).map(|number| scope.spawn(move || rank(number))).collect();
        ranks.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

fn on_two_ranks<T: Send>(body: impl Fn(Store, Group) -> T + Sync) -> [T; 2] {
    let Ok(both) = on_ranks(2, body).try_into() else { unreachable!("two ranks, two results") };
    both
}

pub(super) fn number(rank: usize) -> f64 {
    f64::from(u32::try_from(rank).unwrap())
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).flatten(0, -1)).unwrap()
}

#[test]
fn the_store_carries_bytes_from_rank_to_rank() {
    let got = on_two_ranks(|store, group| {
        store
            .set(&format!("name/{}", group.rank()), &[7, u8::try_from(group.rank()).unwrap(), 0])
            .unwrap();
        assert_eq!(store.get("nobody set this").unwrap(), None);
        let other = store.wait_for(&format!("name/{}", 1 - group.rank()), TIMEOUT).unwrap();
        let all = store.get_all(&["name/0".to_owned(), "name/1".to_owned()]).unwrap();
        group.barrier().unwrap();
        (other, all)
    });
    let all = vec![vec![7, 0, 0], vec![7, 1, 0]];
    assert_eq!(got, [(vec![7, 1, 0], all.clone()), (vec![7, 0, 0], all)]);
}

#[test]
fn a_key_that_is_never_set_is_an_error_after_the_timeout() {
    on_two_ranks(|store, group| {
        assert!(store.wait_for("missing", Duration::from_millis(50)).is_err());
        group.barrier().unwrap();
    });
}

#[test]
fn collectives_give_every_rank_the_same() {
    let got = on_two_ranks(|_, group| {
        let own = number(group.rank());
        let reduced = |reduction| {
            let tensor = Tensor::from_slice(&[own, 10.0 - own]);
            group.all_reduce(&tensor, reduction).unwrap();
            numbers(&tensor)
        };
        let (sum, max, min) =
            (reduced(Reduction::Sum), reduced(Reduction::Max), reduced(Reduction::Min));
        let sent = Tensor::from_slice(&[own]);
        group.broadcast(&sent, 1).unwrap();
        let gathered = numbers(&group.all_gather(&Tensor::from_slice(&[own, own])).unwrap());
        let bytes = group.all_gather_bytes(&vec![9; group.rank() * 3]).unwrap();
        (sum, max, min, numbers(&sent), gathered, bytes)
    });
    let want = (
        vec![1.0, 19.0],
        vec![1.0, 10.0],
        vec![0.0, 9.0],
        vec![1.0],
        vec![0.0, 0.0, 1.0, 1.0],
        vec![vec![], vec![9, 9, 9]],
    );
    assert_eq!(got, [want.clone(), want]);
}

/// Gradients of `weight * mean((x w)^2)` summed over two ranks.
fn reduced_gradients(half: bool, passes: usize) -> [Vec<f64>; 2] {
    on_two_ranks(|_, group| {
        let weight = Tensor::ones([3], (Kind::Double, Device::Cpu)).set_requires_grad(true);
        let options = ReducerOptions { half, ..ReducerOptions::default() };
        let reducer = Reducer::new(&[("w", &weight)], &group, options).unwrap();
        let input = Tensor::from_slice(&[1.0, 2.0, 3.0]) * (number(group.rank()) + 1.0);
        for pass in 0..passes {
            let is_last = pass + 1 == passes;
            if is_last {
                reducer.before_forward().unwrap();
            }
            let loss = (&input * &weight).sum(Kind::Double);
            if is_last {
                reducer.before_backward(&loss).unwrap();
            }
            autograd::backward(&loss).unwrap();
        }
        assert_eq!(reducer.first_unused(), None);
        numbers(&weight.grad())
    })
}

#[test]
fn gradients_are_summed_over_ranks_not_averaged() {
    let want = vec![3.0, 6.0, 9.0];
    assert_eq!(reduced_gradients(false, 1), [want.clone(), want]);
}

#[test]
fn passes_before_the_last_add_up_before_anything_is_sent() {
    let want = vec![9.0, 18.0, 27.0];
    assert_eq!(reduced_gradients(false, 3), [want.clone(), want]);
}

#[test]
fn half_precision_sends_what_half_precision_holds() {
    // Small whole numbers are exact in half precision.
    let want = vec![3.0, 6.0, 9.0];
    assert_eq!(reduced_gradients(true, 1), [want.clone(), want]);
}

#[test]
fn a_parameter_without_a_gradient_is_found() {
    let found = on_two_ranks(|_, group| {
        let param = || Tensor::ones([2], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        let (used, unused) = (param(), param());
        let params = [("used", &used), ("unused", &unused)];
        let reducer = Reducer::new(&params, &group, ReducerOptions::default()).unwrap();
        reducer.before_forward().unwrap();
        let loss = used.sum(Kind::Float);
        reducer.before_backward(&loss).unwrap();
        autograd::backward(&loss).unwrap();
        let found = reducer.first_unused();
        group.barrier().unwrap();
        found
    });
    assert_eq!(found, [Some(1), Some(1)]);
}

#[test]
fn buckets_are_sent_from_the_last_parameter_on() {
    let mut params = TensorList::with_capacity(3);
    for len in [100, 200, 300] {
        params.push(&Tensor::zeros([len], (Kind::Float, Device::Cpu)));
    }
    let small = BucketSizes { first: 1, cap: 1 };
    assert_eq!(bucket_bytes(&params, small).unwrap(), [1200, 800, 400]);
    assert_eq!(bucket_bytes(&params, BucketSizes::default()).unwrap(), [2400]);
}

#[test]
fn a_rank_that_left_fails_the_collective_of_the_other() {
    let failed = on_two_ranks(|_, group| {
        if group.rank() == 1 {
            return true;
        }
        group.all_reduce(&Tensor::from_slice(&[1.0]), Reduction::Sum).is_err()
    });
    assert_eq!(failed, [true, true]);
}

/// A batch of seven rows, of which rank 0 has four: what each rank gets, and the gradients of a sum that weighs every number
/// differently.
struct Normed {
    output: Tensor,
    grads: [Tensor; 3],
    running: [Tensor; 2],
}

fn normed(group: Option<&Group>) -> Normed {
    let shape = [7, 3, 2, 2];
    let numbers = |scale: f64| {
        let count = Tensor::arange(84, (Kind::Double, Device::Cpu));
        ((count * scale).sin() * 3.0 + 1.0).view(shape)
    };
    let (start, rows) = match group.map(Group::rank) {
        None => (0, 7),
        Some(0) => (0, 4),
        Some(_) => (4, 3),
    };
    let input = numbers(1.7).narrow(0, start, rows).copy().set_requires_grad(true);
    let factors = numbers(0.3).narrow(0, start, rows);
    let weight = Tensor::from_slice(&[1.5, -0.5, 2.0]).set_requires_grad(true);
    let bias = Tensor::from_slice(&[0.1, 0.2, 0.3]).set_requires_grad(true);
    let running = [Tensor::zeros([3], (Kind::Double, Device::Cpu)), Tensor::from_slice(&[1.0; 3])];
    let (momentum, eps) = (0.1, 1e-5);
    let mut output = match group {
        None => input.batch_norm(
            Some(&weight),
            Some(&bias),
            Some(&running[0]),
            Some(&running[1]),
            true,
            momentum,
            eps,
            false,
        ),
        Some(group) => {
            let [running_mean, running_var] = &running;
            let (weight, bias) = (&weight, &bias);
            let state = BatchNormState { weight, bias, running_mean, running_var, momentum, eps };
            group.batch_norm(&input, &state).unwrap()
        }
    };
    let normed = output.detach().copy();
    // Changed in place, as a model does.
    let loss = (&output.relu_() * factors).sum(Kind::Double);
    autograd::backward(&loss).unwrap();
    let grads = [&input, &weight, &bias].map(Tensor::grad);
    Normed { output: normed, grads, running }
}

#[test]
fn a_batch_norm_over_two_ranks_is_that_of_one_process_with_all_rows() {
    let whole = normed(None);
    let [first, second] = on_two_ranks(|_, group| normed(Some(&group)));
    let both = |of: fn(&Normed) -> &Tensor| Tensor::cat(&[of(&first), of(&second)], 0);
    let near = |found: &Tensor, wanted: &Tensor| {
        for (found, wanted) in numbers(found).into_iter().zip(numbers(wanted)) {
            assert!((found - wanted).abs() < rounding::DOUBLES, "{found} {wanted}");
        }
    };
    near(&both(|it| &it.output), &whole.output);
    near(&both(|it| &it.grads[0]), &whole.grads[0]);
    for index in [1, 2] {
        // The reducer adds them up.
        near(&(&first.grads[index] + &second.grads[index]), &whole.grads[index]);
    }
    for index in [0, 1] {
        near(&first.running[index], &whole.running[index]);
        assert_eq!(first.running[index], second.running[index], "the same bits on all ranks");
    }
}
