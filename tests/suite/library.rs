//! hookrack as a library: the example does what it says.

#[expect(dead_code, unreachable_pub, reason = "it is a program of its own")]
#[path = "../../host/examples/library.rs"]
mod example;

#[test]
fn an_engine_is_built_from_code_and_trained_in_a_loop_of_ones_own() {
    let accuracy = example::train(15).unwrap();
    assert!(accuracy > 0.95, "{accuracy}");
}
