//! What fits together with what the linter adds to it: repairs are sent like anything else, so they have a place in the
//! budget.

use super::{Budget, Fitted, OverBudget, fit};
use crate::{
    lint::{LintError, Linted, lint},
    piece::Piece,
};
use cardwire_model::Provider;
use thiserror::Error;

/// Why there is no request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CannotSend {
    /// Even the least is too much.
    #[error(transparent)]
    Over(#[from] OverBudget),
    /// What is there cannot be made valid.
    #[error(transparent)]
    Lint(#[from] LintError),
}

/// Fits the pieces and lints them; `added` tells the tokens of what the linter added. What is left out changes what has to
/// be added, so room for repairs is made until they have it: each round keeps more free than the one before. When that is
/// too much, as much is kept free as can be: what was to be repaired may have been left out by then.
pub fn fit_repaired<'a>(
    provider: Provider,
    pieces: &[Piece<'a>],
    budget: Budget,
    added: impl Fn(&Linted<'a>) -> u32,
) -> Result<(Fitted<'a>, Linted<'a>), CannotSend> {
    let (mut fixed, mut is_last) = (budget.fixed, false);
    loop {
        let mut fitted = match fit(pieces.to_vec(), Budget { fixed, ..budget }) {
            Ok(fitted) => fitted,
            Err(over) => {
                // What must be sent anyway leaves this much.
                let most = over.available.checked_sub(over.needed.saturating_sub(fixed));
                match most.filter(|most| !is_last && (budget.fixed..fixed).contains(most)) {
                    Some(most) => (fixed, is_last) = (most, true),
                    None => return Err(over.into()),
                }
                continue;
            }
        };
        let linted = lint(provider, &fitted.kept)?;
        let needed = budget.fixed.saturating_add(added(&linted));
        if needed <= fixed {
            fitted.tokens -= fixed - needed;
            // What has nothing to say found its place and is not sent.
            let unsent = linted.omitted_of(&fitted.kept).map(|(piece, _)| piece.tokens).sum();
            fitted.tokens = fitted.tokens.saturating_sub(unsent);
            return Ok((fitted, linted));
        }
        if is_last {
            let available = budget.window.unwrap_or(u32::MAX).saturating_sub(budget.reserve);
            return Err(OverBudget { needed: fitted.tokens - fixed + needed, available }.into());
        }
        fixed = needed;
    }
}
