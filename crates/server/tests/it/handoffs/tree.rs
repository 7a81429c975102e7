//! Directories of results, as an execute agent leaves them.

use super::example;
use crate::support::Api;
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// A directory of results.
pub(crate) struct Tree {
    root: PathBuf,
    dir: String,
    samples: Vec<String>,
    pub(crate) report: Value,
}

impl Tree {
    /// The one that the examples of the seed tell of.
    pub(crate) fn seed(api: &Api) -> Self {
        let dir = "scenarios/leave_application/execution_outputs/iteration_12";
        let tree = Self {
            root: api.workspace().join(dir),
            dir: dir.to_owned(),
            samples: vec!["BS_MT_001".to_owned(), "BS_MT_003".to_owned()],
            report: example("layer1_problems_report"),
        };
        let design = api.workspace().join("scenarios/leave_application");
        tree.fill();
        for name in ["unified_scenario_design.yaml", "BusinessRules.md", "format_specifications.json"] {
            fs::write(design.join(name), "x").unwrap();
        }
        tree
    }

    /// One with so many samples, which all failed.
    pub(crate) fn of(api: &Api, dir: &str, samples: usize) -> Self {
        let iteration: u32 = dir.rsplit_once('_').unwrap().1.parse().unwrap();
        let tree = Self {
            root: api.workspace().join(dir),
            dir: dir.to_owned(),
            samples: (0..samples).map(|n| format!("S{n:03}")).collect(),
            report: json!({
                "report_version": "1.0", "generated_at": "2026-01-04T15:30:00", "iteration": iteration,
                "total_samples": samples, "failed_samples": samples, "failure_rate": 1,
                "layer1_problems": [{
                    "problem_id": "P1", "problem_type": "T", "severity": "high", "title": "t", "description": "d",
                    "affected_samples": ["S000"], "affected_count": 1, "evidence_summary": "e",
                    "typical_case_id": "S000",
                    "suggested_fix": { "target": "t", "section": "s", "modification": "m", "rationale": "r" },
                }],
                "modification_priority": [
                    { "priority": 1, "problem_id": "P1", "impact": "i", "estimated_improvement": "+1%" },
                ],
            }),
        };
        tree.fill();
        tree
    }

    fn fill(&self) {
        for sample in &self.samples {
            let [text, trace, evaluation, attribution] = paths(sample);
            self.write(&text, &json!({ "sample_id": sample, "text": "卡片" }));
            let turns: Vec<Value> =
                (0..6).map(|n| json!({ "role": "user", "content": format!("turn {n}") })).collect();
            self.write(&trace, &json!({ "sample_id": sample, "conversation_history": turns }));
            self.write(&evaluation, &json!({ "sample_id": sample, "passed": false }));
            self.write(&attribution, &json!({ "sample_id": sample, "cause": "rule", "turn_index": 3 }));
        }
        self.write("failure_summary.json", &json!({ "failed": self.samples.len() }));
        self.write("layer1_problems_report.json", &self.report);
    }

    /// The package that tells of it.
    pub(crate) fn package(&self) -> Value {
        let entry = |(n, sample): (usize, &String)| {
            let [text, trace, evaluation, attribution] = paths(sample);
            let priority = ["low", "medium", "high"][n % 3];
            json!({
                "sample_id": sample, "sample_path": text, "trace_path": trace, "evaluation_path": evaluation,
                "attribution_path": attribution, "failure_type": "Layer1_BusinessRule", "conversation_turns": 6,
                "checkers_failed": ["c"], "priority": priority,
            })
        };
        json!({
            "handoff_type": "execute_to_init", "timestamp": "2026-01-04T15:30:00",
            "execution_output_dir": self.dir, "trigger_reason": "too many failures", "iteration_summary": {},
            "failure_samples_index": self.samples.iter().enumerate().map(entry).collect::<Vec<_>>(),
            "layer1_problems_report_path": "layer1_problems_report.json",
            "modification_suggestions_summary": ["a", "b", "c"],
        })
    }

    pub(crate) fn write(&self, path: &str, content: &Value) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content.to_string()).unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn read(&self, path: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.root.join(path)).unwrap()).unwrap()
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }
}

/// Where the parts of a sample are.
fn paths(sample: &str) -> [String; 4] {
    [
        format!("samples/{sample}.json"),
        format!("execution_traces/{sample}_trace.json"),
        format!("evaluation_results/{sample}_eval.json"),
        format!("attribution_analysis/{sample}_attribution.json"),
    ]
}
