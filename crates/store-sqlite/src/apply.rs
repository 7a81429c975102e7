//! Applies one commit inside the transaction the writer has open: expectations first, then each write.

mod access;
mod batches;
mod facts;
mod graph;
mod log;
mod roster;
mod sessions;
mod turns;

pub(crate) use log::chain_head;

use crate::{
    error::{store_error, write_error},
    select::one,
    sql,
};
use cardwire_model::{Commit, Conflict, Expect, Write};
use cardwire_store::CommitError;
use rusqlite::{Connection, params};

type Applied = Result<(), CommitError>;

pub(crate) fn apply(conn: &Connection, commit: &Commit) -> Applied {
    let at = Apply { conn, realm: commit.realm.key() };
    commit.expect.iter().try_for_each(|expect| at.check(expect))?;
    commit.writes.iter().try_for_each(|write| at.write(write))?;
    commit.events.iter().try_for_each(|event| at.event(event))?;
    commit.audit.iter().try_for_each(|audit| at.audit(audit))
}

struct Apply<'a> {
    conn: &'a Connection,
    realm: &'a str,
}

impl Apply<'_> {
    fn run(
        &self,
        statement: &str,
        params: impl rusqlite::Params,
        taken: Conflict,
    ) -> Result<usize, CommitError> {
        let mut statement = self.conn.prepare_cached(statement).map_err(store_error)?;
        statement.execute(params).map_err(|error| write_error(error, taken))
    }

    /// A write that must hit exactly one row.
    fn run_one(&self, statement: &str, params: impl rusqlite::Params, gone: Conflict) -> Applied {
        if self.run(statement, params, gone)? == 1 { Ok(()) } else { Err(gone.into()) }
    }

    fn holds(&self, statement: &str, params: impl rusqlite::Params, otherwise: Conflict) -> Applied {
        let mut statement = self.conn.prepare_cached(statement).map_err(store_error)?;
        if statement.exists(params).map_err(store_error)? { Ok(()) } else { Err(otherwise.into()) }
    }

    fn check(&self, expect: &Expect) -> Applied {
        match expect {
            Expect::OpenBox { box_id, generation, min_len, max_len } => self.holds(
                sql::EXPECT_OPEN_BOX,
                params![self.realm, box_id.uuid().into_bytes(), generation.get(), min_len, max_len],
                Conflict::Box,
            ),
            Expect::ProjectAt(revision) => self.holds(
                sql::EXPECT_PROJECT_AT,
                params![self.realm, revision.get() as i64],
                Conflict::Project,
            ),
            Expect::ChainAt(head) => self.holds(
                sql::EXPECT_CHAIN_AT,
                params![self.realm, head.position as i64, head.hash.as_bytes()],
                Conflict::Chain,
            ),
            Expect::OutputFree { box_id, agent_id } => self.holds(
                sql::EXPECT_OUTPUT_FREE,
                params![
                    self.realm,
                    box_id.uuid().into_bytes(),
                    agent_id.as_ref().map(|agent| agent.as_str())
                ],
                Conflict::Box,
            ),
            Expect::OpenTurns { at_most } => {
                let up_to = params![self.realm, at_most.saturating_add(1)];
                let open = one(self.conn, sql::OPEN_TURNS, up_to, |row| row.get::<_, u32>(0));
                match open.map_err(store_error)? {
                    Some(open) if open > *at_most => Err(Conflict::OpenTurns.into()),
                    Some(_) | None => Ok(()),
                }
            }
        }
    }

    fn write(&self, write: &Write) -> Applied {
        match write {
            Write::PutCard(card) => self.put_card(card),
            Write::DeleteCard { card_id, at } => self.delete_card(*card_id, *at),
            Write::CreateBox(new) => self.create_box(new),
            Write::AppendCards { box_id, generation, cards } => self.append(*box_id, *generation, cards),
            Write::RewriteBox(new) => self.rewrite_box(new),
            Write::SealBox { box_id } => {
                self.run_one(sql::SEAL_BOX, params![self.realm, box_id.uuid().into_bytes()], Conflict::Box)
            }
            Write::CreateProject(project) => self.create_project(project),
            Write::UpdateProject(project) => self.update_project(project),
            Write::CreateToken(token) => self.create_token(token),
            Write::RevokeToken { token_id, at } => self.run_one(
                sql::REVOKE_TOKEN,
                params![self.realm, token_id.uuid().into_bytes(), at.micros()],
                Conflict::Token,
            ),
            Write::RememberAnswer(answer) => self.remember(answer),
            Write::SealAudit { seq, head } => self.run_one(
                sql::SEAL_AUDIT,
                params![self.realm, *seq as i64, head.position as i64, head.hash.as_bytes()],
                Conflict::Chain,
            ),
            Write::CreateHead(head) => self.create_head(head),
            Write::MoveHead { guard, to, queued, is_copied } => {
                self.move_head(guard, to, *queued, *is_copied)
            }
            Write::NudgeHead { guard, nudge } => self.nudge_head(guard, nudge),
            Write::Enqueue(item) => self.enqueue(item),
            Write::UpdateInbox { from, item } => self.update_inbox(*from, item),
            Write::AddEdge(edge) => self.add_edge(edge),
            Write::CreateStep(step) => self.create_step(step),
            Write::UpdateStep(step) => self.update_step(step),
            Write::OpenCall(call) => self.open_call(call),
            Write::UpdateCall(call) => self.update_call(call),
            Write::PutProfile { was, profile } => self.put_profile(*was, profile),
            Write::PutResource { was, resource } => self.put_resource(*was, resource),
            Write::PutAgent { was, agent } => self.put_agent(*was, agent),
            Write::AddIdentityEdge(edge) => self.add_identity_edge(edge),
            Write::CreateBatch(batch) => self.create_batch(batch),
            Write::BeginClose { batch_id, reason } => self.begin_close(*batch_id, *reason),
            Write::CloseBatch(batch) => self.close_batch(batch),
            Write::AddBranch(branch) => self.add_branch(branch),
            Write::MoveBranch { from, branch } => self.move_branch(*from, branch),
            Write::EndBranch(end) => self.end_branch(end),
            Write::AddSweep(sweep) => self.add_sweep(*sweep),
            Write::EndSweep(sweep) => self.end_sweep(*sweep),
            Write::AddGrant(grant) => self.add_grant(grant),
            Write::Spend { root, turns, limit } => self.spend(*root, *turns, *limit),
            Write::PutSession { was, session } => self.put_session(*was, session),
            Write::PutPassage(passage) => self.put_passage(passage),
            Write::DropPassages { shelf, source } => self.drop_passages(shelf, source),
        }
    }
}
