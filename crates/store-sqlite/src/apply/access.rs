//! Writes of tokens and remembered answers.

use super::{Applied, Apply};
use crate::sql;
use cardwire_model::{Answer, Conflict, Scope, Token};
use rusqlite::params;

impl Apply<'_> {
    pub(super) fn create_token(&self, token: &Token) -> Applied {
        let row = params![
            self.realm,
            token.id.uuid().into_bytes(),
            token.secret_hash.as_bytes(),
            Scope::list_to_stored(&token.scopes),
            token.created_at.micros(),
            token.expires_at.map(|at| at.micros()),
            token.revoked_at.map(|at| at.micros()),
        ];
        self.run(sql::CREATE_TOKEN, row, Conflict::Token).map(drop)
    }

    pub(super) fn remember(&self, answer: &Answer) -> Applied {
        let row = params![
            self.realm,
            answer.key.caller,
            answer.key.key,
            answer.key.request_hash.as_bytes(),
            answer.status,
            answer.body,
            answer.created_at.micros(),
        ];
        self.run(sql::REMEMBER_ANSWER, row, Conflict::Answer).map(drop)
    }
}
