//! What a member is in a round, and what follows from it for its context (PR-04..PR-07).

use crate::Process;
use serde::{Deserialize, Serialize};

/// A member's part in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Works.
    Agent,
    /// Assigns tasks to the others (PR-03).
    Manager,
    /// Makes the plan of react (PR-05).
    Planner,
    /// Judges how react goes on (PR-05).
    Reflector,
    /// Works on one task of a map_reduce plan (PR-06).
    MapWorker,
    /// Makes the plan of map_reduce (PR-07).
    MapPlanner,
    /// Makes one result of all results (PR-07).
    Reducer,
}

impl Role {
    /// The name that a model's script and people know it by. Both planners have the same.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Manager => "manager",
            Self::Planner | Self::MapPlanner => "planner",
            Self::Reflector => "reflector",
            Self::MapWorker => "worker",
            Self::Reducer => "reducer",
        }
    }

    /// The name of the context process that decides which layers it is shown.
    pub const fn context_process(self, process: Process) -> &'static str {
        match self {
            Self::MapWorker => "map_reduce_worker",
            Self::MapPlanner => "map_reduce_planner",
            Self::Reducer => "map_reduce_reducer",
            Self::Agent | Self::Manager | Self::Planner | Self::Reflector => match process {
                Process::Sequential | Process::Dynamic | Process::Hierarchical | Process::React => {
                    process.as_str()
                }
                // No such role is made; the strictest of the three shows nothing that it should not.
                Process::MapReduce => "map_reduce_worker",
            },
        }
    }

    /// Whether it may call tools. The others are told all they need and answer in plain words (KN-01).
    pub const fn uses_tools(self) -> bool {
        match self {
            Self::Agent | Self::Manager | Self::MapWorker => true,
            Self::Planner | Self::Reflector | Self::MapPlanner | Self::Reducer => false,
        }
    }

    /// Whether it may give work to others. Who works on one task of a map does it alone (PR-06).
    pub const fn hands_on(self) -> bool {
        match self {
            Self::Agent | Self::Manager => true,
            Self::Planner | Self::Reflector | Self::MapPlanner | Self::MapWorker | Self::Reducer => false,
        }
    }

    /// Whether what came of it is part of the conversation. Plans and judgements are the process's own, and results of a map
    /// are told by whoever reduces them (PR-06).
    pub const fn is_remembered(self) -> bool {
        match self {
            Self::Agent | Self::Manager | Self::Reducer => true,
            Self::Planner | Self::Reflector | Self::MapPlanner | Self::MapWorker => false,
        }
    }

    /// Whether it is given contexts and the conversation so far. Planner and reflector are told all they need in their
    /// input (PR-05).
    pub const fn takes_context(self) -> bool {
        match self {
            Self::Planner | Self::Reflector => false,
            Self::Agent | Self::Manager | Self::MapWorker | Self::MapPlanner | Self::Reducer => true,
        }
    }
}
