//! What helpers are told to be, and what is asked of everybody: all texts that this crate writes for models.

pub mod inputs;
pub mod map_planner;
pub mod planner;
pub mod reflector;
