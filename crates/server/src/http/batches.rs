//! Batches: following them and calling them off (API-08, API-09).

use super::next_cursor;
use crate::{error::Answer, request::Request, respond};
use cardwire_api::{
    batches::{BatchList, BatchOut},
    parse,
};
use cardwire_kernel::store::BatchFilter;
use cardwire_model::BatchStatus;

pub(crate) async fn list(request: Request) -> Answer {
    let (limit, before) = (request.page_limit()?, request.parsed("cursor")?);
    let status = request.text("status").map(|name| {
        let words = BatchStatus::ALL.iter().map(|status| status.as_str());
        parse::word("status", name, BatchStatus::from_name, words)
    });
    let filter = BatchFilter {
        parent_agent: request.parsed("agent_id")?,
        parent_turn: request.parsed("agent_turn_id")?,
        trace_id: request.printable("trace_id")?,
        status: status.transpose()?,
        from: request.time("since")?,
        until: request.time("until")?,
    };
    let page = request.state.kernel.list_batches(request.project()?, &filter, before, limit).await?;
    respond::ok(&BatchList {
        items: page.iter().map(BatchOut::from).collect(),
        next_cursor: next_cursor(&page, limit, |batch| batch.id.to_string()),
    })
}

pub(crate) async fn get(request: Request) -> Answer {
    let batch = request.state.kernel.batch(request.project()?, request.param("batch_id")?).await?;
    respond::ok(&BatchOut::from(&batch))
}

pub(crate) async fn cancel(request: Request) -> Answer {
    let (kernel, caller) = (&request.state.kernel, request.caller()?);
    let batch = kernel.cancel_batch(request.project()?, &caller, request.param("batch_id")?).await?;
    respond::ok(&BatchOut::from(&batch))
}
