//! A commit in the shape of its statement: rows grouped by kind, because a kind is written with one statement.
//!
//! The server applies kinds in a fixed order, while a commit's writes count in the order they stand in. The two
//! differ only when one row is written by several kinds; then what comes later becomes a *stage* of its own, applied
//! after the one before. Cards need no stages: whatever else a commit can do to a card comes after putting it.
//! Invariant: applying the stages in turn is the same as applying the writes in turn.

use super::{
    rest::{self, Rest},
    row::Append,
};
use cardwire_model::{Card, CardId, Commit, Expect, NewEvent, Realm, Write};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// One commit, ready to be sent.
#[derive(Debug)]
pub(super) struct Payload {
    pub(super) realm: Realm,
    pub(super) cards: Vec<Card>,
    pub(super) appends: Vec<Append>,
    pub(super) events: Vec<NewEvent>,
    pub(super) rest: Rest,
    pub(super) then: Vec<Rest>,
    /// Boxes it touches, sorted.
    pub(super) boxes: Vec<Uuid>,
    /// It does nothing to boxes but add to their ends, so it may share them with others that do the same.
    pub(super) only_appends: bool,
    /// Heads are locked by another statement than the append, so all of them must be locked there, in one order.
    pub(super) locks_heads: bool,
    /// It deletes a card and puts it afterwards: if the card is there, the second cannot be, else the first.
    pub(super) contradicts_itself: bool,
    /// It must travel alone: putting it together with another would change what it means.
    pub(super) alone: bool,
}

impl Payload {
    pub(super) fn new(commit: Commit) -> Self {
        let Commit { realm, expect, writes, events, audit } = commit;
        let mut stages = Stages::default();
        writes.into_iter().for_each(|write| stages.write(write));
        expect.iter().for_each(|expect| stages.expect(expect));
        let Stages {
            cards,
            contradicts_itself,
            mut boxes,
            mut first,
            later,
            beyond_appends,
            locks_heads,
            mut alone,
            ..
        } = stages;
        for row in &audit {
            first.rest.push("audit", &rest::audit(row));
        }
        boxes.sort_unstable();
        boxes.dedup();
        alone |= !later.is_empty();
        let then = later.into_iter().map(Stage::into_rest).collect();
        Self {
            realm,
            cards,
            appends: first.appends,
            events,
            rest: first.rest,
            then,
            boxes,
            only_appends: !beyond_appends,
            locks_heads,
            contradicts_itself,
            alone,
        }
    }

    /// Whether there is nothing to check and nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.cards.is_empty()
            && self.appends.is_empty()
            && self.events.is_empty()
            && self.rest.is_empty()
            && self.then.is_empty()
    }

    /// How many bytes it will be on the wire, about.
    pub(super) fn size(&self) -> usize {
        let cards: usize = self.cards.iter().map(|card| card.size()).sum();
        let appends: usize = self.appends.iter().map(|append| append.cards.len() * 20).sum();
        let events: usize = self.events.iter().map(|event| event.data.as_bytes().len()).sum();
        cards + appends + events + self.rest.size() + self.then.iter().map(Rest::size).sum::<usize>()
    }
}

#[derive(Debug, Default)]
struct Stage {
    appends: Vec<Append>,
    rest: Rest,
}

impl Stage {
    /// Adds cards to the end of a box, behind those that this stage adds already.
    fn append(&mut self, box_id: Uuid, generation: u32, cards: Vec<Uuid>) {
        match self.appends.iter_mut().find(|append| append.box_id == box_id) {
            Some(append) => append.cards.extend(cards),
            None => self.appends.push(Append { box_id, generation, min_len: 0, max_len: u32::MAX, cards }),
        }
    }

    fn into_rest(mut self) -> Rest {
        for append in &self.appends {
            self.rest.push("append", &rest::append(append));
        }
        self.rest
    }
}

/// A row that several kinds of writes touch.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Row {
    Box(Uuid),
    Project,
    Token(Uuid),
}

/// A kind of write, as far as its place in a stage is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Append { generation: u32 },
    Create,
    Rewrite,
    Seal,
    Update,
    Revoke,
}

