//! Small values for the tests of this crate.

pub(crate) mod agent;

use crate::{Actor, Moment};
use cardwire_model::{
    BoxHead, BoxId, CanonicalJson, Card, CardDraft, CardFact, CardId, Hash256, Origin, Project, ProjectId,
    ProjectSettings, Realm, Revision, Scope, Snapshot, Timestamp, Token, TokenId,
};

pub(crate) fn uuid<T: std::str::FromStr<Err = cardwire_model::Invalid>>(prefix: &str, n: u128) -> T {
    format!("{prefix}{n:032x}").parse().unwrap()
}

pub(crate) fn card_id(n: u128) -> CardId {
    uuid("", n)
}

pub(crate) fn box_id(n: u128) -> BoxId {
    uuid("", n)
}

pub(crate) fn project() -> ProjectId {
    "p1".parse().unwrap()
}

pub(crate) fn moment() -> Moment {
    let next = std::sync::atomic::AtomicU64::new(1);
    let fresh = move || {
        ::uuid::Uuid::from_u128(
            0xf << 64 | u128::from(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
        )
    };
    Moment {
        now: Timestamp::from_micros(1_000_000),
        actor: Actor::system("test"),
        fresh: crate::Fresh::new(fresh),
    }
}

pub(crate) fn card(n: u128, text: &str) -> Card {
    let draft = CardDraft {
        content: CanonicalJson::string(text).unwrap(),
        metadata: CanonicalJson::parse(r#"{"type":"task.instruction"}"#, "metadata").unwrap(),
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    };
    draft.into_card(card_id(n), Origin::Operator, Timestamp::from_micros(0)).unwrap()
}

/// The card of a call `c1`.
pub(crate) fn tool_call(tool: &str, arguments: &serde_json::Value) -> Card {
    let json = |value: &serde_json::Value| CanonicalJson::from_value(value).unwrap();
    let draft = CardDraft {
        content: json(&serde_json::json!({ "tool_name": tool, "arguments": arguments })),
        metadata: json(&serde_json::json!({ "type": "tool.call" })),
        tool_calls: None,
        tool_call_id: Some("c1".to_owned()),
        ttl_seconds: None,
    };
    draft.into_card(card_id(1), Origin::Agent, Timestamp::from_micros(0)).unwrap()
}

pub(crate) fn fact(card: &Card) -> CardFact {
    card.into()
}

pub(crate) fn with_box(n: u128, len: u32) -> Snapshot {
    let head = BoxHead { len, entries: len, ..BoxHead::empty(box_id(n), Timestamp::from_micros(0)) };
    Snapshot { boxes: [(head.box_id, head)].into(), ..Snapshot::default() }
}

pub(crate) fn project_row() -> Project {
    Project {
        id: project(),
        title: None,
        settings: ProjectSettings::default(),
        revision: Revision::FIRST,
        deletions: 0,
        created_at: Timestamp::from_micros(0),
        updated_at: Timestamp::from_micros(0),
        deleted_at: None,
    }
}

pub(crate) fn token(realm: Realm, scopes: &[Scope]) -> Token {
    Token {
        id: uuid::<TokenId>(TokenId::PREFIX, 1),
        realm,
        secret_hash: Hash256::ZERO,
        scopes: scopes.to_vec(),
        created_at: Timestamp::from_micros(0),
        expires_at: None,
        revoked_at: None,
    }
}
