//! What a run tried: a random test can pass by never trying the dangerous thing, so the counts are asserted.

use super::Spoiler;
use crate::reference::{Cause, Refusal};
use cardwire_model::{Commit, Expect, Write};
use std::collections::BTreeMap;

/// The kinds of writes, as their variants are called.
const WRITES: &[&str] = &[
    "PutCard",
    "DeleteCard",
    "CreateBox",
    "AppendCards",
    "RewriteBox",
    "SealBox",
    "CreateProject",
    "UpdateProject",
    "CreateToken",
    "RevokeToken",
    "RememberAnswer",
    "SealAudit",
    "CreateHead",
    "MoveHead",
    "NudgeHead",
    "Enqueue",
    "UpdateInbox",
    "AddEdge",
    "CreateStep",
    "UpdateStep",
    "OpenCall",
    "UpdateCall",
    "PutProfile",
    "PutResource",
    "PutAgent",
    "AddIdentityEdge",
    "CreateBatch",
    "BeginClose",
    "CloseBatch",
    "AddBranch",
    "MoveBranch",
    "EndBranch",
    "AddSweep",
    "EndSweep",
    "AddGrant",
    "Spend",
    "PutSession",
    "PutPassage",
    "DropPassages",
];

/// Writes for which whatever they find is fine.
const NEVER_REFUSED: &[&str] =
    &["EndBranch", "AddSweep", "EndSweep", "AddGrant", "PutPassage", "DropPassages"];

/// The kinds of expectations.
const EXPECTS: &[&str] = &["OpenBox", "ProjectAt", "ChainAt", "OutputFree", "OpenTurns"];

/// Counts of what was tried and how it ended.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// Commits that were applied.
    pub applied: usize,
    /// Commits that were refused.
    pub refused: usize,
    /// Refused commits in which something before the first conflict had to be undone.
    pub late: usize,
    /// Refused commits with conflicts of different kinds.
    pub ambiguous: usize,
    /// Projects whose rows were claimed, once per claim.
    pub claimed: usize,
    /// Projects whose rows were given to a claim that left them as they were.
    pub unclaimed: usize,
    /// Searches that found something.
    pub found: usize,
    /// Per kind of write or expectation: how many held in applied commits, how many caused a refusal.
    pub parts: BTreeMap<&'static str, (usize, usize)>,
    /// Per spoiler: how many refused commits it spoiled alone.
    pub spoilers: BTreeMap<Spoiler, usize>,
}

impl Coverage {
    pub(super) fn count(&mut self, commit: &Commit, refusals: &[Refusal], spoilers: &[Spoiler]) {
        match refusals.first() {
            None => self.applied += 1,
            Some(first) => {
                self.refused += 1;
                self.late += usize::from(matches!(first.cause, Cause::Write(index) if index > 0));
                let differ = refusals.iter().any(|refusal| refusal.conflict != first.conflict);
                self.ambiguous += usize::from(differ);
            }
        }
        if let [spoiler] = spoilers {
            *self.spoilers.entry(*spoiler).or_default() += 1;
        }
        let caused = |cause| refusals.iter().any(|refusal| refusal.cause == cause);
        for (index, write) in commit.writes.iter().enumerate() {
            self.part(write_kind(write), refusals.is_empty(), caused(Cause::Write(index)));
        }
        for (index, expect) in commit.expect.iter().enumerate() {
            self.part(expect_kind(expect), refusals.is_empty(), caused(Cause::Expect(index)));
        }
    }

    fn part(&mut self, kind: &'static str, applied: bool, caused: bool) {
        let (held, failed) = self.parts.entry(kind).or_default();
        *held += usize::from(applied);
        *failed += usize::from(caused);
    }

