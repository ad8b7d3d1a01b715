//! Emulates other CPUs: restricts libtorch's instruction sets and number of threads.

use std::{fs, process::Command};

/// Environment variables under which libtorch computes as it does on another machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cpu {
    /// Names and values.
    pub(crate) variables: &'static [(&'static str, &'static str)],
    /// The flags of `/proc/cpuinfo` that it needs: ATen does not check them, and the program would crash with an illegal instruction.
    needs: &'static [&'static str],
}

/// ATen's own kernels, oneDNN (convolutions, matrices) and MKL (matrices, QR) each have their own variable.
pub(crate) const CPUS: [Cpu; 11] = [
    Cpu { variables: &[], needs: &[] },
    Cpu { variables: &[("ATEN_CPU_CAPABILITY", "default")], needs: &[] },
    Cpu { variables: &[("ATEN_CPU_CAPABILITY", "avx2")], needs: &["avx2", "fma"] },
    Cpu {
        variables: &[("ATEN_CPU_CAPABILITY", "avx512")],
        needs: &["avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"],
    },
    Cpu {
        variables: &[
            ("ATEN_CPU_CAPABILITY", "default"),
            ("MKL_CBWR", "COMPATIBLE"),
            ("ONEDNN_MAX_CPU_ISA", "SSE41"),
        ],
        needs: &[],
    },
    Cpu { variables: &[("ONEDNN_MAX_CPU_ISA", "SSE41")], needs: &[] },
    Cpu { variables: &[("ONEDNN_MAX_CPU_ISA", "AVX")], needs: &[] },
    Cpu { variables: &[("MKL_CBWR", "COMPATIBLE")], needs: &[] },
    Cpu { variables: &[("MKL_CBWR", "AVX")], needs: &["avx"] },
    Cpu { variables: &[("OMP_NUM_THREADS", "1"), ("MKL_NUM_THREADS", "1")], needs: &[] },
    Cpu { variables: &[("OMP_NUM_THREADS", "2"), ("MKL_NUM_THREADS", "2")], needs: &[] },
];

/// The tests of `tests/suite` that compare numbers; a test in `tests/suite/numeric.rs` finds missing ones.
const NUMERIC: &str = include_str!("../../../tests/suite/numeric.txt");

/// The names of the suite's tests whose numbers depend on the CPU.
pub(crate) fn numeric_tests() -> impl Iterator<Item = String> {
    NUMERIC.lines().filter(|line| !line.starts_with(['#', '-'])).map(str::to_owned)
}

impl Cpu {
    /// As on a command line.
    pub(crate) fn name(&self) -> String {
        let typed: Vec<_> =
            self.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if typed.is_empty() { "this CPU, unrestricted".to_owned() } else { typed.join(" ") }
    }

    /// Sets a command's environment, overriding inherited variables.
    pub(crate) fn apply(&self, command: &mut Command) {
        for (name, _) in CPUS.iter().flat_map(|cpu| cpu.variables) {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().copied());
    }

    /// Why this machine cannot emulate it, if it cannot.
    pub(crate) fn missing(&self, flags: &[String]) -> Option<String> {
        let missing: Vec<_> =
            self.needs.iter().filter(|need| flags.iter().all(|flag| flag != *need)).collect();
        let names = missing.iter().map(|name| **name).collect::<Vec<_>>().join(", ");
        (!missing.is_empty()).then(|| format!("this CPU does not support {names}"))
    }
}

/// The flags of this CPU; none on a machine without `/proc/cpuinfo`.
pub(crate) fn flags() -> Vec<String> {
    flags_of(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

fn flags_of(cpuinfo: &str) -> Vec<String> {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    line.map_or_else(Vec::new, |(_, flags)| flags.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_tests_of_the_suite_are_named_one_by_one() {
        let names: Vec<_> = numeric_tests().collect();
        assert!(names.len() > 40, "{names:?}");
        let is_name =
            |name: &String| name.split("::").all(|part| !part.is_empty()) && name.contains("::");
        assert!(names.iter().all(is_name), "{names:?}");
    }

    #[test]
    fn every_setting_is_different() {
        let names: BTreeSet<_> = CPUS.iter().map(Cpu::name).collect();
        assert_eq!(names.len(), CPUS.len());
        assert!(names.contains("this CPU, unrestricted"));
    }

    #[test]
    fn settings_this_cpu_does_not_support_are_skipped_with_the_reason() {
        let flags = flags_of("processor\t: 0\nflags\t\t: fpu avx avx2 fma\nprocessor\t: 1\n");
        let missing: Vec<_> = CPUS.iter().filter_map(|cpu| cpu.missing(&flags)).collect();
        assert_eq!(missing, ["this CPU does not support avx512f, avx512bw, avx512dq, avx512vl"]);
        assert!(CPUS.iter().filter(|cpu| cpu.missing(&[]).is_none()).count() > 5);
    }

    #[test]
    fn inherited_variables_do_not_change_a_setting() {
        for cpu in &CPUS {
            let mut command = Command::new("true");
            command.env("MKL_CBWR", "AVX512").env("ATEN_CPU_CAPABILITY", "avx512");
            cpu.apply(&mut command);
            let told = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
            let told: BTreeSet<_> = told.collect();
            let wanted = cpu.variables.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
            assert_eq!(told, wanted.collect());
        }
    }
}
