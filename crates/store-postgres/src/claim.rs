//! Claims: the one write that finds its own rows.
//!
//! Per project one transaction as the tenant: the oldest claimable rows are locked together with the heads of their
//! agents, `decide` makes a commit of them, and the commit is applied before the locks are given up. It takes two
//! round trips. Locked rows are passed over, so a claim waits for nobody; whoever waits for a claim waits for the
//! two round trips only.
//! Invariant: a project is given to `decide` at most once, and a transaction is ended whatever becomes of the caller.

use crate::{
    commit::Alone,
    error::{pool_error, store_error},
    number::{to_bigint, to_limit},
    rows::{self, Read, number, optional_record, record},
    sql,
    tenant::{Param, across},
};
use cardwire_model::ProjectId;
use cardwire_store::{ClaimQuery, Claimable, CommitError, DecideClaim, StoreError};
use deadpool_postgres::{Client, Pool};
use futures_util::{FutureExt, StreamExt, future::join3, stream};
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::{Row, Statement};

const ROLLBACK: &str = "ROLLBACK";

/// Projects served at once by one claim.
const AT_ONCE: usize = 4;

pub(crate) async fn claim(
    app: &Pool,
    system: &Pool,
    query: &ClaimQuery,
    decide: &DecideClaim,
) -> Result<Vec<ProjectId>, CommitError> {
    if query.limit == 0 {
        return Ok(vec![]);
    }
    if let Some([project]) = query.projects.as_deref() {
        let given = claim_of(app, query, project, query.limit, decide).await?;
        return Ok(if given.applied { vec![project.clone()] } else { vec![] });
    }
    let (mut claimed, mut left, mut failed) = (vec![], query.limit, None);
    let (mut visited, mut after) = (BTreeSet::new(), 0);
    loop {
        let page = match Page::read(system, query, after, left).await {
            Ok(page) => page,
            Err(error) => {
                failed.get_or_insert(error.into());
                break;
            }
        };
        let shares: Vec<_> =
            page.shares.into_iter().filter(|(project, _)| !visited.contains(project)).collect();
        visited.extend(shares.iter().map(|(project, _)| project.clone()));
        let claims = shares.into_iter().map(|(project, share)| async move {
            let given = claim_of(app, query, &project, share, decide).await;
            (project, given)
        });
        let done: Vec<_> = stream::iter(claims).buffer_unordered(AT_ONCE).collect().await;
        for (project, given) in done {
            match given {
                Ok(given) => {
                    left = left.saturating_sub(given.rows);
                    claimed.extend(given.applied.then_some(project));
                }
                // One project's trouble is not the others'.
                Err(error) => _ = failed.get_or_insert(error),
            }
        }
        // What was on the page but held by others may be followed by rows of other projects.
        match page.last {
            Some(last) if left > 0 && !is_away(failed.as_ref()) => after = last,
            Some(_) | None => break,
        }
    }
    match failed {
        Some(error) if claimed.is_empty() => Err(error),
        // What was given must not be lost.
        Some(error) => {
            tracing::warn!(%error, "could not claim in every project");
            Ok(claimed)
        }
        None => Ok(claimed),
    }
}

/// Whether it is no use to go on.
fn is_away(failed: Option<&CommitError>) -> bool {
    matches!(failed, Some(CommitError::Store(StoreError::Unavailable(_) | StoreError::CannotWrite(_))))
}

/// Where claimable rows are: how many of the oldest each project has.
struct Page {
    shares: BTreeMap<ProjectId, usize>,
    /// The place of the last row, when there may be more.
    last: Option<u64>,
}

impl Page {
    async fn read(system: &Pool, query: &ClaimQuery, after: u64, limit: usize) -> Read<Self> {
        let (target, now) = (query.worker_target.as_str(), query.now.micros());
        let (after, rows_wanted) = (to_bigint(after), to_limit(limit));
        let params: [Param<'_>; 4] = [&target, &now, &after, &rows_wanted];
        let rows = match &query.projects {
            None => across(system, sql::CLAIM_PROJECTS, &params).await?,
            Some(projects) => {
                // A project that is named twice has its rows once.
                let names: BTreeSet<&str> = projects.iter().map(ProjectId::as_str).collect();
                let names: Vec<&str> = names.into_iter().collect();
                let params: Vec<Param<'_>> = params.into_iter().chain([&names as Param<'_>]).collect();
                across(system, sql::CLAIM_PROJECTS_AMONG, &params).await?
            }
        };
        let mut shares = BTreeMap::new();
        for row in &rows {
            *shares.entry(rows::name(row, 0, "a project's name")?).or_default() += 1;
        }
        let last = rows.last().filter(|_| rows.len() >= limit);
        let last = last.map(|row| number(row, 1, "a place in the queue")).transpose()?;
        Ok(Self { shares, last })
    }
}

