//! The admin token of a data directory (SEC-01).

use crate::{data_dir::DataDir, failure::Failure};
use cardwire_kernel::{AdminError, Kernel};
use cardwire_model::TokenSecret;

/// The token in the file, which the store knows afterwards. It is written before it is registered: a crash between
/// the two leaves a file that the next start registers, never a token that nobody knows.
///
/// One that was revoked or has expired is replaced: who may write the file and open the store may make any token.
pub(crate) async fn ensure(kernel: &Kernel, dir: &DataDir) -> Result<TokenSecret, Failure> {
    let path = dir.token_file();
    let taken = match dir.read_token()? {
        Some(secret) => kernel.ensure_admin(Some(secret)).await,
        None => kernel.ensure_admin(Some(fresh(kernel, dir)?)).await,
    };
    let taken = match taken {
        Err(AdminError::Ended(end)) => {
            let secret = fresh(kernel, dir)?;
            tracing::warn!(file = %path.display(), "the admin token {end}; the file holds a new one now");
            kernel.ensure_admin(Some(secret)).await
        }
        taken => taken,
    };
    taken.map_err(|error| {
        let failure =
            Failure::failed(format!("the store does not take the token in `{}`: {error}", path.display()));
        match error {
            AdminError::Narrow(_) | AdminError::Ended(_) => {
                failure.hint("remove the file; the next start makes a new admin token in it")
            }
            AdminError::Kernel(_) => failure,
        }
    })
}

/// A new token in the file, which no store knows yet.
fn fresh(kernel: &Kernel, dir: &DataDir) -> Result<TokenSecret, Failure> {
    let secret = TokenSecret::from_random(kernel.ids().secret());
    dir.write_token(&secret)?;
    Ok(secret)
}
