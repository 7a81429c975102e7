//! What comes next in a run.

use crate::{Act, Process, Round, Team, dynamic, hierarchical, map_reduce, play::Play, react, sequential};

/// What comes after these rounds: another round, or the end.
pub fn next(team: &Team, query: &str, rounds: &[Round]) -> Act {
    let mut play = Play::new(team, query, rounds);
    let end = match team.process {
        Process::Sequential => sequential::run(&mut play),
        Process::Dynamic => dynamic::run(&mut play),
        Process::Hierarchical => hierarchical::run(&mut play),
        Process::React => react::run(&mut play),
        Process::MapReduce => map_reduce::run(&mut play),
    };
    match end {
        Ok(output) => Act::Finish { output },
        Err(act) => act,
    }
}
