//! The processes by which a team may work (PR-01..PR-09).

/// How the members of a team work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Process {
    /// One member after the other.
    Sequential,
    /// Members hand over to each other.
    Dynamic,
    /// A manager and those it assigns tasks to.
    Hierarchical,
    /// Plan, execute, reflect.
    React,
    /// Many tasks at once, and one member that makes one result of theirs.
    MapReduce,
}

impl Process {
    /// All of them, in order.
    pub const ALL: [Self; 5] =
        [Self::Sequential, Self::Dynamic, Self::Hierarchical, Self::React, Self::MapReduce];

    /// The name in a team's document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Dynamic => "dynamic",
            Self::Hierarchical => "hierarchical",
            Self::React => "react",
            Self::MapReduce => "map_reduce",
        }
    }

    /// By any of its names (PR-09).
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "mapreduce" => Some(Self::MapReduce),
            name => Self::ALL.into_iter().find(|process| process.as_str() == name),
        }
    }
}
