//! A directory of results, and the plainest program that reads it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use cardwire_handoff::{
    Fitted, LocalFiles, Package, Refusal, Types, fit, keep_complete_index, package_from_directory,
};
use serde_json::{Value, json};

const DIR: &str = "scenarios/bench/execution_outputs/iteration_1";
/// How many samples failed: so many that their files are more than a load takes.
const FAILED: usize = 125;
const TURNS: usize = 8;

pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Writes a directory of so many samples. Not with the library's own writer, which waits for the disk with every file.
    pub(super) fn make(dir: &Path, samples: usize) -> anyhow::Result<Self> {
        let root = dir.join(format!("workspace_{samples}"));
        let place = root.join(DIR);
        for folder in ["samples", "execution_traces", "evaluation_results", "attribution_analysis"] {
            fs::create_dir_all(place.join(folder))?;
        }
        let every = samples / FAILED;
        let failed: Vec<String> = (0..samples).step_by(every).map(name).collect();
        for number in 0..samples {
            let (sample, passed) = (name(number), number % every != 0);
            let turn = |n: usize| json!({ "role": "user", "content": format!("Turn {n} of {sample}. {}", "Tides turn. ".repeat(8)) });
            let turns: Vec<Value> = (0..TURNS).map(turn).collect();
            let put = |path: String, content: Value| fs::write(place.join(path), content.to_string());
            put(
                format!("samples/{sample}.json"),
                json!({ "sample_id": sample, "request": "Three days of leave." }),
            )?;
            put(
                format!("execution_traces/{sample}_trace.json"),
                json!({ "sample_id": sample, "conversation_history": turns }),
            )?;
            put(
                format!("evaluation_results/{sample}_eval.json"),
                json!({ "sample_id": sample, "passed": passed }),
            )?;
            put(
                format!("attribution_analysis/{sample}_attribution.json"),
                json!({ "sample_id": sample, "cause": "a rule" }),
            )?;
        }
        fs::write(place.join("failure_summary.json"), json!({ "failed": failed.len() }).to_string())?;
        fs::write(place.join("layer1_problems_report.json"), report(samples, &failed).to_string())?;
        Ok(Self { root })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The package of it. Its index is shortened, and the complete one kept beside the data, as when it is sent.
    pub(super) fn package(&self, files: &LocalFiles) -> anyhow::Result<Package> {
        let about = json!({
            "timestamp": "2026-01-04T15:30:00", "trigger_reason": "measured",
            "modification_suggestions_summary": ["a", "b", "c"],
        });
        let told = |refusal: Refusal| anyhow!("{}: {}", refusal.code, refusal.message);
        let package = package_from_directory(files, DIR, about).map_err(told)?;
        let (whole, _) = Package::parse(package, None, &Types::built_in()).map_err(told)?;
        let Fitted { package, complete_index, .. } = fit(whole).map_err(told)?;
        if let Some(complete) = complete_index {
            keep_complete_index(&package, &complete, files).map_err(told)?;
        }
        Ok(package)
    }

    /// Reads every file of the four folders.
    pub(super) fn read_all(&self) -> anyhow::Result<(usize, u64)> {
        let (mut files, mut bytes) = (0, 0);
        for folder in ["samples", "execution_traces", "evaluation_results", "attribution_analysis"] {
            for entry in fs::read_dir(self.root.join(DIR).join(folder))? {
                bytes += fs::read(entry?.path())?.len() as u64;
                files += 1;
            }
        }
        Ok((files, bytes))
    }

    /// Reads these files.
    pub(super) fn read(&self, paths: &[String]) -> anyhow::Result<(usize, u64)> {
        let mut bytes = 0;
        for path in paths {
            bytes += fs::read(self.root.join(DIR).join(path))
                .with_context(|| format!("cannot read {path}"))?
                .len() as u64;
        }
        Ok((paths.len(), bytes))
    }
}

fn name(number: usize) -> String {
    format!("BS_{number:05}")
}

fn report(samples: usize, failed: &[String]) -> Value {
    json!({
        "report_version": "1.0", "generated_at": "2026-01-04T15:30:00", "iteration": 1, "total_samples": samples,
        "failed_samples": failed.len(), "failure_rate": failed.len() as f64 / samples as f64,
        "layer1_problems": [{
            "problem_id": "P1", "problem_type": "T", "severity": "high", "title": "t", "description": "d",
            "affected_samples": failed, "affected_count": failed.len(), "evidence_summary": "e",
            "typical_case_id": failed[0],
            "suggested_fix": { "target": "t", "section": "s", "modification": "m", "rationale": "r" },
        }],
        "modification_priority": [
            { "priority": 1, "problem_id": "P1", "impact": "i", "estimated_improvement": "+1%" },
        ],
    })
}
