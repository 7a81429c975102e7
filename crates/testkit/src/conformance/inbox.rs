//! Inbox rows: the durable queue (DP-08, DP-14, DP-15).

use super::case::{Case, Check, assert_pages, commit, enqueue, update_inbox};
use crate::fixtures::{agent_id, at, channel, ended, full_item, report_item, turn_item, worker_target};
use cardwire_model::{
    Conflict, InboxItem, InboxKind, InboxStatus, TaskStatus, TurnEpoch, limits::NAME_CHARS,
};
use cardwire_store::{RowFilter, Store};
use std::{cmp::Reverse, sync::Arc};

/// DP-08: a row is what was put into the inbox, at a place that the store gives.
pub async fn an_inbox_row_comes_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let box_id = case.ids.card_box();
    let mut rows = vec![full_item(&mut case.ids, "a"), turn_item(&mut case.ids, "b", box_id)];
    for kind in InboxKind::ALL {
        let item = full_item(&mut case.ids, "c");
        rows.push(InboxItem { kind: *kind, ..item });
    }
    for status in InboxStatus::ALL {
        rows.push(InboxItem { status: *status, ..full_item(&mut case.ids, "d") });
    }
    for status in TaskStatus::ALL {
        let mut end = ended(&mut case.ids, status);
        (end.error, end.error_code) = (None, None);
        rows.push(InboxItem { ended: Some(end), ..full_item(&mut case.ids, "e") });
    }
    for row in rows {
        case.write([enqueue(&InboxItem { seq: 1_000_000, ..row.clone() })]).await;
        let of_turn = RowFilter { turn_id: Some(row.turn_id), ..RowFilter::default() };
        let found = case.store.inbox(&case.project, &of_turn, None, 9).await.unwrap();
        let seq = found[0].seq;
        assert_eq!(found, [InboxItem { seq, ..row.clone() }]);
        let of_turn = case.store.turn(&case.project, row.turn_id).await.unwrap();
        assert_eq!(of_turn, (row.kind == InboxKind::Turn).then_some(InboxItem { seq, ..row }));
    }
}

/// DP-14, WD-10: a damaged row is read as it is, so that it can be put away.
pub async fn a_damaged_row_is_read_as_it_is(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let long = "长".repeat(NAME_CHARS);
    for payload in ["", "{", "[]", "null", "{\"a\": 1 , \"a\":2}\n", "{}{}", "not JSON 😀 \\u0000", &long] {
        let (payload, output_box) = (payload.to_owned(), None);
        let box_id = case.ids.card_box();
        let row = InboxItem {
            payload,
            output_box,
            channel: None,
            depth: None,
            trace_id: None,
            ..turn_item(&mut case.ids, "a", box_id)
        };
        let [found] = case.enqueue([row.clone()]).await;
        assert_eq!(found, InboxItem { seq: found.seq, ..row });
    }
}

/// DP-15: places rise with time, within a commit, from commit to commit and over all projects.
pub async fn places_in_the_queue_rise_with_time(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let mut expected = vec![];
    for round in 0..9 {
        let project = if round % 3 == 1 { &other } else { &case.project };
        let output_box = case.ids.card_box();
        let items: Vec<_> = (0..=round % 3).map(|_| turn_item(&mut case.ids, "a", output_box)).collect();
        expected.extend(items.iter().map(|item| item.id));
        // A refused commit may use up places, nothing more.
        let taken = [enqueue(&items[0]), enqueue(&items[0])];
        case.refuse(commit(project, taken), Conflict::Inbox).await;
        case.apply(commit(project, items.iter().map(enqueue))).await;
    }
    let mut rows = vec![];
    for project in [&case.project, &other] {
        rows.extend(case.store.inbox(project, &RowFilter::default(), None, 100).await.unwrap());
    }
    rows.sort_by_key(|row| row.seq);
    assert!(rows[0].seq > 0 && rows.windows(2).all(|pair| pair[0].seq < pair[1].seq), "each its own place");
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), expected);
}

/// NF-05: an inbox id names one row and a turn id one turn; reports of a turn carry its id.
pub async fn a_taken_inbox_id_or_turn_id_conflicts(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let turn = case.turn("a").await;
    let same_turn = InboxItem { id: case.ids.inbox(), ..full_item(&mut case.ids, "b") };
    let same_turn = InboxItem { turn_id: turn.turn_id, ..same_turn };
    case.refuse_write(enqueue(&same_turn), Conflict::Inbox).await;
    let report = report_item(&mut case.ids, &turn, InboxKind::ToolResult, "call_1");
    case.refuse_write(enqueue(&InboxItem { id: turn.id, ..report.clone() }), Conflict::Inbox).await;
    let twice = [enqueue(&report), enqueue(&report)];
    case.refuse(case.commit(twice), Conflict::Inbox).await;

    let stop = report_item(&mut case.ids, &turn, InboxKind::Stop, "call_1");
    let again = report_item(&mut case.ids, &turn, InboxKind::ToolResult, "call_1");
    case.write([&report, &stop, &again].map(enqueue)).await;
    assert_eq!(case.store.turn(&case.project, turn.turn_id).await.unwrap(), Some(turn.clone()));
    // A report may even come before its turn.
    let early = full_item(&mut case.ids, "c");
    let late = report_item(&mut case.ids, &early, InboxKind::Timeout, "call_1");
    case.write([enqueue(&late), enqueue(&early)]).await;
    case.apply(commit(&other, [enqueue(&turn)])).await;
}

