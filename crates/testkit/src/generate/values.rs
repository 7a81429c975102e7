//! Random contents: text that is hard to keep, JSON that is easy to bend, events and audit rows of every kind.

use super::Generator;
use crate::fixtures::{CardBuilder, agent_id, json};
use cardwire_model::{
    Answer, AnswerKey, AuditAction, AuditVerdict, CanonicalJson, Card, CardId, Commit, EventKind, Hash256,
    NewAudit, NewEvent, Origin, Project, Realm, Scope, Token,
};

/// Each broke some store once: scripts, emoji with joiners, quotes, escapes, percent signs, trailing blanks.
const TEXTS: &[&str] = &[
    "",
    "plain",
    "上下文内核：卡片是不可变的事实",
    "family 👩‍👩‍👧‍👦 and flag 🇨🇳",
    "quotes ' \" ` and a backslash \\",
    "line\nbreak\ttab\r\n",
    "%_? $1 ?1 :name {{x}}",
    "Z\u{0301}algo e\u{0301} vs \u{e9}",
    "  blanks  ",
    "\u{feff}byte order mark \u{2028} separator",
];

const CONTENTS: &[&str] = &[
    "null",
    "[]",
    "{}",
    r#"{"max":9223372036854775807,"min":-9223372036854775808,"u":18446744073709551615}"#,
    r#"{"nested":{"none":null,"list":[null,[null,{"deep":null}]]},"yes":true}"#,
    r#"[0.1,1e21,1e-7,-0.0,123456789.125]"#,
    r#"{"键":"值","😀":"😎","":"empty key","a":{"b":{"c":{"d":[1,2,3]}}}}"#,
];

const KINDS: &[&str] = &["task.instruction", "agent.thought", "task.deliverable", "custom.x", "自定义"];
const AGENTS: &[&str] = &["alpha", "beta", "Gamma-3"];

impl Generator {
    pub(super) fn text(&mut self) -> String {
        let text = self.rng.pick(TEXTS).copied().unwrap_or_default();
        format!("{text}{}", self.rng.below(1_000))
    }

    pub(super) fn value(&mut self) -> CanonicalJson {
        if self.rng.chance(60) {
            let text = self.text();
            CanonicalJson::string(&text).expect("text without NUL")
        } else {
            json(self.rng.pick(CONTENTS).copied().unwrap_or("null"))
        }
    }

    pub(super) fn card(&mut self, id: CardId) -> Card {
        let content = self.value();
        let kind = self.rng.pick(KINDS).copied().unwrap_or("custom.x");
        let origin = self.rng.pick(&Origin::ALL).copied().unwrap_or(Origin::External);
        let mut card = CardBuilder::content(content).kind(kind).origin(origin).at(self.moment());
        if self.rng.chance(30) {
            card = card.author("somebody").metadata("role", "assistant".into());
        }
        if self.rng.chance(20) {
            card = card.tool_calls(r#"[{"id":"call_1","function":{"name":"查询","arguments":"{}"}}]"#);
        }
        if self.rng.chance(20) {
            card = card.tool_call_id("call_1");
        }
        if self.rng.chance(20) {
            card = card.ttl(self.rng.between(1, 1_000_000) as u32);
        }
        if self.rng.chance(10) {
            card = card.metadata("note", "sk-abcdefghijklmnopqrstuvwxyz".into());
        }
        card.build(id)
    }

    pub(super) fn answer(&mut self) -> Answer {
        let caller = if self.rng.chance(50) { "tok_a" } else { "tok_b" };
        let key = format!("key-{}", self.rng.next_u64());
        let key = AnswerKey { caller: caller.to_owned(), key, request_hash: self.ids.hash() };
        let status = if self.rng.chance(80) { 201 } else { 409 };
        Answer { key, status, body: self.text(), created_at: self.moment() }
    }

    pub(super) fn token(&mut self, realm: &Realm) -> Token {
        let scopes: Vec<_> = Scope::ALL.into_iter().filter(|_| self.rng.chance(50)).collect();
        let expires_at = self.rng.chance(50).then(|| self.moment().plus_seconds(3_600));
        Token {
            id: self.ids.token(),
            realm: realm.clone(),
            secret_hash: self.ids.hash(),
            scopes,
            created_at: self.moment(),
            expires_at,
            revoked_at: None,
        }
    }

    /// New values for a project's row.
    pub(super) fn changed(&mut self, project: &Project) -> Project {
        let mut new = project.clone();
        new.title = self.rng.chance(70).then(|| self.text());
        new.settings.workspace_root = self.rng.chance(50).then(|| "仓库/src".to_owned());
        new.updated_at = self.moment();
        new.deleted_at = self.rng.chance(10).then(|| self.moment());
        new.revision = project.revision.next();
        new
    }

    /// Adds what the commit tells and records. The system's own realm has no event log.
    pub(super) fn tell(&mut self, commit: &mut Commit) {
        if commit.realm.project().is_some() {
            let count = self.rng.below(3);
            let realm = &commit.realm;
            commit.events.extend((0..count).map(|_| self.event(realm)));
        }
        if self.rng.chance(30) {
            let count = self.rng.between(1, 2);
            commit.audit.extend((0..count).map(|_| self.audit_row()));
        }
    }

    fn event(&mut self, realm: &Realm) -> NewEvent {
        let agent = if self.rng.chance(60) { self.rng.pick(AGENTS) } else { None };
        let channel = if self.rng.chance(80) { "public" } else { "private" };
        NewEvent {
            id: self.ids.event(),
            kind: self.rng.pick(EventKind::ALL).copied().unwrap_or(EventKind::CardCreated),
            target: self.text(),
            channel: channel.to_owned(),
            agent_id: agent.map(|name| agent_id(name)),
            turn_id: if self.rng.chance(50) { Some(self.any_turn(realm)) } else { None },
            batch_id: if self.rng.chance(50) { Some(self.batch()) } else { None },
            trace_id: if self.rng.chance(50) { Some(self.trace()) } else { None },
            data: self.value(),
            at: self.moment(),
        }
    }

    fn audit_row(&mut self) -> NewAudit {
        let denied = self.rng.chance(30);
        NewAudit {
            actor: format!("tok_{}", self.rng.below(10)),
            action: self.rng.pick(AuditAction::ALL).copied().unwrap_or(AuditAction::AdminTick),
            subject: self.text(),
            verdict: if denied { AuditVerdict::Denied } else { AuditVerdict::Allowed },
            detail: self.value(),
            at: self.moment(),
        }
    }

    /// A digest of nothing in particular, sometimes.
    pub(super) fn some_hash(&mut self) -> Option<Hash256> {
        self.rng.chance(30).then(|| self.ids.hash())
    }
}
