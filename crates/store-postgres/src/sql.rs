//! Every statement, one file each. The other backend has files of the same names.

macro_rules! reads {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) const $name: &str = include_str!(concat!("../sql/read/", $file, ".sql"));)*
    };
}

reads! {
    PROJECT = "project";
    PROJECTS = "projects";
    CARD_FACTS = "card_facts";
    BOXES = "boxes";
    MEMBERS = "members";
    TOKEN = "token";
    ANSWER = "answer";
    BOX_HEAD = "box_head";
    BOX_ENTRIES = "box_entries";
    BOX_CARDS = "box_cards";
    CARDS = "cards";
    SCAN_CARDS = "scan_cards";
    SCAN_BOXES = "scan_boxes";
    TOKEN_BY_HASH = "token_by_hash";
    TOKEN_BY_ID = "token_by_id";
    TOKENS = "tokens";
    EVENTS = "events";
    LAST_POSITION = "last_position";
    AUDIT = "audit";
    AUDIT_CHAIN = "audit_chain";
    UNSEALED_REALMS = "unsealed_realms";
    UNSEALED_AUDIT = "unsealed_audit";
    CHAIN_HEAD = "chain_head";
    FORGET_ANSWERS = "forget_answers";
    HEALTH = "health";
}

pub(crate) const COMMIT: &str = "SELECT cw_commit($1, $2, $3, $4, $5)";
pub(crate) const NUMBER_EVENTS: &str = include_str!("../sql/write/number_events.sql");
pub(crate) const SET_TENANT: &str = include_str!("../sql/set_tenant.sql");

pub(crate) const ROLES: &str = include_str!("../sql/roles.sql");
pub(crate) const ACCESS: &str = include_str!("../sql/access.sql");

pub(crate) const SELFTEST_ROLE: &str = include_str!("../sql/selftest/role.sql");
pub(crate) const SELFTEST_TABLES: &str = include_str!("../sql/selftest/tables.sql");
pub(crate) const SELFTEST_PROBE: &str = include_str!("../sql/selftest/probe.sql");

macro_rules! functions {
    ($($file:literal,)*) => {
        /// The server-side half of a commit: a function per expectation and per write, made again when one changes.
        pub(crate) const FUNCTIONS: &[&str] = &[$(include_str!(concat!("../sql/", $file, ".sql")),)*];
    };
}

functions! {
    "expect/project_at",
    "expect/chain_at",
    "expect/open_box",
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
    "write/create_token",
    "write/revoke_token",
    "write/remember_answer",
    "write/seal_audit",
    "write/audit",
    "write/event",
    "write/rest",
    "write/commit",
}