/// DP-15, NF-05: a row changes from the state it was seen in, or not at all.
pub async fn a_row_changes_only_from_the_expected_status(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let item = full_item(&mut case.ids, "a");
    let [mut now] = case.enqueue([item]).await;
    for to in InboxStatus::ALL {
        let mut new = InboxItem { id: now.id, status: *to, ..full_item(&mut case.ids, "other") };
        new.epoch = Some(TurnEpoch::new(*to as u64));
        for from in InboxStatus::ALL.iter().filter(|from| **from != now.status) {
            case.refuse_write(update_inbox(*from, &new), Conflict::Inbox).await;
        }
        case.write([update_inbox(now.status, &new)]).await;
        // What came with the row is left alone.
        now = InboxItem {
            status: new.status,
            epoch: new.epoch,
            worker_id: new.worker_id,
            token_hash: new.token_hash,
            processed_at: new.processed_at,
            retry_count: new.retry_count,
            next_retry_at: new.next_retry_at,
            reason: new.reason,
            ended: new.ended,
            ..now
        };
        assert_eq!(case.store.turn(&case.project, now.turn_id).await.unwrap(), Some(now.clone()));
    }
    let cleared = InboxItem {
        status: InboxStatus::Pending,
        epoch: None,
        worker_id: None,
        token_hash: None,
        processed_at: None,
        retry_count: 0,
        next_retry_at: None,
        reason: None,
        ended: None,
        ..now.clone()
    };
    case.write([update_inbox(now.status, &cleared)]).await;
    assert_eq!(case.store.turn(&case.project, now.turn_id).await.unwrap(), Some(cleared.clone()));
    let absent = InboxItem { id: case.ids.inbox(), ..cleared };
    case.refuse_write(update_inbox(InboxStatus::Pending, &absent), Conflict::Inbox).await;
}

/// API-08: rows newest first, by every part of a filter and by several at once.
pub async fn inbox_rows_are_listed_newest_first_by_every_filter(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut rows = vec![];
    for number in 0..8_usize {
        let output_box = case.ids.card_box();
        let turn = InboxItem {
            correlation_id: format!("corr-{}", number % 2),
            trace_id: (number % 4 != 3).then(|| format!("trace-{}", number % 2)),
            status: InboxStatus::ALL[number % 3],
            channel: Some(channel("team-1")),
            worker_target: worker_target("other"),
            // Not in the order in which they come.
            created_at: at(100 - number as i64 / 2),
            ..turn_item(&mut case.ids, ["a", "b", "A"][number % 3], output_box)
        };
        let report = report_item(&mut case.ids, &turn, InboxKind::ALL[1 + number % 3], "call_1");
        rows.extend(case.enqueue([turn, report]).await);
    }
    rows.reverse();
    let (some, none) = (rows[5].clone(), RowFilter::default());
    let absent = case.ids.turn();
    let checks: Vec<Check<InboxItem>> = vec![
        (none.clone(), Box::new(|_| true)),
        (
            RowFilter { agent_id: Some(agent_id("a")), ..none.clone() },
            Box::new(|row| row.agent_id.as_str() == "a"),
        ),
        (
            RowFilter { turn_id: Some(some.turn_id), ..none.clone() },
            Box::new(move |row| row.turn_id == some.turn_id),
        ),
        (RowFilter { turn_id: Some(absent), ..none.clone() }, Box::new(|_| false)),
        (
            RowFilter { trace_id: Some("trace-1".to_owned()), ..none.clone() },
            Box::new(|row| row.trace_id.as_deref() == Some("trace-1")),
        ),
        (
            RowFilter { correlation_id: Some("call_1".to_owned()), ..none.clone() },
            Box::new(|row| row.kind != InboxKind::Turn),
        ),
        (
            RowFilter { inbox_status: Some(InboxStatus::Queued), ..none.clone() },
            Box::new(|row| row.status == InboxStatus::Queued),
        ),
        (RowFilter { turns_only: true, ..none.clone() }, Box::new(|row| row.kind == InboxKind::Turn)),
        // At or after, and before.
        (RowFilter { from: Some(at(98)), ..none.clone() }, Box::new(|row| row.created_at >= at(98))),
        (RowFilter { until: Some(at(98)), ..none.clone() }, Box::new(|row| row.created_at < at(98))),
        (
            RowFilter {
                agent_id: Some(agent_id("b")),
                trace_id: Some("trace-1".to_owned()),
                correlation_id: Some("corr-1".to_owned()),
                inbox_status: Some(InboxStatus::ALL[1]),
                turns_only: true,
                from: Some(at(97)),
                until: Some(at(101)),
                ..none.clone()
            },
            Box::new(|row| row.created_at == at(100) && row.correlation_id == "corr-1"),
        ),
        // What rows of an inbox do not have is ignored.
        (
            RowFilter {
                primitive: Some(cardwire_model::Primitive::Join),
                phase: Some(cardwire_model::EdgePhase::Request),
                ..none
            },
            Box::new(|_| true),
        ),
    ];
    for (filter, wanted) in checks {
        let mut expected: Vec<_> = rows.iter().filter(|row| wanted(row)).cloned().collect();
        expected.sort_by_key(|row| Reverse(row.id));
        assert_pages(
            &format!("{filter:?}"),
            &expected,
            |row| row.id,
            async |before, limit| case.store.inbox(&case.project, &filter, before, limit).await,
        )
        .await;
    }
}
