//! `cargo xtask netns`: runs on hosts in network namespaces, one of which is cut off.

use super::{Profile, build};
use crate::{
    cli::Netns,
    error::TaskError,
    files,
    netns::{self, Trial},
    workspace::Workspace,
};

pub(crate) fn netns(workspace: &Workspace, args: &Netns) -> Result<(), TaskError> {
    netns::require()?;
    let built = build(workspace, Profile::Dev)?;
    let hosts = usize::from(args.hosts);
    for victim in [hosts - 1, 0] {
        let folder = built.metadata.target.join("netns").join(format!("cut_{victim}"));
        files::fresh_folder(&folder)?;
        let program = &built.folder.join("hookrack");
        Trial { workspace, program, hosts, timeout: args.timeout, folder }.cut(victim)?;
    }
    Ok(())
}
