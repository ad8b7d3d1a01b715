//! The bundled C plugin, compiled and loaded as the host does it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions too")]
#![expect(unsafe_code, reason = "a library is opened, and what it exports is believed")]

use hookrack_fake_host::{Data, FakeHost};
use hookrack_plugin_api::abi::{HookBase, HrPlugin};
use hookrack_plugin_api::{Point, Value};
use std::path::Path;
use std::process::Command;

/// Compiles `plugins/grad_norm_c` and gives its hook's table.
fn grad_norm() -> &'static HookBase {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libgrad_norm_c.so");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fPIC", "-shared"])
        .arg("-I")
        .arg(root.join("plugin-api/include"))
        .arg("-o")
        .arg(&library)
        .arg(root.join("plugins/grad_norm_c/grad_norm.c"))
        .arg("-lm")
        .status()
        .unwrap();
    assert!(compiled.success());
    // SAFETY: the library is the one just compiled; it has no constructors and is never closed.
    unsafe {
        let library = Box::leak(Box::new(libloading::Library::new(&library).unwrap()));
        let entry: libloading::Symbol<'_, extern "C" fn() -> *const HrPlugin> =
            library.get(b"hookrack_plugin").unwrap();
        let plugin = &*entry();
        assert_eq!((plugin.hook_count, plugin.metric_count), (1, 0));
        &**plugin.hooks
    }
}

fn settings(scalar: impl Into<Value>) -> Value {
    Value::Table(vec![("scalar".to_owned(), scalar.into())])
}

#[test]
fn the_norm_is_that_of_all_gradients_together() {
    let host = FakeHost::new("grads");
    host.param("a", Data::floats(&[0.0; 2]), Some(Data::floats(&[1.0, 2.0])));
    host.param("frozen", Data::floats(&[0.0]), None);
    host.param("b", Data::floats(&[0.0; 4]), Some(Data::F32(vec![2.0, 4.0, 0.0, 0.0], vec![2, 2])));
    let hook = host.hook(grad_norm(), &Value::empty()).unwrap();
    hook.at(Point::AfterTrainIter).unwrap();
    assert!(host.scalar("@grad_norm").unwrap().is_nan(), "put at no other point");
    hook.at(Point::BeforeOptimizerStep).unwrap();
    assert!((host.scalar("@grad_norm").unwrap() - 5.0).abs() < 1e-12);
    assert_eq!(hook.save().unwrap(), hookrack_fake_host::Saved::default());
}

#[test]
fn the_scalar_can_be_named_and_a_wrong_name_is_refused() {
    let host = FakeHost::new("grads");
    host.param("a", Data::floats(&[0.0]), Some(Data::floats(&[3.0])));
    let hook = host.hook(grad_norm(), &settings("norm")).unwrap();
    hook.at(Point::BeforeOptimizerStep).unwrap();
    assert!((host.scalar("@norm").unwrap() - 3.0).abs() < 1e-12);
    for wrong in [settings(1i64), settings(""), settings("x".repeat(200))] {
        let error = host.hook(grad_norm(), &wrong).err();
        assert_eq!(error.as_deref(), Some("scalar: expected a text of 1 to 126 bytes"));
    }
}

#[test]
fn gradients_of_another_type_are_refused() {
    let host = FakeHost::new("grads");
    host.param("a", Data::floats(&[0.0]), Some(Data::ints(&[3])));
    let hook = host.hook(grad_norm(), &Value::empty()).unwrap();
    let error = hook.at(Point::BeforeOptimizerStep).unwrap_err();
    assert_eq!(error, "expected float32 gradients, found DLPack type 0 of 64 bits");
}