/// What `decide` was given of a project.
struct Given {
    rows: usize,
    /// Its commit was not empty and was applied.
    applied: bool,
}

/// Claims rows of one project.
async fn claim_of(
    app: &Pool,
    query: &ClaimQuery,
    project: &ProjectId,
    limit: usize,
    decide: &DecideClaim,
) -> Result<Given, CommitError> {
    let client = app.get().await.map_err(pool_error)?;
    let statements = Statements::prepare(&client).await?;
    let mut transaction = Transaction { client: &client, is_open: true };
    let held = hold(&client, &statements, query, project, limit).await?;
    let rows = held.len();
    let commit = match held {
        held if held.is_empty() => None,
        held => Some(decide(project, held)).filter(|commit| !commit.is_empty()),
    };
    // From the first poll on, the end of the transaction is on the wire.
    transaction.is_open = false;
    match commit.map(Alone::new) {
        Some(Ok(commit)) => {
            let applied = commit.apply_and_end(&client, &statements.apply, &statements.commit).await?;
            Ok(Given { rows, applied })
        }
        // Waited for: the next claim must find the rows free.
        Some(Err(_)) | None => {
            client.execute(&statements.rollback, &[]).await.map_err(store_error)?;
            Ok(Given { rows, applied: false })
        }
    }
}

/// Opens the transaction and locks rows, in one round trip. Rows that cannot be read do not count.
async fn hold(
    client: &Client,
    statements: &Statements,
    query: &ClaimQuery,
    project: &ProjectId,
    limit: usize,
) -> Read<Vec<Claimable>> {
    let (project, target, now) = (project.as_str(), query.worker_target.as_str(), query.now.micros());
    let mut wanted = limit;
    let tenant: [Param<'_>; 1] = [&project];
    let first = to_limit(wanted);
    let params: [Param<'_>; 4] = [&project, &target, &now, &first];
    let (begun, named, rows) = join3(
        client.execute(&statements.begin, &[]),
        client.execute(&statements.set_tenant, &tenant),
        client.query(&statements.claimable, &params),
    )
    .await;
    let mut rows = begun.and(named).and(rows).map_err(store_error)?;
    loop {
        let readable = |row| rows::readable(claimable(row), project).transpose();
        let mut held: Vec<Claimable> = rows.iter().filter_map(readable).collect::<Read<_>>()?;
        let passed_over = rows.len() - held.len();
        if passed_over == 0 || rows.len() < wanted || held.len() >= limit {
            held.truncate(limit);
            return Ok(held);
        }
        wanted = limit + passed_over;
        let more: [Param<'_>; 4] = [&project, &target, &now, &to_limit(wanted)];
        rows = client.query(&statements.claimable, &more).await.map_err(store_error)?;
    }
}

/// The row, its agent's head and its turn stand side by side.
fn claimable(row: &Row) -> Read<Claimable> {
    Ok(Claimable {
        item: record(row, 0, rows::inbox_item)?,
        head: optional_record(row, 1, rows::head)?,
        turn: optional_record(row, 2, rows::inbox_item)?,
    })
}

struct Statements {
    begin: Statement,
    set_tenant: Statement,
    claimable: Statement,
    apply: Statement,
    commit: Statement,
    rollback: Statement,
}

impl Statements {
    async fn prepare(client: &Client) -> Read<Self> {
        let prepare = async |sql| client.prepare_cached(sql).await.map_err(store_error);
        Ok(Self {
            begin: prepare(sql::BEGIN).await?,
            set_tenant: prepare(sql::SET_TENANT).await?,
            claimable: prepare(sql::CLAIMABLE).await?,
            apply: prepare(sql::COMMIT).await?,
            commit: prepare(sql::END).await?,
            rollback: prepare(ROLLBACK).await?,
        })
    }
}

/// Rolls back when it is dropped before its end was sent, also when the caller goes away.
struct Transaction<'a> {
    client: &'a Client,
    is_open: bool,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // Polled once, it is on the wire; whoever uses the connection next comes behind it.
            let _ = self.client.batch_execute(ROLLBACK).now_or_never();
        }
    }
}
