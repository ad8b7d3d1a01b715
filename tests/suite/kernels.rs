//! `train.kernels`: PyTorch's kernels, or those in AVX-512.

use crate::workbench::Bench;
use std::fs;

const MLP: &str = "[model]\ntype = \"MLP\"\nhidden = [64]\n[data.train]\ntype = \"Digits\"\n\
                   [loss]\ntype = \"CrossEntropy\"\n[optimizer]\ntype = \"SGD\"\nlr = 0.01\n\
                   [train]\nmax_iters = 4\nthreads = 1\n";

fn has_avx512() -> bool {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |word: &str| cpu.split_whitespace().any(|it| it == word);
    ["avx512f", "avx512dq", "avx512bw", "avx512vl"].into_iter().all(has)
}

/// Whether the run said that it uses AVX-512, what it recorded, and its last loss.
fn trained(bench: &Bench, kernels: &str, precision: &str) -> (bool, String, f64) {
    let name = format!("{kernels}_{precision}");
    let sets = [format!("train.kernels={kernels}"), format!("train.precision={precision}")];
    let (ran, run) = bench.train(&name, &[&sets[0], &sets[1]]);
    ran.expect(0);
    let recorded = run.record()["kernels"].as_str().unwrap().to_owned();
    (ran.stdout.contains("kernels: native (AVX-512)"), recorded, run.scalar("train/loss"))
}

#[test]
fn products_use_avx_512_if_the_config_says_so_and_the_cpu_has_it() {
    let bench = Bench::of(MLP);
    // Doubles agree but for the order of sums. In floats the kernel for small layers takes part: four steps of sums over 64
    // numbers below 16, each with as many roundings, change a loss of 2.3 by less than a thousandth.
    for (precision, relative) in [("fp64", 1e-9), ("fp32", 1e-3)] {
        let (said, recorded, by_default) = trained(&bench, "default", precision);
        assert!(!said && recorded == "default");
        let (said, recorded, by_native) = trained(&bench, "native", precision);
        let expected = if has_avx512() { "native" } else { "default" };
        assert_eq!((said, recorded.as_str()), (has_avx512(), expected));
        let off = (by_native - by_default).abs();
        assert!(off <= relative * by_default, "{by_native}, {by_default}: more than rounding");
    }
}
