//! Launches of small shell programs.

use super::*;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// A launch of a shell script; `$0` is the folder for its files.
fn launch(folder: &Path, ranks: usize, script: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        args: ["-c".into(), script.into(), folder.into()].into(),
        ranks,
        restarts: 0,
        earlier: 0,
        environment: Vec::new(),
        permanent: &[2, 3],
        consequence: 7,
        port: None,
        grace: Duration::from_mins(5),
        run_dir: None,
        style: Style::default(),
    }
}

fn run(launch: &Launch) -> Outcome {
    launch.run(|_, _| ()).unwrap()
}

fn failure(launch: &Launch) -> RankFailure {
    match run(launch) {
        Outcome::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

fn lines(path: &Path) -> Vec<String> {
    let mut lines: Vec<_> = fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn every_rank_has_torchruns_variables_and_a_common_port() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR \
                  $TORCHELASTIC_RESTART_COUNT $HOOKRACK_RUN_DIR $MASTER_PORT >> $0/said";
    let mut launch = launch(folder.path(), 3, script);
    launch.run_dir = Some("/runs/a".into());
    assert!(matches!(run(&launch), Outcome::Completed));
    let said = lines(&folder.path().join("said"));
    let port = said[0].rsplit_once(' ').unwrap().1;
    assert!(port.parse::<u16>().unwrap() > 0);
    let wanted = |rank| format!("{rank} 3 {rank} 3 127.0.0.1 0 /runs/a {port}");
    assert_eq!(said, [wanted(0), wanted(1), wanted(2)]);
}

/// A shell function that waits for a file in the folder, for at most a minute.
const WAIT: &str =
    "wait_for() { for i in $(seq 6000); do test -e $0/$1 && return; sleep 0.01; done; exit 99; }";

#[test]
fn the_first_failure_is_reported_and_ends_the_others() {
    let folder = tempfile::tempdir().unwrap();
    // Rank 2 fails when all are up; the others exit with another code when they are asked to end.
    let script = format!(
        "{WAIT}; trap 'echo told; exit 4' TERM; touch $0/up$RANK
         if [ $RANK = 2 ]; then wait_for up0; wait_for up1; echo 'no such file' >&2; exit 5; fi
         for i in $(seq 6000); do sleep 0.01; done"
    );
    let failure = failure(&launch(folder.path(), 3, &script));
    assert_eq!((failure.rank, failure.exit_code()), (2, 5));
    let said = failure.to_string();
    assert_eq!(said, "rank 2 failed with exit code 5; its last lines:\n  no such file");
}

#[test]
fn a_rank_that_ends_because_of_another_is_not_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    // Rank 0 notices that rank 1 is failing and exits first; rank 2 is asked to end.
    let script = format!(
        "{WAIT}; trap '' TERM; touch $0/up$RANK
         case $RANK in
           0) wait_for up1; wait_for up2; echo $$ > $0/new; mv $0/new $0/zero; exit 7;;
           1) wait_for zero; while kill -0 $(cat $0/zero) 2> /dev/null; do sleep 0.01; done; exit 5;;
           2) trap 'exit 143' TERM; while true; do sleep 0.01; done;;
         esac"
    );
    let failure = failure(&launch(folder.path(), 3, &script));
    assert_eq!((failure.rank, failure.exit_code()), (1, 5));
}

#[test]
fn a_killed_rank_is_reported_with_its_signal() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "if [ $RANK = 1 ]; then kill -KILL $$; fi; for i in $(seq 6000); do sleep 0.01; done";
    let failure = failure(&launch(folder.path(), 2, script));
    assert_eq!((failure.rank, failure.exit_code()), (1, 137));
    assert_eq!(
        failure.to_string(),
        "rank 1 was killed by SIGKILL, possibly by the kernel because it ran out of memory"
    );
}

#[test]
fn ranks_that_do_not_end_are_killed_after_the_grace_period_with_their_children() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "{WAIT}; trap '' TERM
         if [ $RANK = 0 ]; then wait_for up1; exit 7; fi
         sh -c 'echo $$ > $0/child; exec sleep 600' $0 & wait_for child; touch $0/up1
         while true; do sleep 0.01; done"
    );
    let mut launch = launch(folder.path(), 2, &script);
    launch.grace = Duration::from_millis(50);
    let began = Instant::now();
    let failure = failure(&launch);
    assert_eq!((failure.rank, failure.exit_code()), (0, 7));
    assert!(began.elapsed() < Duration::from_mins(5));
    let child = fs::read_to_string(folder.path().join("child")).unwrap();
    let left = Path::new("/proc").join(child.trim()).join("cmdline");
    // A zombie that is not reaped yet has no command line.
    assert_eq!(fs::read_to_string(left).unwrap_or_default(), "");
}

#[test]
fn restarts_after_a_failure_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo $RANK $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS >> $0/said
                  [ $RANK = 0 ] || [ $TORCHELASTIC_RESTART_COUNT = 2 ] || exit 5";
    let mut launch = launch(folder.path(), 2, script);
    let said = || lines(&folder.path().join("said"));
    launch.restarts = 1;
    let mut told = Vec::new();
    let outcome = launch.run(|failure, restart| told.push((failure.rank, restart))).unwrap();
    assert!(matches!(outcome, Outcome::Failed(failure) if failure.exit_code() == 5));
    assert_eq!(told, [(1, 1)]);
    fs::remove_file(folder.path().join("said")).unwrap();
    launch.restarts = 3;
    assert!(matches!(run(&launch), Outcome::Completed));
    assert_eq!(said().iter().filter(|line| line.starts_with('1')).count(), 3);
    assert_eq!(said().last().unwrap(), "1 2 of 3");
}

#[test]
fn there_is_no_restart_after_a_permanent_failure() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = launch(folder.path(), 1, "echo x >> $0/said; exit 2");
    launch.restarts = 5;
    assert_eq!(failure(&launch).exit_code(), 2);
    assert_eq!(lines(&folder.path().join("said")), ["x"]);
}

#[test]
fn a_missing_program_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = launch(folder.path(), 2, "");
    launch.program = folder.path().join("none");
    let error = launch.run(|_, _| ()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
