//! Writes of projects, cards and boxes.

use super::{Applied, Apply};
use crate::{codec, error::store_error, select::one, sql};
use cardwire_model::{BoxId, Card, CardId, Conflict, Entry, Generation, Item, NewBox, Project, Timestamp};
use rusqlite::params;

impl Apply<'_> {
    pub(super) fn put_card(&self, card: &Card) -> Applied {
        let row = params![
            self.realm,
            card.id.uuid().into_bytes(),
            card.kind.as_str(),
            card.role.as_str(),
            card.author_id,
            card.content.as_str(),
            card.content_hash.as_bytes(),
            card.fact_hash.as_bytes(),
            card.tokens,
            card.tool_calls.as_ref().map(|calls| calls.as_str()),
            card.tool_call_id,
            card.metadata.as_str(),
            card.origin.as_str(),
            card.credential,
            card.ttl_seconds,
            card.expires_at.map(|at| at.micros()),
            card.deleted_at.map(|at| at.micros()),
            card.created_at.micros(),
        ];
        self.run(sql::PUT_CARD, row, Conflict::Card).map(drop)
    }

    pub(super) fn delete_card(&self, card_id: CardId, at: Timestamp) -> Applied {
        let row = params![self.realm, card_id.uuid().into_bytes(), at.micros()];
        self.run_one(sql::DELETE_CARD, row, Conflict::Card)?;
        self.run(sql::COUNT_DELETION, params![self.realm], Conflict::Project).map(drop)
    }

    pub(super) fn create_box(&self, new: &NewBox) -> Applied {
        let head = &new.head;
        let row = params![
            self.realm,
            head.box_id.uuid().into_bytes(),
            head.generation.get(),
            head.len,
            head.entries,
            head.depth,
            head.sealed,
            head.handover_hash.as_ref().map(|hash| hash.as_bytes()),
            head.created_at.micros(),
        ];
        self.run(sql::CREATE_BOX, row, Conflict::Box)?;
        self.entries(new.head.box_id, new.head.generation, 0, new.entries.iter().copied())
    }

    pub(super) fn rewrite_box(&self, new: &NewBox) -> Applied {
        let head = &new.head;
        let row = params![
            self.realm,
            head.box_id.uuid().into_bytes(),
            head.generation.get(),
            head.len,
            head.entries,
            head.depth
        ];
        self.run_one(sql::REWRITE_BOX, row, Conflict::Box)?;
        self.entries(head.box_id, head.generation, 0, new.entries.iter().copied())
    }

    pub(super) fn append(&self, box_id: BoxId, generation: Generation, cards: &[CardId]) -> Applied {
        // Not RETURNING: SQLite would build a table for the one row.
        let key = params![self.realm, box_id.uuid().into_bytes()];
        let before = one(self.conn, sql::BOXES, key, codec::box_head).map_err(store_error)?;
        let first = before.ok_or(Conflict::Box)?.entries;
        let row = params![self.realm, box_id.uuid().into_bytes(), generation.get(), cards.len() as u32];
        self.run_one(sql::APPEND_CARDS, row, Conflict::Box)?;
        self.entries(box_id, generation, first, cards.iter().copied().map(Entry::direct))
    }

    fn entries(
        &self,
        box_id: BoxId,
        generation: Generation,
        first: u32,
        entries: impl Iterator<Item = Entry>,
    ) -> Applied {
        for (seq, entry) in (first..).zip(entries) {
            let (card, segment) = match entry.item {
                Item::Card(card) => (Some(card.uuid()), None),
                Item::Segment(segment) => (None, Some(segment)),
            };
            let (source, rule) = entry.source.parts();
            let row = params![
                self.realm,
                box_id.uuid().into_bytes(),
                generation.get(),
                seq,
                card.as_ref().map(uuid::Uuid::as_bytes),
                segment.map(|segment| segment.box_id.uuid().into_bytes()),
                segment.map(|segment| segment.generation.get()),
                segment.map(|segment| segment.len),
                source,
                rule,
            ];
            self.run(sql::BOX_ENTRY, row, Conflict::Entry)?;
        }
        Ok(())
    }

    pub(super) fn create_project(&self, project: &Project) -> Applied {
        let row = params![
            project.id.as_str(),
            project.title,
            project.settings.to_json().as_str().to_owned(),
            project.revision.get() as i64,
            project.deletions as i64,
            project.created_at.micros(),
            project.updated_at.micros(),
            project.deleted_at.map(|at| at.micros()),
        ];
        self.run(sql::CREATE_PROJECT, row, Conflict::Project).map(drop)
    }

    pub(super) fn update_project(&self, project: &Project) -> Applied {
        let row = params![
            project.id.as_str(),
            project.title,
            project.settings.to_json().as_str().to_owned(),
            project.revision.get() as i64,
            project.updated_at.micros(),
            project.deleted_at.map(|at| at.micros()),
        ];
        self.run_one(sql::UPDATE_PROJECT, row, Conflict::Project)
    }
}
