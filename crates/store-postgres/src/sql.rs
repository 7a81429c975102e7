//! Every statement, one file each. The other backend has files of the same names.

macro_rules! reads {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) const $name: &str = include_str!(concat!("../sql/read/", $file, ".sql"));)*
    };
}

reads! {
    PROJECTS = "projects";
    BOX_HEAD = "box_head";
    BOX_ENTRIES = "box_entries";
    BOX_CARDS = "box_cards";
    CARDS = "cards";
    CARD_IDS = "card_ids";
    SCAN_CARDS = "scan_cards";
    SCAN_BOXES = "scan_boxes";
    TOKEN_BY_HASH = "token_by_hash";
    TOKENS_BY_HASHES = "tokens_by_hashes";
    TOKEN_BY_ID = "token_by_id";
    TOKENS = "tokens";
    EVENTS = "events";
    LAST_POSITION = "last_position";
    LAST_POSITIONS = "last_positions";
    AUDIT = "audit";
    AUDIT_CHAIN = "audit_chain";
    UNSEALED_REALMS = "unsealed_realms";
    UNSEALED_AUDIT = "unsealed_audit";
    CHAIN_HEAD = "chain_head";
    FORGET_ANSWERS = "forget_answers";
    HEALTH = "health";
    WRITABLE = "writable";
    HEADS = "heads";
    INBOX = "inbox";
    INBOX_OF_AGENT = "inbox_of_agent";
    INBOX_OF_TURN = "inbox_of_turn";
    INBOX_WITH_WORKERS = "inbox_with_workers";
    CALLS = "calls";
    STEPS = "steps";
    STEPS_OF_AGENT = "steps_of_agent";
    STEPS_OF_TURN = "steps_of_turn";
    EDGES = "edges";
    EDGES_OF_AGENT = "edges_of_agent";
    EDGES_OF_TURN = "edges_of_turn";
    RUNS = "runs";
    SENT_BY = "sent_by";
    STEPS_OF = "steps_of";
    LATEST_CARD_IDS = "latest_card_ids";
    LATEST_BOXES = "latest_boxes";
    HOLDERS = "holders";
    IDENTITY_EDGES = "identity_edges";
    IDENTITY_EDGES_OF_AGENT = "identity_edges_of_agent";
    AGENTS = "agents";
    ROSTER = "roster";
    PROFILES = "profiles";
    RESOURCES = "resources";
    CLAIM_PROJECTS = "claim_projects";
    CLAIM_PROJECTS_AMONG = "claim_projects_among";
    CLAIMABLE = "claimable";
    HELD = "held";
    DUE_HEADS = "due_heads";
    DUE_ITEMS = "due_items";
    BATCHES = "batches";
    BATCHES_OF_TURN = "batches_of_turn";
    BRANCHES = "branches";
    STANDING = "standing";
    RUNNING_BATCHES = "running_batches";
    SWEEPS = "sweeps";
    OPEN_CHILDREN = "open_children";
    OPEN_BRANCHES = "open_branches";
    GRANTED = "granted";
    GRANTS = "grants";
    SPENT = "spent";
    OPEN_TURNS = "open_turns";
    OPEN_TURNS_IN_TRACE = "open_turns_in_trace";
    SESSIONS = "sessions";
    PASSAGES = "passages";
    PASSAGES_AT = "passages_at";
    SEARCH = "search";
}

/// Parts of a snapshot, with the names of their keys in braces: see `load.rs`.
macro_rules! parts {
    ($($name:ident = $file:literal;)*) => {
        pub(crate) mod part {
            $(pub(crate) const $name: &str = include_str!(concat!("../sql/read/", $file, ".sql"));)*
        }
    };
}

parts! {
    PROJECT = "project";
    CARD_FACTS = "card_facts";
    BOXES = "boxes";
    MEMBERS = "members";
    TOKEN = "token";
    ANSWER = "answer";
    AGENT = "agent";
    HEAD = "head";
    TURN = "turn";
    TURN_CALLS = "turn_calls";
    TURN_REPORTS = "turn_reports";
    NEXT_TURNS = "next_turns";
    DEPTH = "depth";
    INBOX_ITEM = "inbox_item";
    EDGE = "edge";
    STEP = "step";
    WRITERS = "writers";
    PROFILE = "profile";
    RESOURCE = "resource";
    BATCH = "batch";
    SESSION = "session";
}

/// Begins a transaction that writes: each of its statements sees what was committed before it.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// Ends a transaction. After a failed statement it says Ok and rolls back.
pub(crate) const END: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// Applies a commit.
pub(crate) const COMMIT: &str = "SELECT cw_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)";
pub(crate) const NUMBER_EVENTS: &str = include_str!("../sql/write/number_events.sql");
pub(crate) const SET_TENANT: &str = include_str!("../sql/set_tenant.sql");

pub(crate) const ROLES: &str = include_str!("../sql/roles.sql");
pub(crate) const ACCESS: &str = include_str!("../sql/access.sql");

pub(crate) const SELFTEST_ROLE: &str = include_str!("../sql/selftest/role.sql");
pub(crate) const SELFTEST_TABLES: &str = include_str!("../sql/selftest/tables.sql");
pub(crate) const SELFTEST_PROBE: &str = include_str!("../sql/selftest/probe.sql");

macro_rules! functions {
    ($($file:literal,)*) => {
        /// The server-side half of loads and commits: a function per key, per expectation and per write, made again
        /// when one changes.
        pub(crate) const FUNCTIONS: &[&str] = &[$(include_str!(concat!("../sql/", $file, ".sql")),)*];
    };
}

functions! {
    "read/lost_copy",
    "read/lost_epoch",
    "read/lost_turn",
    "read/lost_output_box",
    "read/lost_queued",
    "read/lost",
    "expect/project_at",
    "expect/chain_at",
    "expect/lock_boxes",
    "expect/open_box",
    "expect/output_free",
    "expect/open_turns",
    "expect/lock_heads",
    "expect/lock_batches",
    "expect/lock_shelves",
    "expect/all",
    "write/create_project",
    "write/update_project",
    "write/count_deletion",
    "write/put_card",
    "write/delete_card",
    "write/create_box",
    "write/box_entry",
    "write/append_cards",
    "write/rewrite_box",
    "write/seal_box",
    "write/put_snapshot",
    "write/create_head",
    "write/move_head",
    "write/nudge_head",
    "write/heads",
    "write/enqueue",
    "write/update_inbox",
    "write/add_edge",
    "write/create_step",
    "write/update_step",
    "write/open_call",
    "write/update_call",
    "write/put_profile",
    "write/put_resource",
    "write/put_agent",
    "write/add_identity_edge",
    "write/create_batch",
    "write/close_batch",
    "write/add_branch",
    "write/move_branch",
    "write/end_branch",
    "write/branches",
    "write/add_sweep",
    "write/end_sweep",
    "write/add_grant",
    "write/spend",
    "write/pmo",
    "write/create_session",
    "write/update_session",
    "write/put_passage",
    "write/drop_passages",
    "write/passages",
    "write/create_token",
    "write/revoke_token",
    "write/remember_answer",
    "write/seal_audit",
    "write/audit",
    "write/event",
    "write/rest",
    "write/commit",
}
