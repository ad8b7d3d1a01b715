//! Environments as launchers set them, and the ranks derived from them.

use super::*;

/// The ranks of an environment, written `NAME=value` with spaces between.
fn read(environment: &str) -> Result<Ranks, RanksError> {
    let pairs: Vec<_> =
        environment.split_whitespace().map(|v| v.split_once('=').unwrap()).collect();
    Ranks::from_variables(&|name| {
        let found = pairs.iter().rev().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

/// `rank/world local_rank/local_world address:port source`.
fn place(environment: &str) -> String {
    let ranks = read(environment).unwrap();
    let Ranks { rank, world, local_rank, local_world, address, port, source, .. } = ranks;
    format!("{rank}/{world} {local_rank}/{local_world} {address}:{port} {source}")
}

fn error(environment: &str) -> String {
    read(environment).unwrap_err().to_string()
}

const TORCHRUN: &str = "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=node1 MASTER_PORT=29400 \
                        TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=2 TORCHELASTIC_MAX_RESTARTS=3 \
                        TORCHELASTIC_USE_AGENT_STORE=True";

/// Task 5 of `srun -n 7` on four machines, in a job of 12.
const SLURM: &str = "SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=7 SLURM_NTASKS=12 \
                     SLURM_LOCALID=1 SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=2(x3),1 \
                     SLURM_STEP_NODELIST=cn[012-014],cn020 SLURM_JOB_NODELIST=cn[010-021] \
                     SLURM_TASKS_PER_NODE=3(x4)";

const OPEN_MPI: &str = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 \
                        OMPI_COMM_WORLD_LOCAL_SIZE=4 OMPI_MCA_ess_base_jobid=3405643777 PMIX_RANK=1";

const HYDRA: &str = "PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2";

#[test]
fn nothing_set_is_a_single_process() {
    let ranks = read("HOME=/root").unwrap();
    assert_eq!(ranks, Ranks::single());
    assert!(ranks.is_single() && ranks.is_main());
}

#[test]
fn torchrun_sets_every_value() {
    assert_eq!(place(TORCHRUN), "5/8 1/4 node1:29400 torchrun");
    let ranks = read(TORCHRUN).unwrap();
    assert!(ranks.agent_store && !ranks.is_main() && !ranks.is_single());
    assert_eq!((ranks.restart, ranks.max_restarts), (2, 3));
    assert_eq!(
        read(&format!("{TORCHRUN} HOOKRACK_TIMEOUT=90")).unwrap().timeout.unwrap().as_secs(),
        90
    );
    // Only `hookrack launch` chooses the run directory.
    assert_eq!(read(&format!("{TORCHRUN} HOOKRACK_RUN_DIR=/a")).unwrap().run_dir, None);
}

#[test]
fn launch_sets_torchruns_variables_and_the_run_directory() {
    let ranks = read(
        "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=40001 \
         HOOKRACK_LAUNCH=17 HOOKRACK_RUN_DIR=/runs/a TORCHELASTIC_RUN_ID=x",
    )
    .unwrap();
    assert_eq!(ranks.source, Source::Launch);
    assert_eq!(ranks.run_dir, Some("/runs/a".into()));
    assert!(!ranks.agent_store);
}

#[test]
fn four_variables_are_enough() {
    let bare = "RANK=1 WORLD_SIZE=2 MASTER_PORT=1234";
    assert_eq!(
        place(&format!("{bare} MASTER_ADDR=master-0")),
        "1/2 0/1 master-0:1234 RANK and WORLD_SIZE"
    );
    for here in ["localhost", "127.0.0.1", "::1"] {
        let wanted = format!("1/2 1/2 {here}:1234 RANK and WORLD_SIZE");
        assert_eq!(place(&format!("{bare} MASTER_ADDR={here}")), wanted);
    }
    assert_eq!(place("RANK=0 WORLD_SIZE=1"), "0/1 0/1 127.0.0.1:29500 RANK and WORLD_SIZE");
}

#[test]
fn a_slurm_task_has_the_rank_of_its_step() {
    let port = read(SLURM).unwrap().port;
    assert_eq!(place(SLURM), format!("5/7 1/2 cn012:{port} SLURM"));
    assert_ne!(read(&format!("{SLURM} SLURM_STEP_ID=1")).unwrap().port, port);
    assert_eq!(read(&format!("{SLURM} SLURM_PROCID=0 SLURM_LOCALID=0")).unwrap().port, port);
    assert_eq!(place(&format!("{SLURM} MASTER_ADDR=a MASTER_PORT=9")), "5/7 1/2 a:9 SLURM");
    assert_eq!(read(&format!("{SLURM} SLURM_RESTART_COUNT=2")).unwrap().restart, 2);
    // Programs that torchrun starts in a SLURM job have both sets of variables.
    assert_eq!(place(&format!("{SLURM} {TORCHRUN}")), place(TORCHRUN));
}

#[test]
fn slurm_tasks_on_one_machine_connect_to_the_loopback_address() {
    let one = format!(
        "{SLURM} SLURM_STEP_NUM_TASKS=2 SLURM_STEP_TASKS_PER_NODE=2 SLURM_NODEID=0 SLURM_PROCID=1"
    );
    assert!(place(&one).starts_with("1/2 1/2 127.0.0.1:"), "{}", place(&one));
}

#[test]
fn a_batch_script_and_an_interactive_shell_of_slurm_are_one_process() {
    let job = "SLURM_JOB_ID=1 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_JOB_NODELIST=a PMIX_RANK=0";
    assert!(read(job).unwrap().is_single());
    assert!(read(&format!("{job} SLURM_STEP_ID=4294967290")).unwrap().is_single());
    assert_eq!(read(&format!("{job} SLURM_RESTART_COUNT=1")).unwrap().restart, 1);
    let step = format!("{job} SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1");
    assert_eq!(read(&step).unwrap().source, Source::Slurm);
    assert!(read(&step).unwrap().is_single());
}

#[test]
fn mpi_on_one_machine_uses_the_loopback_address_and_a_port_derived_from_the_job() {
    let ranks = read(OPEN_MPI).unwrap();
    assert_eq!(place(OPEN_MPI), format!("1/4 1/4 127.0.0.1:{} Open MPI", ranks.port));
    let other = read(&format!("{OPEN_MPI} PMIX_NAMESPACE=prterun-a-17@1")).unwrap();
    assert_ne!(other.port, ranks.port);
    let here = format!("{HYDRA} MPI_LOCALRANKID=3 MPI_LOCALNRANKS=4");
    assert_eq!(place(&here), "3/4 3/4 127.0.0.1:29500 PMI");
}

#[test]
fn mpi_on_several_machines_needs_an_address() {
    assert_eq!(
        error(HYDRA),
        "PMI starts 4 ranks on several machines and does not say where rank 0 is: set MASTER_ADDR to its host name for all \
         ranks, such as `mpirun -x MASTER_ADDR=HOST …` or `mpiexec -genv MASTER_ADDR HOST …`"
    );
    assert_eq!(place(&format!("{HYDRA} MASTER_ADDR=a MASTER_PORT=7")), "3/4 1/2 a:7 PMI");
    let several = format!("{OPEN_MPI} OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2");
    assert!(error(&several).starts_with("Open MPI starts 4 ranks on several machines"));
    let in_slurm = format!("{several} SLURM_JOB_ID=4 SLURM_JOB_NODELIST=n[3-4]");
    assert!(place(&in_slurm).starts_with("1/4 0/2 n3:"), "{}", place(&in_slurm));
}

#[test]
fn the_innermost_launcher_is_used() {
    // mpirun in an allocation: its helper is task 0 of 2 of a step.
    let helper = "SLURM_JOB_ID=4 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 SLURM_NODEID=0 \
                  SLURM_STEP_TASKS_PER_NODE=1(x2) SLURM_JOB_NODELIST=n[3-4]";
    assert_eq!(read(&format!("{helper} {OPEN_MPI}")).unwrap().source, Source::OpenMpi);
    assert!(place(&format!("{helper} {HYDRA}")).starts_with("3/4 1/2 n3:"));
    // srun also sets PMI's variables, without the local ones.
    let same = format!("{helper} PMI_RANK=0 PMI_SIZE=2 PMIX_RANK=0");
    assert_eq!(read(&same).unwrap(), read(helper).unwrap());
}

/// Invalid environments, and their errors.
const WRONG: [(&str, &str); 18] = [
    ("RANK=1", "RANK = 1 is set, but WORLD_SIZE is not: set both or neither"),
    ("WORLD_SIZE=4", "WORLD_SIZE = 4 is set, but RANK is not: set both or neither"),
    ("RANK=1 WORLD_SIZE=2", "WORLD_SIZE = 2 is set, but MASTER_ADDR is not: set both or neither"),
    (
        "RANK=1 WORLD_SIZE=2 MASTER_ADDR=a",
        "WORLD_SIZE = 2 is set, but MASTER_PORT is not: set both or neither",
    ),
    ("RANK=two WORLD_SIZE=4", "RANK must be a number from 0 to 16777216, not `two`"),
    ("RANK=-1 WORLD_SIZE=4", "RANK must be a number from 0 to 16777216, not `-1`"),
    (
        "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=0",
        "MASTER_PORT must be a number from 1 to 65535, not `0`",
    ),
    (
        "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=99999",
        "MASTER_PORT must be a number from 1 to 65535, not `99999`",
    ),
    (
        "RANK=4 WORLD_SIZE=4 MASTER_ADDR=a MASTER_PORT=1",
        "RANK = 4 must be less than WORLD_SIZE = 4",
    ),
    ("RANK=0 WORLD_SIZE=0", "RANK = 0 must be less than WORLD_SIZE = 0"),
    (
        "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 LOCAL_RANK=1",
        "LOCAL_RANK = 1 is set, but LOCAL_WORLD_SIZE is not: set both or neither",
    ),
    (
        "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 LOCAL_RANK=3 LOCAL_WORLD_SIZE=2",
        "LOCAL_RANK = 3 must be less than LOCAL_WORLD_SIZE = 2",
    ),
    (
        "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 LOCAL_RANK=3 LOCAL_WORLD_SIZE=4",
        "LOCAL_WORLD_SIZE = 4 must be at most WORLD_SIZE = 2",
    ),
    (
        "OMPI_COMM_WORLD_RANK=0",
        "OMPI_COMM_WORLD_RANK = 0 is set, but OMPI_COMM_WORLD_SIZE is not: set both or neither",
    ),
    (
        "PMI_RANK=2 PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1 MASTER_ADDR=a",
        "PMI_RANK = 2 must be less than PMI_SIZE = 2",
    ),
    (
        "PMIX_RANK=2",
        "PMIX_RANK = 2 is set, but PMIx does not say how many ranks there are: start with mpirun, srun or torchrun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT",
    ),
    ("HOOKRACK_TIMEOUT=soon", "HOOKRACK_TIMEOUT must be a number from 1 to 4294967295, not `soon`"),
    ("HOOKRACK_TIMEOUT=0", "HOOKRACK_TIMEOUT must be a number from 1 to 4294967295, not `0`"),
];

#[test]
fn half_set_or_contradictory_variables_are_named_with_their_values() {
    for (environment, wanted) in WRONG {
        assert_eq!(error(environment), wanted, "{environment}");
    }
    assert_eq!(
        error(&format!("{SLURM} SLURM_STEP_NODELIST=cn[012-014")),
        "SLURM_STEP_NODELIST = `cn[012-014` is not a valid SLURM list: a `[` is not closed"
    );
    assert_eq!(
        error(&format!("{SLURM} SLURM_NODEID=4")),
        "SLURM_STEP_TASKS_PER_NODE = `2(x3),1` is not a valid SLURM list: it has no entry for this node (SLURM_NODEID)"
    );
}
