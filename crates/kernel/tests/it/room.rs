//! What a fork asks of the window of its caller at least (OB-03).

use cardwire_context::tokens::Tokenizer;
use cardwire_model::{Batch, BatchStatus, Branch, BranchStatus, CanonicalJson};
use cardwire_protocol::batch::{
    join,
    view::{self, View},
};
use cardwire_testkit::{
    SeededIds,
    fixtures::{batch, branch},
};
use serde_json::json;

/// Or forks would be refused that fit.
#[test]
fn ob_03_the_least_result_is_no_more_than_any_model_counts() {
    let mut ids = SeededIds::new(1);
    for branches in [1, 10, 200, 10_000] {
        let of: Batch = batch(&mut ids, branches);
        let bare = |index| {
            let status = BranchStatus::Success;
            (Branch { status, ..branch(&mut ids, &of, index) }, View::default())
        };
        let all: Vec<_> = (0..branches).map(bare).collect();
        let result = join::result(BatchStatus::Success, &all, 0);
        assert!(result["results"][0].get("output_box_id").is_none(), "no share, no reference");
        let content = json!({
            "status": "success", "after_execution": "suspend", "result": result, "error": null,
        });
        let content = CanonicalJson::from_value(&content).unwrap();
        for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Estimate] {
            let counted = u64::from(tokenizer.count_content(&content));
            assert!(counted >= view::least(branches), "{branches} by {tokenizer:?}: {counted}");
        }
    }
}