    /// Panics unless every kind of write and expectation was applied and refused often enough, every spoiler
    /// did its work, and conflicts came late as well as early. Meant for runs of some thousand commits; the least
    /// counts are so low that no seed misses them by chance.
    pub fn assert_complete(&self) {
        let commits = self.applied + self.refused;
        let percent = 100 * self.applied / commits.max(1);
        assert!((60..=80).contains(&percent), "{percent} % of {commits} commits were applied");
        for kind in WRITES.iter().chain(EXPECTS) {
            let (held, failed) = self.parts.get(kind).copied().unwrap_or_default();
            // There are only a few projects.
            let least = if *kind == "CreateProject" { 3 } else { commits / 250 };
            assert!(held >= least, "{kind} was applied {held} times, wanted {least}: {self:#?}");
            let least = if NEVER_REFUSED.contains(kind) { 0 } else { commits / 1_000 };
            assert!(failed >= least, "{kind} was refused {failed} times, wanted {least}: {self:#?}");
        }
        for spoiler in Spoiler::ALL {
            let (times, least) = (self.spoilers.get(spoiler).copied().unwrap_or(0), commits / 4_000);
            assert!(times >= least, "{spoiler:?} was tried {times} times, wanted {least}: {self:#?}");
        }
        let least = commits / 400;
        assert!(self.claimed >= least && self.unclaimed >= least / 4, "few rows were claimed: {self:#?}");
        assert!(self.found >= commits / 200, "{} searches found something", self.found);
        assert!(self.late >= commits / 50, "{} conflicts came late", self.late);
        assert!(self.ambiguous >= commits / 500, "{} refusals had several reasons", self.ambiguous);
    }
}

const fn write_kind(write: &Write) -> &'static str {
    match write {
        Write::PutCard(_) => "PutCard",
        Write::DeleteCard { .. } => "DeleteCard",
        Write::CreateBox(_) => "CreateBox",
        Write::AppendCards { .. } => "AppendCards",
        Write::RewriteBox(_) => "RewriteBox",
        Write::SealBox { .. } => "SealBox",
        Write::CreateProject(_) => "CreateProject",
        Write::UpdateProject(_) => "UpdateProject",
        Write::CreateToken(_) => "CreateToken",
        Write::RevokeToken { .. } => "RevokeToken",
        Write::RememberAnswer(_) => "RememberAnswer",
        Write::SealAudit { .. } => "SealAudit",
        Write::CreateHead(_) => "CreateHead",
        Write::MoveHead { .. } => "MoveHead",
        Write::NudgeHead { .. } => "NudgeHead",
        Write::Enqueue(_) => "Enqueue",
        Write::UpdateInbox { .. } => "UpdateInbox",
        Write::AddEdge(_) => "AddEdge",
        Write::CreateStep(_) => "CreateStep",
        Write::UpdateStep(_) => "UpdateStep",
        Write::OpenCall(_) => "OpenCall",
        Write::UpdateCall(_) => "UpdateCall",
        Write::PutProfile { .. } => "PutProfile",
        Write::PutResource { .. } => "PutResource",
        Write::PutAgent { .. } => "PutAgent",
        Write::AddIdentityEdge(_) => "AddIdentityEdge",
        Write::CreateBatch(_) => "CreateBatch",
        Write::BeginClose { .. } => "BeginClose",
        Write::CloseBatch(_) => "CloseBatch",
        Write::AddBranch(_) => "AddBranch",
        Write::MoveBranch { .. } => "MoveBranch",
        Write::EndBranch(_) => "EndBranch",
        Write::AddSweep(_) => "AddSweep",
        Write::EndSweep(_) => "EndSweep",
        Write::AddGrant(_) => "AddGrant",
        Write::Spend { .. } => "Spend",
        Write::PutSession { .. } => "PutSession",
        Write::PutPassage(_) => "PutPassage",
        Write::DropPassages { .. } => "DropPassages",
    }
}

const fn expect_kind(expect: &Expect) -> &'static str {
    match expect {
        Expect::OpenBox { .. } => "OpenBox",
        Expect::ProjectAt(_) => "ProjectAt",
        Expect::ChainAt(_) => "ChainAt",
        Expect::OutputFree { .. } => "OutputFree",
        Expect::OpenTurns { .. } => "OpenTurns",
    }
}
