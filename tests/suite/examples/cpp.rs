//! Plugins in C++ with tensors: those of the examples again, with the same numbers.

use super::linear::Linear;
use super::{bench, hook};
use crate::workbench::Bench;
use crate::workshop::compile_c;

const RECALL: &str = "[[metrics]]\ntype = \"RecallCpp\"\nclasses = [\"a\", \"b\", \"c\"]\n\
                      [[metrics]]\ntype = \"Accuracy\"\n";

fn in_cpp(more: &str) -> Bench {
    let bench = bench(more);
    let library = bench.path("plugins/libtensors_cpp.so");
    compile_c("../plugins/tensors_cpp", &library, &["-shared", "-Wpedantic"]);
    bench
}

#[test]
fn a_role_a_hook_with_tensors_and_a_metric_in_cpp_give_the_numbers_of_those_in_rust() {
    let six = ["train.max_epochs=6"];
    let slow = "every = \"3it\"\nalpha = 0.25";
    let rust = bench(&format!("{}{}", hook("FocalLoss", ""), hook("Lookahead", slow)));
    let cpp = in_cpp(&format!("{RECALL}{}{}", hook("FocalCpp", ""), hook("LookaheadCpp", slow)));
    let wanted = Linear::read(&rust.trained("run", &six), 6);
    let run = cpp.trained("run", &six);
    Linear::read(&run, 6).assert_near(&wanted);
    assert_eq!(cpp.read("run/steps.txt"), "2");
    // There are two samples of each class.
    let recalls = ["a", "b", "c"].map(|class| run.scalar(&format!("val/RecallCpp.{class}")));
    let recall = run.scalar("val/RecallCpp");
    assert!((recall - recalls.iter().sum::<f64>() / 3.0).abs() < 1e-12, "{recall}: {recalls:?}");
    assert!((recall - run.scalar("val/Accuracy")).abs() < 1e-6, "{recall}");
    // Cut off one step after the slow weights have moved.
    let cut = cpp.trained("cut", &["train.max_epochs=4"]);
    cpp.trained("cut", &["--resume", "train.max_epochs=6"]);
    Linear::read(&cut, 6).assert_near(&wanted);
    assert_eq!(cpp.read("cut/steps.txt"), "2");
}

#[test]
fn a_choice_in_cpp_is_checked_and_an_exception_of_a_metric_ends_the_run_with_its_text() {
    let bench = in_cpp(&hook("LookaheadCpp", "mode = 'mov'"));
    bench.check(&[]).expect(2).says(&["mode", "`move`"]);
    let bench = in_cpp("[[metrics]]\ntype = \"RecallCpp\"\nclasses = [\"a\"]\n");
    let (ran, _) = bench.train("run", &[]);
    ran.expect(4).says(&["RecallCpp", "has no name"]);
}
