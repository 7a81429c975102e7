//! Tokens on the wire (API-17).

use cardwire_model::{Invalid, Realm, Scope, Token};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A token to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenIn {
    /// The project it is for; all of them when absent.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub project_id: Option<String>,
    /// `read`, `work`, `operate`, `admin`.
    #[schema(min_items = 1)]
    pub scopes: Vec<String>,
    /// How long it lives; for ever when absent.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 315360000)]
    pub expires_in_seconds: Option<u64>,
}

impl TokenIn {
    /// The project, or the system.
    pub fn realm(&self) -> Result<Realm, Invalid> {
        match &self.project_id {
            None => Ok(Realm::System),
            Some(name) => crate::parse::one("project_id", name).map(Realm::Project),
        }
    }

    /// The scopes by name.
    pub fn scopes(&self) -> Result<Vec<Scope>, Invalid> {
        let read = |(index, name): (usize, &String)| {
            Scope::from_name(name).ok_or_else(|| {
                Invalid::field(format!("scopes/{index}"), "must be one of read, work, operate, admin")
            })
        };
        self.scopes.iter().enumerate().map(read).collect()
    }
}

/// A token; its secret only in the answer that made it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenOut {
    /// Names the token without giving it away.
    pub id: String,
    /// What to send as `Authorization: Bearer …`. Shown once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The project it is for; all of them when null.
    #[schema(required)]
    pub project_id: Option<String>,
    /// What it may do.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_at: String,
    /// When it ends by itself.
    #[schema(required)]
    pub expires_at: Option<String>,
    /// When it was ended.
    #[schema(required)]
    pub revoked_at: Option<String>,
}

impl From<&Token> for TokenOut {
    fn from(token: &Token) -> Self {
        Self {
            id: token.id.to_string(),
            token: None,
            project_id: token.realm.project().map(ToString::to_string),
            scopes: token.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
            created_at: token.created_at.to_string(),
            expires_at: token.expires_at.map(|at| at.to_string()),
            revoked_at: token.revoked_at.map(|at| at.to_string()),
        }
    }
}

/// A page of tokens.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenList {
    /// The tokens.
    pub items: Vec<TokenOut>,
    /// Give it as `cursor` to get the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
