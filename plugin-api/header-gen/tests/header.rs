//! The checked-in header is the generated one, compiles, and lays every struct out as Rust does.

use hookrack_header_gen::layout::{measuring_program, numbers, structs};
use hookrack_header_gen::{generate, generate_unchecked, header_path, layout_path};
use hookrack_plugin_api::abi::{
    ArtifactTable, AutogradTable, CheckpointNameTable, CheckpointTable, ConsoleTable, DLTensor,
    EXTENSIONS, EngineTable, EventTable, ExtensionInfo, FileTable, GradientTable, HistoryTable,
    HookBase, HrArg, HrHeader, HrMetricInfo, HrOpCost, HrPlugin, HrProgress, HrScalarPoint,
    HrScalarSink, HrStateReader, HrStateWriter, HrStr, HrValue, LayerTable, LossTable, LrTable,
    MediaTable, MetricBase, MetricTable, ModelTable, NamedTensorTable, ParamTable, PassTable,
    PrecisionTable, ProfilerTable, RankTable, RecordTable, RoleTable, StateTable, StepTable,
    TensorTable, TrainerHandle,
};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Lines of C that hold only if C agrees with Rust on size and offsets.
macro_rules! layout {
    ($($ty:ident as $c:literal { $($field:ident $(as $c_field:literal)?),* })*) => {{
        let mut out = String::new();
        $(
            let size = size_of::<$ty>();
            _ = writeln!(out, "SAME(sizeof({}), {size});", $c);
            $(
                let field = [$($c_field,)? stringify!($field)][0];
                let offset = std::mem::offset_of!($ty, $field);
                _ = writeln!(out, "SAME(offsetof({}, {field}), {offset});", $c);
            )*
        )*
        out
    }};
}

fn layout() -> String {
    layout! {
        HrHeader as "HrHeader" { magic, struct_size, abi_major, abi_minor, flags }
        HrStr as "HrStr" { ptr, len }
        HrValue as "HrValue" { kind, key, int as "int_", float_, text, items, len }
        HrArg as "HrArg" { kind, int as "int_", float_, ptr, len }
        DLTensor as "HrDLTensor" { data, device, ndim, dtype, shape, strides, byte_offset }
        HrProgress as "HrProgress" { phase, epoch, iter, micro, samples, rank, lr, outcome, failed_point }
        HrStateWriter as "HrStateWriter" { sink, put_value, put_tensor }
        HrStateReader as "HrStateReader" { source, value, tensor }
        HrScalarSink as "HrScalarSink" { sink, put }
        HrPlugin as "HrPlugin" { name, version, built_with, hooks, hook_count, metrics, metric_count }
        HookBase as "HookBase" { name, manifest, create, destroy, on_point, save_state, load_state }
        MetricBase as "MetricBase" { name, manifest, update, compute, reset, merge }
        TrainerHandle as "TrainerHandle" { host, progress, instance, log_level, tensors, extension, failure }
        TensorTable as "TensorTable" { slot, list, view, op_find, op_call }
        EngineTable as "EngineTable" { forward, backward, set_lr }
        EventTable as "EventTable" { key, put, metric }
        StateTable as "StateTable" { put, value, remove }
        ArtifactTable as "ArtifactTable" { run_dir, save_tensors }
        HrScalarPoint as "HrScalarPoint" { iter, samples, value }
        HistoryTable as "HistoryTable" { mean, global_mean, recent, enter_scope, leave_scope }
        CheckpointTable as "CheckpointTable" { keep, load }
        CheckpointNameTable as "CheckpointNameTable" { give, load }
        HrMetricInfo as "HrMetricInfo" { name, type_name, unit, phase, better }
        MetricTable as "MetricTable" { at, compute }
        LrTable as "LrTable" { count_by_epoch }
        MediaTable as "MediaTable" { is_wanted, put_image, put_histogram, put_text, open_writer }
        HrOpCost as "HrOpCost" { name, calls, self_ns, total_ns, flops }
        ProfilerTable as "ProfilerTable" { prepare, start, stop, op_at }
        ParamTable as "ParamTable" { trainable, set_trainable, group_of, momentum, set_weight_decay }
        ConsoleTable as "ConsoleTable" { show, redraw }
        PassTable as "PassTable" { begin, next, forward }
        PrecisionTable as "PrecisionTable" { set_precision, set_loss_scaling }
        RankTable as "RankTable" { all_reduce_numbers, all_reduce, broadcast, all_gather, barrier }
        RecordTable as "RecordTable" { record }
        RoleTable as "RoleTable" { train_forward, criterion_of }
        AutogradTable as "AutogradTable" { set_recording }
        LayerTable as "LayerTable" { watch, name, output }
        ModelTable as "ModelTable" { build, forward }
        NamedTensorTable as "NamedTensorTable" { load, take, put, tensor, remove }
        StepTable as "StepTable" { set_anomaly_mode, set_accumulation }
        FileTable as "FileTable" { write }
        GradientTable as "GradientTable" { compute }
        LossTable as "LossTable" { weight }
    }
}

