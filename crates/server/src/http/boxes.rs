//! Boxes: API-01..API-03, and writing them (API-17).

use super::{distinct, remembered};
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    boxes::{
        AppendIn, BatchBoxOut, BoxBatchIn, BoxBatchOut, BoxChangeOut, BoxIn, BoxOut, CardProvenance, ForkIn,
        ProvenanceOut, RewriteIn,
    },
    cards::CardOut,
    parse,
};
use cardwire_kernel::{
    BoxView, Done, KernelError,
    protocol::{
        Rejection,
        facts::{
            self,
            append::{Append, Appended},
            create_box::Created,
            rewrite_box::RewriteBox,
        },
    },
};
use cardwire_model::{BoxHead, BoxId, CardId, Generation, Invalid, limits};

pub(crate) async fn get(request: Request) -> Answer {
    let generation = match request.integer("generation")? {
        None => None,
        Some(number) => {
            let number =
                u32::try_from(number).map_err(|_| Invalid::field("generation", "must be 1 or more"))?;
            Some(Generation::new(number))
        }
    };
    let view =
        request.state.kernel.view_box(request.project()?, request.param("box_id")?, generation).await?;
    respond::ok(&BoxOut::new(&view))
}

pub(crate) async fn cards(request: Request) -> Answer {
    let (project, box_id) = (request.project()?, request.param("box_id")?);
    let limit = request.limit(limits::HYDRATE_DEFAULT, limits::HYDRATE_MAX)?;
    let include_deleted = request.flag("include_deleted")?.unwrap_or(false);
    let (_, tail) = request.state.kernel.box_tail(project, box_id, limit, include_deleted).await?;
    // A list has no room for what is not in it.
    let cards = tail.whole()?;
    respond::ok(&cards.iter().map(|card| CardOut::new(project, card)).collect::<Vec<_>>())
}

pub(crate) async fn provenance(request: Request) -> Answer {
    let view = request.state.kernel.view_box(request.project()?, request.param("box_id")?, None).await?;
    respond::ok(&ProvenanceOut {
        box_id: view.head.box_id.to_string(),
        handover_hash: view.head.handover_hash.map(|hash| hash.to_string()),
        cards: view.provenance().iter().map(CardProvenance::new).collect(),
    })
}

pub(crate) async fn batch(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let body: BoxBatchIn = request.body().await?;
    let asked: Vec<BoxId> = parse::list("box_ids", &body.box_ids)?;
    let include_deleted = request.flag("include_deleted")?.unwrap_or(false);
    let limit = body.limit.map_or(limits::HYDRATE_DEFAULT, |limit| usize::try_from(limit).unwrap_or(1));
    let mut out = BoxBatchOut::default();
    for box_id in distinct("box_ids", &asked)? {
        let read = if body.hydrate.unwrap_or(false) {
            let read = kernel.box_tail(project, box_id, limit, include_deleted).await;
            read.map(|(view, tail)| (view, Some(tail)))
        } else {
            kernel.view_box(project, box_id, None).await.map(|view| (view, None))
        };
        let (view, tail) = match read {
            Ok(read) => read,
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => {
                out.missing_box_ids.push(box_id.to_string());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(tail) = &tail {
            add(&mut out.missing_card_ids, &tail.missing);
            add(&mut out.damaged_card_ids, &tail.damaged);
        }
        out.boxes.push(BatchBoxOut {
            box_id: box_id.to_string(),
            card_ids: view.card_ids().map(|id| id.to_string()).collect(),
            hydrated_cards: tail
                .map(|tail| tail.cards.iter().map(|card| CardOut::new(project, card)).collect()),
        });
    }
    respond::ok(&out)
}

/// Each once.
fn add(ids: &mut Vec<String>, more: &[CardId]) {
    for id in more.iter().map(ToString::to_string) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
}

pub(crate) async fn create(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let body: BoxIn = request.body().await?;
    let named = body.box_id.as_deref().map(|id| parse::one("box_id", id)).transpose()?;
    let ids = card_ids(&body.card_ids)?;
    let remember = request.remember({
        let ids = ids.clone();
        move |created: &Created| match created {
            Created::New(head) => remembered(StatusCode::CREATED, &new_box(head, &ids)),
            Created::Existing(_) => None,
        }
    })?;
    match kernel.create_box(project, &request.caller()?, named, &ids, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(Created::New(head)) => respond::created(&new_box(&head, &ids)),
        Done::Fresh(Created::Existing(id)) => {
            let view = kernel.view_box(project, id, None).await?;
            respond::ok(&BoxOut { idempotent: true, ..BoxOut::new(&view) })
        }
    }
}

/// A box that was made of these cards just now.
fn new_box(head: &BoxHead, ids: &[CardId]) -> BoxOut {
    BoxOut::with_cards(head, facts::distinct(ids).iter().map(ToString::to_string).collect())
}

pub(crate) async fn append(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let body: AppendIn = request.body().await?;
    let command = Append {
        project: project.clone(),
        box_id: request.param("box_id")?,
        card_ids: card_ids(&body.card_ids)?,
        expected_len: body.expected_len,
    };
    let change = |box_id: BoxId, done: &Appended| BoxChangeOut {
        box_id: box_id.to_string(),
        generation: done.generation.get(),
        len: done.len,
        added: done.added.iter().map(ToString::to_string).collect(),
        sealed: false,
    };
    let box_id = command.box_id;
    let remember =
        request.remember(move |done: &Appended| remembered(StatusCode::OK, &change(box_id, done)))?;
    match kernel.append(&request.caller()?, &command, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(done) => respond::ok(&change(box_id, &done)),
    }
}

pub(crate) async fn rewrite(request: Request) -> Answer {
    let command = RewriteBox {
        project: request.project()?.clone(),
        box_id: request.param("box_id")?,
        card_ids: card_ids(&request.body::<RewriteIn>().await?.card_ids)?,
    };
    let ids = command.card_ids.clone();
    let remember = request.remember({
        let ids = ids.clone();
        move |head: &BoxHead| remembered(StatusCode::OK, &new_box(head, &ids))
    })?;
    match request.state.kernel.rewrite_box(&request.caller()?, &command, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(head) => respond::ok(&new_box(&head, &ids)),
    }
}

pub(crate) async fn fork(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let source: BoxId = request.param("box_id")?;
    let body: ForkIn = request.body().await?;
    // The answer lists the cards, which a fork does not read: it is made again from the new box.
    let remember =
        request.remember(|head: &BoxHead| Some((StatusCode::CREATED.as_u16(), head.box_id.to_string())))?;
    let (status, box_id) =
        match kernel.fork_box(project, &request.caller()?, source, body.upto, remember.as_ref()).await? {
            Done::Fresh(head) => (StatusCode::CREATED, head.box_id),
            Done::Replayed(answer) => (StatusCode::CREATED, parse::one("box_id", &answer.body)?),
        };
    let view: BoxView = kernel.view_box(project, box_id, None).await?;
    Ok(respond::json(status, &BoxOut::new(&view)))
}

fn card_ids(texts: &[String]) -> Result<Vec<CardId>, ApiError> {
    Invalid::check_size("card_ids", texts.len(), limits::WRITE_CARD_IDS, "cards")?;
    Ok(parse::list("card_ids", texts)?)
}
