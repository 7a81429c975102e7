//! What an endpoint asks of its caller.

use cardwire_model::Scope;

/// Who may call an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without a token.
    Open,
    /// Anybody. A token with the scope is told more.
    Guest(Scope),
    /// Any live token with the scope; what it sees depends on its reach.
    Any(Scope),
    /// A token with the scope that is bound to no project.
    Global(Scope),
    /// A token with the scope that reaches the project in the path.
    Project(Scope),
    /// The token of the turn that the request is about, or a token as for [`Self::Project`].
    Turn(Scope),
}

impl Access {
    /// The least scope of an access token, if a token is needed at all.
    pub const fn scope(self) -> Option<Scope> {
        match self {
            Self::Open | Self::Guest(_) => None,
            Self::Any(scope) | Self::Global(scope) | Self::Project(scope) | Self::Turn(scope) => Some(scope),
        }
    }
}