/// What the compiler says about the file; nothing if it likes it.
fn complaints(compiler: &str, standard: &str, source: &Path) -> std::io::Result<String> {
    let include = header_path().with_file_name("");
    let output = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"])
        .arg(include)
        .arg(source)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(if output.status.success() { String::new() } else { format!("{compiler}: {said}") })
}

#[test]
fn the_checked_in_header_is_the_generated_one() {
    let checked_in = std::fs::read_to_string(header_path()).unwrap();
    assert!(
        checked_in == generate().unwrap(),
        "plugin-api/include/hookrack.h is not what src/abi says: run `cargo run -p hookrack-header-gen`"
    );
}

/// The layout of every struct of the header, as the C compiler has it.
#[expect(clippy::unwrap_used, reason = "a test that cannot measure has failed")]
fn measured() -> String {
    let dir = tempfile::tempdir().unwrap();
    let header = generate_unchecked().unwrap();
    let (source, program) = (dir.path().join("measure.c"), dir.path().join("measure"));
    std::fs::write(dir.path().join("hookrack.h"), &header).unwrap();
    std::fs::write(&source, measuring_program(&structs(&header))).unwrap();
    let mut cc = Command::new("cc");
    let built = cc.args(["-std=c11", "-w", "-o"]).arg(&program).arg(&source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap()
}

#[test]
fn no_struct_has_changed_since_it_was_frozen() {
    let measured = measured();
    let frozen = std::fs::read_to_string(layout_path()).unwrap();
    let (before, now) = (numbers(&frozen), numbers(&measured));
    let changed: Vec<_> = before.iter().filter(|old| !now.contains(old)).collect();
    // Also with UPDATE_EXPECT: structs can be added, never changed or removed.
    assert!(changed.is_empty(), "frozen structs have changed, undo it: {changed:?}");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(layout_path(), &measured).unwrap();
    }
    let kept = std::fs::read_to_string(layout_path()).unwrap();
    assert!(
        kept == measured,
        "the layout of the ABI has changed: undo it, or, if a struct was added, refresh plugin-api/abi-layout.txt \
         with UPDATE_EXPECT=1 and the header; no line that is there may change"
    );
}

#[test]
fn rust_has_the_layout_that_was_frozen() {
    let kept = numbers(&std::fs::read_to_string(layout_path()).unwrap());
    for line in layout().lines() {
        let same = line.strip_prefix("SAME(").and_then(|rest| rest.strip_suffix(");")).unwrap();
        let (what, number) = same.rsplit_once(", ").unwrap();
        let found = kept.iter().find(|(kept, _)| kept == what);
        assert_eq!(found.map(|(_, number)| number.as_str()), Some(number), "{what}");
    }
}

#[test]
fn every_extension_is_in_the_header_and_its_layout_is_compared() {
    let (header, layout) = (generate().unwrap(), layout());
    for ExtensionInfo { name, table, id } in EXTENSIONS {
        assert!(header.contains(&format!("#define HR_{name} \"{id}\"")), "no HR_{name}");
        assert!(header.contains(&format!("typedef struct {table} {{")), "no {table}");
        assert!(
            layout.contains(&format!("sizeof({table})")),
            "the layout of {table} is not compared"
        );
    }
}

#[test]
fn c_and_cpp_lay_the_tables_out_as_rust_does() {
    let dir = tempfile::tempdir().unwrap();
    let checks = layout();
    for (compiler, standard, assertion) in
        [("cc", "-std=c11", "_Static_assert"), ("c++", "-std=c++17", "static_assert")]
    {
        let suffix = if compiler == "cc" { "c" } else { "cpp" };
        let source = dir.path().join("layout").with_extension(suffix);
        let same = format!("#define SAME(found, rust) {assertion}((found) == (rust), #found)");
        let text = format!(
            "#include \"hookrack.h\"\n#include \"hookrack.h\"\n{same}\n{checks}\n\
             static const HrStr name = HR_STR(\"x\");\nstatic const HrHeader header = HR_HEADER(HookBase);\n\
             int main(void) {{ return header.magic == HR_MAGIC && hr_str_eq(name, \"x\") ? 0 : 1; }}\n"
        );
        std::fs::write(&source, text).unwrap();
        assert_eq!(complaints(compiler, standard, &source).unwrap(), "");
    }
}