impl Kind {
    /// Whether a row that was written by `last` can be written by this kind in the same stage: when the server
    /// applies this kind later, or both are of one kind whose rows are applied in their order. See `cw_rest`.
    fn follows(self, last: Self) -> bool {
        self.rank() > last.rank()
            || match self {
                Self::Append { .. } | Self::Update => self == last,
                Self::Create | Self::Rewrite | Self::Seal | Self::Revoke => false,
            }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Append { .. } => 0,
            Self::Create => 1,
            Self::Rewrite | Self::Update | Self::Revoke => 2,
            Self::Seal => 3,
        }
    }
}

#[derive(Default)]
struct Stages {
    cards: Vec<Card>,
    deleted: HashSet<CardId>,
    contradicts_itself: bool,
    boxes: Vec<Uuid>,
    first: Stage,
    later: Vec<Stage>,
    /// By what each row of the last stage was written last.
    written: HashMap<Row, Kind>,
    beyond_appends: bool,
    locks_heads: bool,
    alone: bool,
}

impl Stages {
    /// The stage in which a row is written next.
    fn stage(&mut self, row: Row, kind: Kind) -> &mut Stage {
        if self.written.get(&row).is_some_and(|last| !kind.follows(*last)) {
            self.later.push(Stage::default());
            self.written.clear();
        }
        self.written.insert(row, kind);
        self.last()
    }

    fn last(&mut self) -> &mut Stage {
        self.later.last_mut().unwrap_or(&mut self.first)
    }

    fn box_stage(&mut self, box_id: Uuid, kind: Kind) -> &mut Stage {
        self.boxes.push(box_id);
        self.beyond_appends |= !matches!(kind, Kind::Append { .. });
        self.stage(Row::Box(box_id), kind)
    }

    fn write(&mut self, write: Write) {
        match write {
            Write::PutCard(card) => {
                self.contradicts_itself |= self.deleted.contains(&card.id);
                self.cards.push(*card);
            }
            Write::DeleteCard { card_id, at } => {
                self.deleted.insert(card_id);
                let row = json!({ "card_id": card_id.uuid().to_string(), "at": at.micros() });
                self.last().rest.push("delete_card", &row);
            }
            Write::AppendCards { box_id, generation, cards } => {
                let (box_id, generation) = (box_id.uuid(), generation.get());
                let cards = cards.into_iter().map(|card| card.uuid()).collect();
                self.box_stage(box_id, Kind::Append { generation }).append(box_id, generation, cards);
            }
            Write::CreateBox(new) => {
                let stage = self.box_stage(new.head.box_id.uuid(), Kind::Create);
                stage.rest.push("create_box", &rest::new_box(&new));
            }
            Write::RewriteBox(new) => {
                self.locks_heads = true;
                let stage = self.box_stage(new.head.box_id.uuid(), Kind::Rewrite);
                stage.rest.push("rewrite_box", &rest::new_box(&new));
            }
            Write::SealBox { box_id } => {
                self.locks_heads = true;
                let stage = self.box_stage(box_id.uuid(), Kind::Seal);
                stage.rest.push("seal_box", &rest::lock(box_id.uuid()));
            }
            Write::CreateProject(project) => {
                self.alone = true;
                self.stage(Row::Project, Kind::Create).rest.push("create_project", &rest::project(&project));
            }
            Write::UpdateProject(project) => {
                self.alone = true;
                self.stage(Row::Project, Kind::Update).rest.push("update_project", &rest::project(&project));
            }
            Write::CreateToken(token) => {
                let stage = self.stage(Row::Token(token.id.uuid()), Kind::Create);
                stage.rest.push("create_token", &rest::token(&token));
            }
            Write::RevokeToken { token_id, at } => {
                let row = json!({ "token_id": token_id.uuid().to_string(), "at": at.micros() });
                self.stage(Row::Token(token_id.uuid()), Kind::Revoke).rest.push("revoke_token", &row);
            }
            Write::RememberAnswer(answer) => self.last().rest.push("remember_answer", &rest::answer(&answer)),
            Write::SealAudit { seq, head } => {
                self.alone = true;
                let row = json!({ "seq": seq, "position": head.position, "hash": head.hash.to_string() });
                self.last().rest.push("seal_audit", &row);
            }
        }
    }

