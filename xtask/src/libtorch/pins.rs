//! The wheels that a CPU libtorch is assembled from: exact names, sizes and hashes, and what to keep of each.

/// One wheel of the Python package index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wheel {
    pub(crate) project: &'static str,
    pub(crate) version: &'static str,
    pub(crate) file: &'static str,
    pub(crate) bytes: u64,
    pub(crate) sha256: &'static str,
    /// (path in the wheel, path in the libtorch folder); a trailing slash means a whole folder.
    pub(crate) keep: &'static [(&'static str, &'static str)],
    /// Options of `pip download` that select the target, whatever Python it runs under.
    pub(crate) target: &'static [&'static str],
}

/// `libtorch_cpu.so` of this build needs CUPTI and the CUDA runtime when it is loaded; no GPU is needed.
pub(crate) const WHEELS: [Wheel; 3] = [
    Wheel {
        project: "torch",
        version: "2.13.0",
        file: "torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        bytes: 526_605_292,
        sha256: "796633c4cdf0fe2cdced72d8f88f22e73dbcfce83132763162f6d4bff13b820b",
        keep: &[
            ("torch/include/", "include/"),
            ("torch/lib/libtorch_cpu.so", "lib/libtorch_cpu.so"),
            ("torch/lib/libc10.so", "lib/libc10.so"),
            ("torch/lib/libgomp.so.1", "lib/libgomp.so.1"),
            ("torch-2.13.0.dist-info/licenses/", "licenses/torch/"),
        ],
        target: &["--implementation=cp", "--abi=cp312", "--platform=manylinux_2_28_x86_64"],
    },
    Wheel {
        project: "nvidia-cuda-cupti",
        version: "13.0.85",
        file: "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl",
        bytes: 10_715_597,
        sha256: "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
        keep: &[
            ("nvidia/cu13/lib/libcupti.so.13", "lib/libcupti.so.13"),
            ("nvidia_cuda_cupti-13.0.85.dist-info/licenses/", "licenses/cupti/"),
        ],
        target: &["--platform=manylinux_2_25_x86_64", "--platform=manylinux2014_x86_64"],
    },
    Wheel {
        project: "nvidia-cuda-runtime",
        version: "13.0.96",
        file: "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        bytes: 2_243_632,
        sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
        keep: &[
            ("nvidia/cu13/lib/libcudart.so.13", "lib/libcudart.so.13"),
            ("nvidia_cuda_runtime-13.0.96.dist-info/licenses/", "licenses/cudart/"),
        ],
        target: &["--platform=manylinux_2_25_x86_64", "--platform=manylinux2014_x86_64"],
    },
];

/// The libraries a finished CPU libtorch has, the stub `libtorch.so` included: what a release packs.
pub(crate) const LIBRARIES: [&str; 6] = [
    "libtorch.so",
    "libtorch_cpu.so",
    "libc10.so",
    "libgomp.so.1",
    "libcupti.so.13",
    "libcudart.so.13",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pin_is_complete_and_consistent() {
        for wheel in WHEELS {
            let stem = format!("{}-{}-", wheel.project.replace('-', "_"), wheel.version);
            assert!(wheel.file.starts_with(&stem), "{}", wheel.file);
            assert_eq!(wheel.sha256.len(), 64, "{}", wheel.file);
            assert!(
                wheel.sha256.bytes().all(|b| b"0123456789abcdef".contains(&b)),
                "{}",
                wheel.file
            );
            assert!(wheel.bytes > 1_000_000, "{}", wheel.file);
        }
    }

    #[test]
    fn the_wheels_bring_every_library_but_the_stub() {
        let brought: Vec<&str> = WHEELS
            .iter()
            .flat_map(|wheel| wheel.keep)
            .filter_map(|(_, to)| to.strip_prefix("lib/"))
            .collect();
        for library in LIBRARIES {
            assert!(library == "libtorch.so" || brought.contains(&library), "{library}");
        }
    }

    #[test]
    fn the_first_wheel_has_the_version_that_the_bindings_expect() {
        assert_eq!(WHEELS[0].version, super::super::folder::VERSION);
    }
}
