//! The training forward role and the configured loss, for plugins.

use super::service::{service, table};
use crate::torch::autograd::GradMode;
use hookrack_plugin_api::abi::{HrStatus, HrTensor};
use hookrack_plugin_api::{Phase, Point};
use std::ffi::c_void;

table!(RoleTable { train_forward, criterion_of });

unsafe extern "C" fn train_forward(host: *mut c_void) -> HrStatus {
    service!(host, |context| {
        if context.phase() != Phase::Train {
            let phase = context.phase().name();
            return Err(format!(
                "train_forward() is only available in training; the phase is {phase}"
            )
            .into());
        }
        // Nothing of the context stays borrowed while the hook is called.
        let role = context.forward_role.borrow().clone();
        let _mode = GradMode::set(context.records_gradients(Point::OnTrainForward));
        Ok(role.ok_or("no hook has the training forward role")?.run()?)
    })
}

unsafe extern "C" fn criterion_of(
    host: *mut c_void,
    output: HrTensor,
    label: HrTensor,
    loss: *mut HrTensor,
) -> HrStatus {
    service!(host, out(loss), |context| {
        let (output, label) = (context.tensor(output)?, context.tensor(label)?);
        let loss = context.engine.borrow().loss(&output, &label)?;
        Ok(context.hand_over(loss))
    })
}