    /// After the writes: an expectation about a box that is appended to first is checked by the append itself.
    fn expect(&mut self, expect: &Expect) {
        match expect {
            Expect::OpenBox { box_id, generation, min_len, max_len } => {
                let (box_id, generation) = (box_id.uuid(), generation.get());
                let same = |append: &&mut Append| append.box_id == box_id && append.generation == generation;
                if let Some(append) = self.first.appends.iter_mut().find(same) {
                    append.min_len = append.min_len.max(*min_len);
                    append.max_len = append.max_len.min(*max_len);
                    return;
                }
                self.boxes.push(box_id);
                self.beyond_appends = true;
                self.locks_heads = true;
                let row = json!({
                    "box_id": box_id.to_string(), "generation": generation, "min_len": min_len, "max_len": max_len,
                });
                self.first.rest.push("open_box", &row);
            }
            Expect::ProjectAt(revision) => self.first.rest.push("project_at", &json!(revision.get())),
            Expect::ChainAt(head) => {
                self.alone = true;
                self.first.rest.push("chain_at", &rest::chain(head));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{BoxHead, BoxId, Generation, NewBox, Timestamp};

    const BOX: BoxId = BoxId::from_uuid(Uuid::from_u128(7));

    fn new_box(generation: u32) -> NewBox {
        let head = BoxHead {
            box_id: BOX,
            generation: Generation::new(generation),
            len: 0,
            entries: 0,
            depth: 0,
            sealed: false,
            handover_hash: None,
            created_at: Timestamp::from_micros(0),
        };
        NewBox { head, entries: vec![] }
    }

    fn append(generation: u32) -> Write {
        let cards = vec![CardId::from_uuid(Uuid::from_u128(1))];
        Write::AppendCards { box_id: BOX, generation: Generation::new(generation), cards }
    }

    fn stages(writes: Vec<Write>) -> usize {
        let mut commit = Commit::new(Realm::System);
        commit.writes = writes;
        1 + Payload::new(commit).then.len()
    }

    #[test]
    fn writes_to_one_box_stay_in_their_order() {
        let seal = || Write::SealBox { box_id: BOX };
        for (expected, writes) in [
            (1, vec![append(1)]),
            (1, vec![append(1), append(1)]),
            (2, vec![append(1), append(2)]),
            (1, vec![append(1), Write::RewriteBox(new_box(2)), seal()]),
            (2, vec![Write::CreateBox(new_box(1)), append(1), seal()]),
            (2, vec![Write::RewriteBox(new_box(2)), append(2)]),
            (2, vec![seal(), append(1)]),
            (2, vec![seal(), seal()]),
            (3, vec![append(1), seal(), append(1), seal(), append(1)]),
        ] {
            assert_eq!(stages(writes.clone()), expected, "{writes:?}");
        }
    }

    #[test]
    fn an_expectation_about_an_appended_box_is_checked_by_the_append() {
        let expect = |generation, min_len, max_len| Expect::OpenBox {
            box_id: BOX,
            generation: Generation::new(generation),
            min_len,
            max_len,
        };
        let mut commit = Commit::new(Realm::System);
        commit.writes.push(append(1));
        commit.expect = vec![expect(1, 2, 9), expect(1, 0, 5)];
        let payload = Payload::new(commit.clone());
        assert_eq!((payload.appends[0].min_len, payload.appends[0].max_len), (2, 5));
        assert!(payload.rest.is_empty() && !payload.locks_heads && payload.only_appends);
        commit.expect.push(expect(2, 0, 9));
        let payload = Payload::new(commit.clone());
        assert!(payload.locks_heads && !payload.only_appends);
        commit.expect.clear();
        commit.writes.push(Write::SealBox { box_id: BOX });
        assert!(!Payload::new(commit).only_appends);
    }
}
