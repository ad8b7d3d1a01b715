//! Ranks as threads of one process.

use super::super::tests::{TIMEOUT, number, on_members};
use super::*;

fn mesh(store: &Store, member: &Member) -> Mesh {
    Mesh::join(store, member, "test").unwrap()
}

#[test]
fn numbers_of_all_ranks_are_combined_in_their_order_on_any_number_of_ranks() {
    // Neither commutative nor associative.
    let combine = |one: f64, other: f64| one * 10.0 + other;
    for world in 1..=6 {
        let got = on_members(world, |store, member| {
            let (mesh, own) = (mesh(&store, &member), number(member.rank));
            // The first is still on its way when the second starts and is finished.
            let started = mesh.start([own, -own]).unwrap();
            let second = mesh.reduce([7_i64], i64::max).unwrap();
            (mesh.finish(started, combine).unwrap(), second)
        });
        let all = (0..world).map(number).fold(0.0, combine);
        assert_eq!(got, vec![([all, -all], [7]); world], "{world} ranks");
    }
}

#[test]
fn exchanges_that_nobody_finishes_are_forgotten() {
    on_members(2, |store, member| {
        let mesh = mesh(&store, &member);
        for iter in 0..1000 {
            let _never_finished = mesh.start([1.5]).unwrap();
            assert_eq!(mesh.reduce([iter], i64::min).unwrap(), [iter]);
        }
    });
}

#[test]
fn a_rank_that_leaves_fails_the_exchange_of_the_others_and_is_named() {
    let errors = on_members(3, |store, member| {
        let mesh = mesh(&store, &member);
        if member.rank == 1 {
            return String::new();
        }
        // A message may be sent before the other end is known to be closed.
        let error = (0..1000).find_map(|_| mesh.reduce([1.0], f64::max).err()).unwrap();
        assert!(error.is_of_peers(), "{error}");
        error.to_string()
    });
    // Rank 2 may have left before the last one looks at rank 1.
    assert!(errors[0].starts_with("connection to rank "), "{errors:?}");
    assert!(errors[2].starts_with("connection to rank "), "{errors:?}");
    assert!(errors.iter().any(|error| error.starts_with("connection to rank 1: ")), "{errors:?}");
}

#[test]
fn a_rank_that_does_not_answer_is_an_error_after_the_timeout() {
    let both = on_members(2, |store, member| {
        let mesh = Mesh { timeout: Duration::from_millis(300), ..mesh(&store, &member) };
        if member.rank == 1 {
            // Connected until rank 0 has given up.
            store.wait_for("given up", TIMEOUT).unwrap();
            return None;
        }
        let error = mesh.reduce([1_i64], i64::max).unwrap_err().to_string();
        store.set("given up", b"").unwrap();
        Some(error)
    });
    let wanted = "connection to rank 1: it did not answer within the timeout";
    assert_eq!(both, [Some(wanted.to_owned()), None]);
}

#[test]
fn ranks_that_are_out_of_step_are_told_so() {
    let both = on_members(2, |store, member| {
        let mesh = mesh(&store, &member);
        let error = match member.rank {
            0 => mesh.reduce([0.0], f64::max).map(drop),
            _ => mesh.reduce([0.0; 2], f64::max).map(drop),
        };
        error.unwrap_err().to_string()
    });
    assert_eq!(
        both[0],
        "connection to rank 1: it sent 2 numbers instead of 1: the ranks are out of sync"
    );
}

#[test]
fn a_stranger_that_connects_is_not_taken_for_a_rank() {
    on_members(2, |store, member| {
        if member.rank == 1 {
            let listening = store.wait_for("mesh/test/0", TIMEOUT).unwrap();
            let listening = String::from_utf8(listening).unwrap();
            let address = listening.split(' ').next().unwrap();
            let mut stranger = std::net::TcpStream::connect(address).unwrap();
            std::io::Write::write_all(&mut stranger, &[0; 20]).unwrap();
        }
        let mesh = mesh(&store, &member);
        let own = i64::try_from(member.rank).unwrap();
        assert_eq!(mesh.reduce([own], i64::max).unwrap(), [1]);
    });
}
