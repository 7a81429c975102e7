//! The ways in which a commit can come too late or be wrong: one per reason a store can find.
//!
//! A spoiler is put at a random place among the writes or expectations, so that conflicts come early and late.

mod batches;
mod boxes;
mod graph;
mod records;
mod sessions;
mod turns;

use super::{Generator, SPOILED, SPOILED_TWICE};
use cardwire_model::{Commit, Expect, Write};

macro_rules! spoilers {
    ($($(#[$doc:meta])* $name:ident = $make:ident,)*) => {
        /// Why a commit must be refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Spoiler {
            $($(#[$doc])* $name,)*
        }

        impl Spoiler {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            fn apply(self, generator: &mut Generator, commit: &mut Commit) -> Option<()> {
                match self {
                    $(Self::$name => generator.$make(commit),)*
                }
            }
        }
    };
}

spoilers! {
    /// The id has a card.
    PutTakenCard = put_taken_card,
    /// One commit writes an id twice.
    PutCardTwice = put_card_twice,
    /// There is no such card.
    DeleteAbsentCard = delete_absent_card,
    /// Somebody deleted it before.
    DeleteDeletedCard = delete_deleted_card,
    /// Another project has the card.
    DeleteForeignCard = delete_foreign_card,
    /// The id has a box.
    CreateTakenBox = create_taken_box,
    /// A new box lists a card twice.
    CreateBoxWithRepeat = create_box_with_repeat,
    /// The box is at another generation.
    AppendToOtherGeneration = append_to_other_generation,
    /// The box is sealed.
    AppendToSealedBox = append_to_sealed_box,
    /// There is no such box.
    AppendToAbsentBox = append_to_absent_box,
    /// The card is an entry already.
    AppendMember = append_member,
    /// One append lists a card twice.
    AppendCardTwice = append_card_twice,
    /// There is no such box.
    RewriteAbsentBox = rewrite_absent_box,
    /// There is no such box.
    SealAbsentBox = seal_absent_box,
    /// The name is taken.
    CreateTakenProject = create_taken_project,
    /// There is no such project.
    UpdateAbsentProject = update_absent_project,
    /// The id has a token, maybe in another realm.
    CreateTakenToken = create_taken_token,
    /// The secret belongs to a token, maybe in another realm.
    CreateTokenWithTakenSecret = create_token_with_taken_secret,
    /// There is no such token.
    RevokeAbsentToken = revoke_absent_token,
    /// Somebody revoked it before.
    RevokeRevokedToken = revoke_revoked_token,
    /// Another realm has the token.
    RevokeForeignToken = revoke_foreign_token,
    /// The key has an answer.
    RememberTakenAnswer = remember_taken_answer,
    /// There is no such audit row.
    SealAbsentRow = seal_absent_row,
    /// The row is sealed already.
    SealSealedRow = seal_sealed_row,
    /// The place in the chain is taken.
    SealAtTakenPlace = seal_at_taken_place,
    /// The box is at another generation.
    ExpectOtherGeneration = expect_other_generation,
    /// The box is sealed.
    ExpectOpenButSealed = expect_open_but_sealed,
    /// There is no such box.
    ExpectAbsentBox = expect_absent_box,
    /// The box shows fewer cards.
    ExpectLongerBox = expect_longer_box,
    /// The box shows more cards.
    ExpectShorterBox = expect_shorter_box,
    /// The project was changed.
    ExpectOtherRevision = expect_other_revision,
    /// There is no such project.
    ExpectAbsentProject = expect_absent_project,
    /// The chain is longer or shorter.
    ExpectOtherChainLength = expect_other_chain_length,
    /// The chain ends in another hash.
    ExpectOtherChainHash = expect_other_chain_hash,
    /// The agent has a head.
    CreateTakenHead = create_taken_head,
    /// The agent has no head.
    GuardAbsentHead = guard_absent_head,
    /// Another project has the head.
    GuardForeignHead = guard_foreign_head,
    /// The head is at another epoch.
    GuardOtherEpoch = guard_other_epoch,
    /// The head is in another state.
    GuardOtherStatus = guard_other_status,
    /// The head was marked since.
    GuardOtherMarks = guard_other_marks,
    /// Fewer turns wait.
    GuardLongerQueue = guard_longer_queue,
    /// More turns wait.
    GuardShorterQueue = guard_shorter_queue,
    /// The agent is at another revision, or not in the roster.
    GuardOtherRevision = guard_other_revision,
    /// The id has an inbox row.
    EnqueueTakenId = enqueue_taken_id,
    /// The turn has a row.
    EnqueueTakenTurn = enqueue_taken_turn,
    /// One commit sends a turn twice.
    EnqueueTurnTwice = enqueue_turn_twice,
    /// There is no such row.
    UpdateAbsentRow = update_absent_row,
    /// Another project has the row.
    UpdateForeignRow = update_foreign_row,
    /// The row is in another state.
    UpdateRowFromOtherStatus = update_row_from_other_status,
    /// There is no such box.
    ExpectAbsentOutput = expect_absent_output,
    /// A turn of another agent writes the box.
    ExpectTakenOutput = expect_taken_output,
    /// More turns are open.
    ExpectFewerOpenTurns = expect_fewer_open_turns,
    /// The id has an edge.
    AddTakenEdge = add_taken_edge,
    /// The correlation is taken in its scope.
    AddTakenCorrelation = add_taken_correlation,
    /// One commit uses a correlation twice.
    AddEdgeTwice = add_edge_twice,
    /// The id has a step.
    CreateTakenStep = create_taken_step,
    /// There is no such step.
    UpdateAbsentStep = update_absent_step,
    /// The step is another turn's.
    UpdateStepOfOtherTurn = update_step_of_other_turn,
    /// The turn has made this call.
    OpenTakenCall = open_taken_call,
    /// There is no such call.
    UpdateAbsentCall = update_absent_call,
    /// The call has its answer.
    AnswerAnsweredCall = answer_answered_call,
    /// The name has a profile.
    PutTakenProfile = put_taken_profile,
    /// The profile was changed.
    PutProfileAtOtherRevision = put_profile_at_other_revision,
    /// There is no such profile.
    PutAbsentProfile = put_absent_profile,
    /// The name has a document of the kind.
    PutTakenResource = put_taken_resource,
    /// The document was changed.
    PutResourceAtOtherRevision = put_resource_at_other_revision,
    /// There is no such document.
    PutAbsentResource = put_absent_resource,
    /// The name has an agent.
    PutTakenAgent = put_taken_agent,
    /// The agent was changed.
    PutAgentAtOtherRevision = put_agent_at_other_revision,
    /// There is no such agent.
    PutAbsentAgent = put_absent_agent,
    /// The id has an identity edge.
    AddTakenIdentityEdge = add_taken_identity_edge,
    /// The id has a batch.
    CreateTakenBatch = create_taken_batch,
    /// One commit forks a batch twice.
    CreateBatchTwice = create_batch_twice,
    /// There is no such batch.
    BeginCloseOfAbsentBatch = begin_close_of_absent_batch,
    /// The batch is being closed already.
    BeginCloseAgain = begin_close_again,
    /// The batch was closed without that.
    BeginCloseOfClosedBatch = begin_close_of_closed_batch,
    /// There is no such batch.
    CloseAbsentBatch = close_absent_batch,
    /// Somebody closed it before.
    CloseClosedBatch = close_closed_batch,
    /// The batch is being closed for another reason, or for none.
    CloseFromOtherClosing = close_from_other_closing,
    /// Another project has the batch.
    CloseForeignBatch = close_foreign_batch,
    /// The key has a branch.
    AddTakenBranch = add_taken_branch,
    /// One commit adds a branch twice.
    AddBranchTwice = add_branch_twice,
    /// There is no such branch.
    MoveAbsentBranch = move_absent_branch,
    /// Another project has the branch.
    MoveForeignBranch = move_foreign_branch,
    /// The branch is in another state.
    MoveBranchFromOtherStatus = move_branch_from_other_status,
    /// The tree has grown past the limit.
    SpendTooMuch = spend_too_much,
    /// The name has a session, deleted or not.
    PutTakenSession = put_taken_session,
    /// The session was changed.
    PutSessionAtOtherVersion = put_session_at_other_version,
    /// There is no such session.
    PutAbsentSession = put_absent_session,
    /// Another project or namespace has the session.
    PutForeignSession = put_foreign_session,
}

impl Generator {
    /// Spoils some of the commits, and says how.
    pub(super) fn spoil(&mut self, commit: &mut Commit) -> Vec<Spoiler> {
        let mut done = vec![];
        if self.projects.is_empty() || !self.rng.chance(SPOILED) {
            return done;
        }
        let wanted = if self.rng.chance(SPOILED_TWICE) { 2 } else { 1 };
        // Some spoilers need rows that are not there yet: then another one is tried.
        for _ in 0..40 {
            let spoiler = self.rare_spoiler();
            if done.len() < wanted && spoiler.apply(self, commit).is_some() {
                done.push(spoiler);
            }
        }
        done
    }

    /// Of a few random ones the one that was used least, so that none of the many is missed by chance.
    fn rare_spoiler(&mut self) -> Spoiler {
        let candidates = [(); 3].map(|()| Spoiler::ALL[self.rng.below(Spoiler::ALL.len())]);
        let used = |spoiler: &Spoiler| self.coverage.spoilers.get(spoiler).copied().unwrap_or(0);
        candidates.into_iter().min_by_key(used).unwrap_or(candidates[0])
    }

    fn insert(&mut self, commit: &mut Commit, write: Write) -> Option<()> {
        let place = self.rng.below(commit.writes.len() + 1);
        commit.writes.insert(place, write);
        Some(())
    }

    fn expect(&mut self, commit: &mut Commit, expect: Expect) -> Option<()> {
        let place = self.rng.below(commit.expect.len() + 1);
        commit.expect.insert(place, expect);
        Some(())
    }
}
