//! Sessions: what the agents of a team share, and what came of it (API-11).

use super::{CURSOR, Endpoint, LIMIT, NAMESPACE, Op, delete, get, integer, json, post, text};
use crate::{
    Access,
    collect::{CollectIn, CollectedOut},
    experience::{ExperienceIn, ExperienceNotedOut, ExperienceOut, ExperienceSaveIn, ExperienceSavedOut},
    sessions::{
        CheckpointList, CompactIn, CompactedOut, CompactionOut, PatchIn, PatchedOut, RestoreIn, RestoredOut,
        SessionList, SessionOut,
    },
};
use cardwire_model::Scope::{Operate, Read};

const SESSION: &str = "/projects/{project_id}/sessions/{session_id}";
const EXPERIENCE: &str = "/projects/{project_id}/sessions/{session_id}/experience";

pub(super) const ENDPOINTS: &[Endpoint] = &[
    get(
        Op::ListSessions,
        "/projects/{project_id}/sessions",
        Access::Project(Read),
        "Sessions of a namespace by name.",
        json::<SessionList>(),
    )
    .query(&[NAMESPACE, CURSOR, LIMIT]),
    get(Op::GetSession, SESSION, Access::Project(Read), "A session.", json::<SessionOut>()).query(&[
        NAMESPACE,
        text("checkpoint", "As it was at this checkpoint."),
        integer(
            "limit",
            "How many of each list, the newest, from 1; more than 5000 is 5000, which it is when absent.",
        ),
        integer("before", "Only what stands before this place in its list; see `earlier`."),
    ]),
    delete(
        Op::DeleteSession,
        SESSION,
        Access::Project(Operate),
        "Delete a session and the cards that any version of it showed.",
    )
    .query(&[NAMESPACE]),
    post(
        Op::PatchSession,
        "/projects/{project_id}/sessions/{session_id}/patches",
        Access::Project(Operate),
        "Change a session. One that is not there is made.",
        json::<PatchIn>(),
        (200, json::<PatchedOut>()),
    )
    .query(&[NAMESPACE])
    .repeatable(),
    post(
        Op::CompactSession,
        "/projects/{project_id}/sessions/{session_id}:compact",
        Access::Project(Operate),
        "Put a summary in the place of older messages.",
        json::<CompactIn>(),
        (200, json::<CompactedOut>()),
    )
    .query(&[NAMESPACE])
    .repeatable(),
    get(
        Op::GetCompaction,
        "/projects/{project_id}/sessions/{session_id}/compaction",
        Access::Project(Read),
        "What a model would be asked for a summary of the session now.",
        json::<CompactionOut>(),
    )
    .query(&[NAMESPACE]),
    get(
        Op::ListCheckpoints,
        "/projects/{project_id}/sessions/{session_id}/checkpoints",
        Access::Project(Read),
        "What a session was like, newest first.",
        json::<CheckpointList>(),
    )
    .query(&[NAMESPACE, CURSOR, LIMIT]),
    post(
        Op::RestoreSession,
        "/projects/{project_id}/sessions/{session_id}:restore",
        Access::Project(Operate),
        "Put a session back to a checkpoint.",
        json::<RestoreIn>(),
        (200, json::<RestoredOut>()),
    )
    .query(&[NAMESPACE])
    .repeatable(),
    post(
        Op::CollectContext,
        "/projects/{project_id}/sessions/{session_id}/context:collect",
        Access::Project(Read),
        "The blocks that an agent of the session would be shown. Nothing is written.",
        json::<CollectIn>(),
        (200, json::<CollectedOut>()),
    )
    .query(&[NAMESPACE]),
    get(
        Op::GetExperience,
        EXPERIENCE,
        Access::Project(Read),
        "What is known for the experience of a session.",
        json::<ExperienceOut>(),
    )
    .query(&[NAMESPACE]),
    post(
        Op::NoteExperience,
        EXPERIENCE,
        Access::Project(Operate),
        "Add to what is known for the experience of a session.",
        json::<ExperienceIn>(),
        (200, json::<ExperienceNotedOut>()),
    )
    .query(&[NAMESPACE])
    .repeatable(),
    post(
        Op::SaveExperience,
        "/projects/{project_id}/sessions/{session_id}/experience:save",
        Access::Project(Operate),
        "Save the experience of a session, so that later sessions find it.",
        json::<ExperienceSaveIn>(),
        (200, json::<ExperienceSavedOut>()),
    )
    .query(&[NAMESPACE])
    .repeatable(),
];
