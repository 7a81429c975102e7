//! Full-text search over 100,000 sections of documents.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{bail, ensure};
use cardwire_kernel::protocol::knowledge;
use cardwire_kernel::{Document, Done, Kernel, KnowledgeQuery};
use cardwire_model::Namespace;

use super::AREA;
use crate::database::Database;
use crate::measure::Latencies;
use crate::report::{Line, Report};
use crate::world::World;

const DOCUMENTS: usize = 100;
const SECTIONS: usize = 1_000;
const QUERIES: usize = 200;

pub(super) async fn run(
    database: &dyn Database,
    kernel: Arc<Kernel>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let world = World::create(kernel, "library").await?;
    let begun = Instant::now();
    for number in 0..DOCUMENTS {
        let sections = (0..SECTIONS).map(|section| section_text(number * SECTIONS + section));
        let document = Document {
            namespace: Namespace::default(),
            source_id: format!("book-{number}.md"),
            title: None,
            text: sections.collect::<Vec<_>>().join("\n\n"),
        };
        let taken = world.kernel.take_in(&world.project, world.caller(), document, None).await?;
        let Done::Fresh(taken) = taken else { bail!("a document was known by its key") };
        ensure!(taken.parts >= SECTIONS, "{} parts", taken.parts);
    }
    eprintln!("bench: search: {} sections taken in within {:.1?}", DOCUMENTS * SECTIONS, begun.elapsed());
    database.settle().await?;
    let mut line = |case: &str, latencies: &Latencies| {
        report.lines.push(Line {
            area: AREA,
            case: case.to_owned(),
            store: database.name(),
            value: latencies.percentile_ms(0.5).unwrap_or_default() * 1e3,
            unit: "µs",
            p50_ms: latencies.percentile_ms(0.5),
            p99_ms: latencies.percentile_ms(0.99),
            n: latencies.len(),
            ..Line::default()
        });
    };
    // A name that one section in 100,000 has, and words that every hundredth has.
    for (case, text) in
        [("search_rare", rare as fn(usize) -> String), ("search_common", common as fn(usize) -> String)]
    {
        let mut latencies = Latencies::default();
        for number in 0..QUERIES {
            let query = KnowledgeQuery {
                shelf: knowledge::shelf(&Namespace::default()),
                text: text(number),
                method: None,
                top_k: 8,
                score_threshold: None,
            };
            let begun = Instant::now();
            let found = world.kernel.search_sections(&world.project, &query).await?;
            latencies.add(begun.elapsed());
            ensure!(!found.sections.is_empty(), "{} finds nothing", query.text);
        }
        line(case, &latencies);
    }
    Ok(())
}

fn section_text(number: usize) -> String {
    let (topic, place) = (number % 97, number % 101);
    format!(
        "## Entry {number}\n\nThe keeper of lamp{number} wrote about topic{topic} at harbour{place}: the wind, the \
         tide and the boats, and what 海港{topic}号 had told them before night."
    )
}

fn rare(number: usize) -> String {
    format!("What did the keeper of lamp{} write?", number * 499 + 7)
}

fn common(number: usize) -> String {
    format!("topic{} harbour{}", number % 97, number % 101)
}
