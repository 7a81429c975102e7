//! The process modes, and which layers each of them is shown (CC-08, CC-09, PR-04, PR-06, PR-07).
//!
//! `enable_share_context` is the only setting; what a process forbids, no setting allows.

use cardwire_model::Layer;

/// In which role of which process a model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Process {
    /// One agent after the other.
    Sequential,
    /// Agents hand over to each other.
    Dynamic,
    /// A manager and those it assigns tasks to.
    Hierarchical,
    /// Plan, execute, reflect.
    React,
    /// Works on one task of a map_reduce plan.
    MapReduceWorker,
    /// Makes the plan.
    MapReducePlanner,
    /// Makes one result of all results.
    MapReduceReducer,
}

impl Process {
    /// All of them, in order.
    pub const ALL: [Self; 7] = [
        Self::Sequential,
        Self::Dynamic,
        Self::Hierarchical,
        Self::React,
        Self::MapReduceWorker,
        Self::MapReducePlanner,
        Self::MapReduceReducer,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Dynamic => "dynamic",
            Self::Hierarchical => "hierarchical",
            Self::React => "react",
            Self::MapReduceWorker => "map_reduce_worker",
            Self::MapReducePlanner => "map_reduce_planner",
            Self::MapReduceReducer => "map_reduce_reducer",
        }
    }

    /// By any of its names (PR-09). `map_reduce` alone is its worker, the strictest of the three roles; `agent` is
    /// whichever process shows an agent everything.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "agent" => Some(Self::Sequential),
            "map_reduce" | "mapreduce" | "mapreduce_worker" => Some(Self::MapReduceWorker),
            "mapreduce_planner" => Some(Self::MapReducePlanner),
            "mapreduce_reducer" => Some(Self::MapReduceReducer),
            name => Self::ALL.into_iter().find(|process| process.as_str() == name),
        }
    }

    /// Whether the conversation so far is shown.
    pub const fn takes_checkpoint(self) -> bool {
        match self {
            Self::Sequential | Self::Dynamic | Self::Hierarchical | Self::React => true,
            Self::MapReduceWorker | Self::MapReducePlanner | Self::MapReduceReducer => false,
        }
    }

    /// Whether a summary made in this role is kept (W-16): workers run side by side, and none of the three roles
    /// has seen the conversation that the summary would stand for.
    pub const fn persists_compression(self) -> bool {
        self.takes_checkpoint()
    }

    /// Whether the model may call tools in this role (KN-01).
    pub const fn uses_tools(self) -> bool {
        match self {
            Self::Sequential | Self::Dynamic | Self::Hierarchical | Self::React | Self::MapReduceWorker => {
                true
            }
            Self::MapReducePlanner | Self::MapReduceReducer => false,
        }
    }
}

/// Which layers are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowed {
    /// Fixed constraints.
    pub framework: bool,
    /// What came of earlier sessions.
    pub experience: bool,
    /// What was found in documents.
    pub knowledge: bool,
    /// What is to be done.
    pub todo: bool,
    /// What was compacted away.
    pub compression: bool,
    /// Blocks of users' own providers.
    pub extra: bool,
    /// The conversation so far.
    pub checkpoint: bool,
}

impl Allowed {
    /// Whether this layer is shown. An agent's own prompt, what is asked and what the turn itself said always are.
    pub const fn shows(&self, layer: Layer) -> bool {
        match layer {
            Layer::Framework => self.framework,
            Layer::Experience => self.experience,
            Layer::Knowledge => self.knowledge,
            Layer::Todo => self.todo,
            Layer::Compression => self.compression,
            Layer::Extra => self.extra,
            Layer::Checkpoint => self.checkpoint,
            Layer::SystemPrompt | Layer::Query | Layer::Turn | Layer::Tools => true,
        }
    }
}

/// What a process shows, given the switch (CC-09).
pub const fn allowed(process: Process, enable_share_context: bool) -> Allowed {
    let shared = enable_share_context;
    let nothing = Allowed {
        framework: false,
        experience: false,
        knowledge: false,
        todo: false,
        compression: false,
        extra: false,
        checkpoint: process.takes_checkpoint(),
    };
    match process {
        Process::Sequential | Process::Dynamic | Process::Hierarchical | Process::React => Allowed {
            framework: shared,
            experience: shared,
            knowledge: shared,
            todo: shared,
            compression: shared,
            extra: shared,
            ..nothing
        },
        Process::MapReduceWorker => Allowed { framework: true, knowledge: true, ..nothing },
        Process::MapReducePlanner | Process::MapReduceReducer => {
            Allowed { framework: true, experience: shared, knowledge: shared, ..nothing }
        }
    }
}

#[cfg(test)]
mod tests;
