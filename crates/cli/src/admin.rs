//! The admin token of a data directory (SEC-01).

use crate::{data_dir::DataDir, failure::Failure};
use cardwire_kernel::Kernel;
use cardwire_model::TokenSecret;

/// The token in the file, which the store knows afterwards. It is written before it is registered: a crash between
/// the two leaves a file that the next start registers, never a token that nobody knows.
pub(crate) async fn ensure(kernel: &Kernel, dir: &DataDir) -> Result<TokenSecret, Failure> {
    let secret = match dir.read_token()? {
        Some(secret) => secret,
        None => {
            let secret = TokenSecret::from_random(kernel.ids().secret());
            dir.write_token(&secret)?;
            secret
        }
    };
    kernel.ensure_admin(Some(secret)).await.map_err(|error| {
        let path = dir.token_file();
        Failure::failed(format!("the store does not take the token in `{}`: {error}", path.display()))
            .hint("if the token was revoked, remove the file; a new one is made")
    })
}
