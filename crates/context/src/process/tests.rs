//! The allow-lists as tables.

use super::*;

const AGENTS: [Process; 4] = [Process::Sequential, Process::Dynamic, Process::Hierarchical, Process::React];

/// The layers among the messages; tools stand beside them.
fn shown(process: Process, share: bool) -> Vec<&'static str> {
    let allowed = allowed(process, share);
    Layer::ALL
        .iter()
        .filter(|layer| **layer != Layer::Tools)
        .filter(|layer| allowed.shows(**layer))
        .map(|layer| layer.as_str())
        .collect()
}

/// PR-09
#[test]
fn a_process_is_known_by_all_of_its_names_and_no_other() {
    for (name, expected) in [
        ("sequential", Some(Process::Sequential)),
        ("agent", Some(Process::Sequential)),
        ("dynamic", Some(Process::Dynamic)),
        ("hierarchical", Some(Process::Hierarchical)),
        ("react", Some(Process::React)),
        ("map_reduce", Some(Process::MapReduceWorker)),
        ("mapreduce", Some(Process::MapReduceWorker)),
        ("map_reduce_worker", Some(Process::MapReduceWorker)),
        ("mapreduce_worker", Some(Process::MapReduceWorker)),
        ("map_reduce_planner", Some(Process::MapReducePlanner)),
        ("mapreduce_planner", Some(Process::MapReducePlanner)),
        ("map_reduce_reducer", Some(Process::MapReduceReducer)),
        ("mapreduce_reducer", Some(Process::MapReduceReducer)),
        ("", None),
        ("React", None),
        ("map_reduce_", None),
        ("map_reduce_manager", None),
        ("chaotic", None),
    ] {
        assert_eq!(Process::parse(name), expected, "{name}");
    }
    for process in Process::ALL {
        assert_eq!(Process::parse(process.as_str()), Some(process));
    }
}

/// CC-08, CC-09, PR-04
#[test]
fn an_agent_sees_every_layer_when_they_are_shared() {
    for process in AGENTS {
        let all: Vec<_> =
            Layer::ALL.iter().filter(|layer| **layer != Layer::Tools).map(|layer| layer.as_str()).collect();
        assert_eq!(shown(process, true), all, "{process:?}");
    }
}

/// CC-08: messages are the system prompt, the checkpoint and the query.
#[test]
fn an_agent_sees_no_block_at_all_when_they_are_not_shared() {
    for process in AGENTS {
        assert_eq!(shown(process, false), ["system_prompt", "checkpoint", "query", "turn"], "{process:?}");
    }
}

/// CC-09, PR-06, X-15
#[test]
fn a_worker_sees_the_framework_and_knowledge_whatever_the_switch_says() {
    for share in [true, false] {
        let expected = ["system_prompt", "framework", "knowledge", "query", "turn"];
        assert_eq!(shown(Process::MapReduceWorker, share), expected, "{share}");
    }
}

/// CC-09, PR-07
#[test]
fn planner_and_reducer_see_experience_and_knowledge_only_when_they_are_shared() {
    for process in [Process::MapReducePlanner, Process::MapReduceReducer] {
        let shared = ["system_prompt", "framework", "experience", "knowledge", "query", "turn"];
        assert_eq!(shown(process, true), shared, "{process:?}");
        assert_eq!(shown(process, false), ["system_prompt", "framework", "query", "turn"], "{process:?}");
    }
}

/// PR-06, PR-07, W-16
#[test]
fn map_reduce_neither_reads_nor_compacts_the_conversation() {
    for process in Process::ALL {
        let agent = AGENTS.contains(&process);
        assert_eq!(process.takes_checkpoint(), agent, "{process:?}");
        assert_eq!(process.persists_compression(), agent, "{process:?}");
    }
}
