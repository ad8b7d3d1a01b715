//! `train.mkl`: the instructions of MKL, by the config or as MKL chooses.

use crate::workbench::Bench;
use std::fs;

const MLP: &str = "[model]\ntype = \"MLP\"\nhidden = [64]\n[data.train]\ntype = \"Digits\"\n\
                   [loss]\ntype = \"CrossEntropy\"\n[optimizer]\ntype = \"SGD\"\nlr = 0.01\n\
                   [train]\nmax_iters = 4\nthreads = 1\nprecision = \"fp64\"\n";

/// Whether MKL has AVX-512 on this CPU and does not use it by itself.
fn can_differ() -> bool {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |word: &str| cpu.split_whitespace().any(|it| it == word);
    !has("GenuineIntel") && ["avx512f", "avx512dq", "avx512bw", "avx512vl"].into_iter().all(has)
}

#[test]
fn mkl_uses_avx_512_if_the_config_says_so_and_the_cpu_has_it() {
    let bench = Bench::bare();
    bench.write("config.toml", MLP);
    let trained = |mkl: &str| {
        let (ran, run) = bench.train(mkl, &["-s", &format!("train.mkl={mkl}")]);
        ran.expect(0);
        let loss = run.scalar("train/loss");
        (ran.stdout.contains("mkl: AVX-512"), run.record()["mkl"].clone(), loss)
    };
    let (said, recorded, by_default) = trained("default");
    assert!(!said && recorded == "default");
    let (said, recorded, by_native) = trained("native");
    let expected = if can_differ() { "native" } else { "default" };
    assert_eq!((said, recorded.as_str()), (can_differ(), Some(expected)));
    let off = (by_native - by_default).abs();
    assert!(off <= 1e-9 * by_default, "{by_native}, {by_default}: more than rounding");
}
