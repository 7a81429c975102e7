//! Files of the workspace, written once (HO-08, HO-11).

use super::handoff_root::Root;
use crate::{error::Answer, request::Request, respond};
use cardwire_api::workspace::{FileOut, FilesIn, FilesOut};
use cardwire_handoff::{SafePath, Written, write_files};
use cardwire_model::Hash256;

pub(crate) async fn write(request: Request) -> Answer {
    let body: FilesIn = request.body().await?;
    let new = body.into_files()?;
    let files = Root::own(&request).await?.files;
    let written = request
        .state
        .workspace
        .look(move || {
            let written = write_files(&*files, &new)?;
            let out = |((path, written), (_, bytes)): ((SafePath, Written), (String, Vec<u8>))| FileOut {
                path: path.to_string(),
                bytes: bytes.len() as u64,
                sha256: Hash256::of(&bytes).to_string(),
                created: written == Written::New,
            };
            Ok(written.into_iter().zip(new).map(out).collect())
        })
        .await?;
    respond::created(&FilesOut { files: written })
}
