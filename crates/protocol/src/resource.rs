//! Documents under names: tools, recipes, teams (API-07). Only operators write them (PM-01).

pub mod delete;
pub mod put;

use cardwire_model::{Invalid, ResourceName};

/// Names that mean something by themselves (PM-20).
pub const RESERVED: [&str; 6] =
    ["delegate_async", "launch_principal", "ask_expert", "fork_join", "provision_agent", "pack_context"];

fn check_name(name: &ResourceName) -> Result<(), Invalid> {
    let reserved = RESERVED.iter().any(|taken| name.as_str().eq_ignore_ascii_case(taken));
    if reserved { Err(Invalid::field("name", format!("{name} is a reserved name"))) } else { Ok(()) }
}
