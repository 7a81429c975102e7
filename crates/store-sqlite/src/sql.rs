//! The statements, one file each, under the names the other backend uses too.

macro_rules! statements {
    ($($name:ident = $path:literal;)*) => {
        $(pub(crate) const $name: &str = include_str!(concat!("../sql/", $path, ".sql"));)*
    };
}

statements! {
    PROJECT = "read/project";
    CARD_FACTS = "read/card_facts";
    BOXES = "read/boxes";
    MEMBERS = "read/members";
    TOKEN = "read/token";
    ANSWER = "read/answer";
    BOX_HEAD = "read/box_head";
    BOX_ENTRIES = "read/box_entries";
    BOX_CARDS = "read/box_cards";
    CARDS = "read/cards";
    SCAN_CARDS = "read/scan_cards";
    SCAN_BOXES = "read/scan_boxes";
    PROJECTS = "read/projects";
    TOKEN_BY_HASH = "read/token_by_hash";
    TOKEN_BY_ID = "read/token_by_id";
    TOKENS = "read/tokens";
    EVENTS = "read/events";
    LAST_POSITION = "read/last_position";
    AUDIT = "read/audit";
    AUDIT_CHAIN = "read/audit_chain";
    UNSEALED_REALMS = "read/unsealed_realms";
    UNSEALED_AUDIT = "read/unsealed_audit";
    CHAIN_HEAD = "read/chain_head";
    FORGET_ANSWERS = "read/forget_answers";
    HEALTH = "read/health";
    EXPECT_OPEN_BOX = "expect/open_box";
    EXPECT_PROJECT_AT = "expect/project_at";
    EXPECT_CHAIN_AT = "expect/chain_at";
    PUT_CARD = "write/put_card";
    DELETE_CARD = "write/delete_card";
    COUNT_DELETION = "write/count_deletion";
    CREATE_BOX = "write/create_box";
    BOX_ENTRY = "write/box_entry";
    APPEND_CARDS = "write/append_cards";
    REWRITE_BOX = "write/rewrite_box";
    SEAL_BOX = "write/seal_box";
    CREATE_PROJECT = "write/create_project";
    UPDATE_PROJECT = "write/update_project";
    CREATE_TOKEN = "write/create_token";
    REVOKE_TOKEN = "write/revoke_token";
    REMEMBER_ANSWER = "write/remember_answer";
    SEAL_AUDIT = "write/seal_audit";
    WRITE_EVENT = "write/event";
    WRITE_AUDIT = "write/audit";
}
