//! A call, two of them compared, and why a card is in one or not.

use super::{
    answer, gather,
    visit::{Format, Visit},
};
use crate::{
    error::{Answer, ApiError},
    http,
};
use cardwire_api::{ErrorCode, explain, parse};
use cardwire_inspector::{
    Section, markdown,
    pages::{call, diff, run, why},
    text,
};
use cardwire_kernel::{
    CallEntry, ExpandedCall, Kernel, KernelError, OutlinedTurn, RenderedCall, Side,
    composer::{manifest, render::Source, why as why_rules},
    protocol::{session::compact::KIND as SUMMARY, turn::without},
};
use cardwire_model::{CanonicalJson, Card, CardId, Layer, ProjectId, TurnId};
use std::{collections::BTreeMap, sync::Arc};

type Cards = BTreeMap<CardId, Arc<Card>>;

/// One call.
pub(super) async fn call(visit: Visit, id: &str) -> Answer {
    let call_id: CardId = parse::one("call", id)?;
    if visit.format == Format::Json {
        return http::calls::show(visit.api(&[("call_id", id)], &[("spans", "true".to_owned())])).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let expanded = kernel.call(project, call_id).await?;
    let view = view_of(&visit, kernel, project, &expanded).await?;
    if visit.format == Format::Markdown {
        return Ok(answer::markdown(markdown::call(&view)));
    }
    let agent = text::agent(&view.agent);
    let way =
        vec![(agent.clone(), Some(visit.link(&format!("/turns/{}", view.turn)))), (text::short(id), None)];
    let title = match view.number {
        Some((number, of)) if of > 1 => format!("What {agent} was sent in call {number} of {of}"),
        _ => format!("What {agent} was sent"),
    };
    let frame = visit.frame(Section::Runs, title, way);
    Ok(answer::html(call::show(&frame, &view)))
}

async fn view_of(
    visit: &Visit,
    kernel: &Kernel,
    project: &ProjectId,
    expanded: &ExpandedCall,
) -> Result<call::Call, ApiError> {
    let (record, id) = (&expanded.manifest, expanded.call_id);
    let rendered = kernel.render_call(project, id).await?;
    let cards = gather::cards_of(kernel, project, expanded).await?;
    let turn = kernel.outlined(project, record.turn_id).await?;
    let own: Vec<_> = turn.calls().collect();
    let place = own.iter().position(|(call, _)| *call == id);
    let step = place.and_then(|place| own.get(place)).map(|(_, step)| *step);
    let selected = visit.request.parsed::<CardId>("sel")?;
    let story = match selected {
        Some(card) => story(visit, kernel, project, expanded, card).await?,
        None => None,
    };
    let tab = visit.request.text("tab").and_then(call::Tab::from_name).unwrap_or(call::Tab::Messages);
    let answered = match (tab, step) {
        (call::Tab::Answer, Some(step)) => {
            written_after(kernel, project, record.turn_id, step.output_len).await?
        }
        _ => vec![],
    };
    Ok(call::Call {
        id: id.to_string(),
        agent: gather::name(kernel, project, &record.agent_id).await?,
        turn: record.turn_id.to_string(),
        number: place.map(|place| (place + 1, own.len())),
        model: record.model.clone(),
        layers: gather::layers(&expanded.entries),
        messages: messages(expanded, &rendered, &cards, visit),
        spans: if tab == call::Tab::Bytes { spans(expanded, &rendered) } else { vec![] },
        sha256: record.request_sha256.clone(),
        proof: proof(&rendered),
        total: record.total_tokens.into(),
        shared: record.shared_prefix_tokens.into(),
        cache_end: cache_end(kernel, project, expanded, &cards).await?,
        step: step.map(|step| step.id.to_string()),
        previous: place
            .and_then(|place| place.checked_sub(1))
            .and_then(|place| own.get(place))
            .map(|(call, _)| call.to_string()),
        next: place.and_then(|place| own.get(place + 1)).map(|(call, _)| call.to_string()),
        spent: step.and_then(OutlinedTurn::spent_by).map(gather::spent),
        not_given: match sender_of(kernel, project, &turn).await? {
            Some(sender) => withheld(visit, project, sender, id).await?,
            None => run::NotGiven::default(),
        },
        omissions: record.omissions.iter().map(omission).collect(),
        repairs: record.repairs.iter().map(repair).collect(),
        selected: story,
        tab,
        manifest: pretty(&manifest::to_json(record)?),
        answer: answered.iter().map(|card| gather::piece(card, "turn", visit.now, card.tokens)).collect(),
        at: record.at,
        now: visit.now,
    })
}

/// The bytes of the request, as they were sent.
pub(super) async fn request(visit: Visit, id: &str) -> Answer {
    let call_id: CardId = parse::one("call", id)?;
    let rendered = visit.request.state.kernel.render_call(visit.request.project()?, call_id).await?;
    let gone = || {
        let why = rendered.missing.clone().unwrap_or_default();
        ApiError::new(ErrorCode::NotFound, format!("the request cannot be rendered again: {why}"))
    };
    Ok(answer::download(rendered.body.clone().ok_or_else(gone)?))
}

/// The first card that is not as it was in the call before, where a provider's cache ends.
async fn cache_end(
    kernel: &Kernel,
    project: &ProjectId,
    expanded: &ExpandedCall,
    cards: &Cards,
) -> Result<Option<call::CacheEnd>, ApiError> {
    let Some(before) = expanded.manifest.previous_call else { return Ok(None) };
    let earlier = match kernel.call(project, before).await {
        Ok(earlier) => earlier,
        // Its record is gone: where it ended is not known.
        Err(KernelError::Rejected(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_same =
        |(now, then): &(&CallEntry, &CallEntry)| now.card_id == then.card_id && now.layer == then.layer;
    // Tools are told behind everything else, wherever a request has them.
    let sent = |call: &ExpandedCall| -> Vec<CallEntry> {
        call.entries.iter().filter(|entry| entry.layer != Layer::Tools).cloned().collect()
    };
    let (entries, before_entries) = (sent(expanded), sent(&earlier));
    let at = entries.iter().zip(&before_entries).take_while(is_same).count();
    let Some(entry) = entries.get(at) else { return Ok(None) };
    let was = before_entries.get(at);
    let other = match was {
        Some(was) => gather::cards(kernel, project, &[was.card_id]).await?.remove(&was.card_id),
        None => None,
    };
    // Only what is of one layer is the same thing said in another way.
    let other = other.filter(|_| was.is_some_and(|was| was.layer == entry.layer));
    let texts =
        other.zip(cards.get(&entry.card_id)).map(|(was, now)| (gather::said(&was), gather::said(now)));
    let anew: i64 = entries.iter().skip(at).map(|entry| i64::from(entry.tokens)).sum();
    Ok(Some(call::CacheEnd {
        card: entry.card_id.to_string(),
        layer: entry.layer.as_str().to_owned(),
        was: was.map(|was| was.card_id.to_string()),
        anew: u64::try_from(anew).unwrap_or(0),
        is_block: entry.is_block,
        texts,
        before: before.to_string(),
    }))
}

/// The last call of a turn's sender before it sent the turn.
async fn sender_of(
    kernel: &Kernel,
    project: &ProjectId,
    turn: &OutlinedTurn,
) -> Result<Option<CardId>, KernelError> {
    let item = &turn.turn.item;
    let Some(parent) = item.parent_turn else { return Ok(None) };
    let parent = kernel.outlined(project, parent).await?;
    let shown = parent.calls().filter(|(_, step)| step.created_at <= item.created_at).last();
    Ok(shown.map(|(call, _)| call))
}

fn proof(rendered: &RenderedCall) -> Result<(), String> {
    match (&rendered.missing, rendered.hash_ok) {
        (Some(missing), _) => Err(missing.clone()),
        (None, true) => Ok(()),
        (None, false) => Err("it was rendered again to other bytes".to_owned()),
    }
}

fn pretty(json: &CanonicalJson) -> String {
    serde_json::to_string_pretty(&json.to_value()).unwrap_or_else(|_| json.as_str().to_owned())
}

/// The cards of the call, grouped where the same speaker goes on.
fn messages(
    expanded: &ExpandedCall,
    rendered: &RenderedCall,
    cards: &Cards,
    visit: &Visit,
) -> Vec<call::Message> {
    let read = texts(rendered);
    let mut messages: Vec<call::Message> = vec![];
    for (index, entry) in expanded.entries.iter().enumerate() {
        let card = cards.get(&entry.card_id);
        let role = match card {
            _ if entry.is_block => "system",
            Some(card) => card.role.as_str(),
            None => "gone",
        };
        let piece = match card {
            Some(card) => {
                let mut piece = gather::piece(card, entry.layer.as_str(), visit.now, entry.tokens);
                if let Some(text) = read.get(&index) {
                    piece.text.clone_from(text);
                }
                piece
            }
            None => call::Piece {
                layer: entry.layer.as_str().to_owned(),
                card: Some(entry.card_id.to_string()),
                text: String::new(),
                tokens: Some(entry.tokens.into()),
                is_deleted: true,
            },
        };
        match messages.last_mut() {
            Some(last) if last.role == role => last.pieces.push(piece),
            _ => messages.push(call::Message { role: role.to_owned(), pieces: vec![piece] }),
        }
    }
    messages
}

/// What the model read of each entry: a text is told as it is, anything else as its JSON.
fn texts(rendered: &RenderedCall) -> BTreeMap<usize, String> {
    let mut texts: BTreeMap<usize, String> = BTreeMap::new();
    let body = rendered.body.as_deref().unwrap_or_default();
    for span in &rendered.spans {
        let Source::Piece(index) = span.source else { continue };
        let json = body.get(span.from..span.to).unwrap_or_default();
        let text = serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned());
        let told = texts.entry(index).or_default();
        if !told.is_empty() {
            told.push('\n');
        }
        told.push_str(&text);
    }
    texts
}

fn spans(expanded: &ExpandedCall, rendered: &RenderedCall) -> Vec<call::Span> {
    let Some(body) = &rendered.body else { return vec![] };
    let span = |span: &cardwire_kernel::composer::render::Span| {
        let (layer, card) = match span.source {
            Source::Frame => ("frame", None),
            Source::Tools => ("tools", expanded.manifest.tools.map(|id| id.to_string())),
            Source::Repair(index) => {
                ("repair", expanded.manifest.repairs.get(index).map(|repair| repair.added.to_string()))
            }
            Source::Piece(index) => {
                let entry = expanded.entries.get(index);
                (
                    entry.map_or("frame", |entry| entry.layer.as_str()),
                    entry.map(|entry| entry.card_id.to_string()),
                )
            }
        };
        let text = body.get(span.from..span.to).unwrap_or_default().to_owned();
        call::Span { layer: layer.to_owned(), card, text }
    };
    rendered.spans.iter().map(span).collect()
}

fn omission(omission: &cardwire_model::Omission) -> call::Omission {
    let card = match &omission.source {
        Some(cardwire_model::Source::Block(id) | cardwire_model::Source::Card(id)) => Some(id.to_string()),
        Some(cardwire_model::Source::Stretch(_)) | None => None,
    };
    call::Omission {
        layer: omission.layer.as_str().to_owned(),
        card,
        cards: omission.cards.into(),
        tokens: omission.tokens.into(),
        because: why_rules::left_out(omission.cause).to_owned(),
    }
}

fn repair(repair: &cardwire_model::Repair) -> call::Repair {
    call::Repair {
        rule: repair.rule.clone(),
        card: repair.card_id.map(|id| id.to_string()),
        added: repair.added.to_string(),
    }
}

/// The cards that a turn wrote after a step.
async fn written_after(
    kernel: &Kernel,
    project: &ProjectId,
    turn: TurnId,
    len: u32,
) -> Result<Vec<Arc<Card>>, KernelError> {
    const SHOWN: usize = 20;
    let view = kernel.turn_view(project, turn, None).await?;
    let output = kernel.view_box(project, view.output_box, None).await?;
    let ids: Vec<CardId> = output.card_ids().skip(len as usize).take(SHOWN).collect();
    Ok(gather::cards(kernel, project, &ids).await?.into_values().collect())
}

/// How a card came into a call.
async fn story(
    visit: &Visit,
    kernel: &Kernel,
    project: &ProjectId,
    expanded: &ExpandedCall,
    id: CardId,
) -> Result<Option<call::Story>, ApiError> {
    let Some(card) = gather::cards(kernel, project, &[id]).await?.remove(&id) else { return Ok(None) };
    let entry = expanded.entries.iter().find(|entry| entry.card_id == id);
    let mut steps = vec![];
    let author = card.author_id.as_deref().map_or_else(|| card.origin.as_str().to_owned(), text::agent);
    steps.push((format!("{author} wrote it"), text::ago(card.created_at, visit.now)));
    for holder in kernel.boxes_of_card(project, id).await?.holders.iter().take(4) {
        let what = match holder.via {
            Some(via) => format!("inherited from box {}", text::short(&via.to_string())),
            None => "an entry of its own".to_owned(),
        };
        let name =
            format!("into box {}@{}", text::short(&holder.box_id.to_string()), holder.generation.get());
        steps.push((name, what));
    }
    let why = kernel.why(project, expanded.call_id, id).await?.why;
    let layer =
        entry.map_or("not in this call".to_owned(), |entry| format!("layer {}", entry.layer.as_str()));
    steps.push((layer, why.rule.to_owned()));
    let sent = kernel.calls_of_card(project, id, None, 5).await?;
    let tokens: u64 = entry.map_or(card.tokens, |entry| entry.tokens).into();
    let sent_in =
        sent.calls.iter().map(|sent| (sent.call_id.to_string(), format!("{tokens} tokens"))).collect();
    let leavable =
        entry.filter(|entry| without::may_go(entry.layer)).map(|entry| entry.layer.as_str().to_owned());
    Ok(Some(call::Story {
        card: id.to_string(),
        leavable,
        stands_for: stands_for(kernel, project, &card).await?,
        kind: card.kind.as_str().to_owned(),
        tokens,
        steps,
        sent_in,
    }))
}

/// What a summary stands for, in one sentence.
async fn stands_for(kernel: &Kernel, project: &ProjectId, card: &Card) -> Result<Option<String>, ApiError> {
    if card.kind.as_str() != SUMMARY {
        return Ok(None);
    }
    let (_, replaced) = kernel.expand_summary(project, card.id).await?;
    let tokens: u64 = replaced.iter().map(|card| u64::from(card.tokens)).sum();
    let cards = text::plural(replaced.len() as u64, "card");
    Ok(Some(format!("{cards} of {} tokens, in {} tokens.", text::grouped(tokens), card.tokens)))
}

/// Two calls or turns.
pub(super) async fn diff(visit: Visit) -> Answer {
    let (left, right) = (visit.request.required("l")?.to_owned(), visit.request.required("r")?.to_owned());
    if visit.format == Format::Json {
        return http::context::diff(visit.api(&[], &[("left", left), ("right", right)])).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let sides = (
        side_of(&visit, kernel, project, "l", &left).await?,
        side_of(&visit, kernel, project, "r", &right).await?,
    );
    let ids: Vec<CardId> = sides.0.1.iter().chain(&sides.1.1).map(|(id, ..)| *id).collect();
    let cards = gather::cards(kernel, project, &ids).await?;
    let row =
        |(id, layer, tokens): &(CardId, String, u32), shown: diff::Shown, why: Option<String>| diff::Row {
            card: id.to_string(),
            layer: layer.clone(),
            text: cards.get(id).map(|card| gather::said(card)).unwrap_or_default(),
            tokens: (*tokens).into(),
            shown,
            why,
            because: None,
            now: None,
        };
    let has = |side: &Shown, id: CardId| side.iter().any(|(other, ..)| *other == id);
    let why = |call: Option<CardId>, card: CardId| {
        call.map(|call| visit.link(&format!("/why?call={call}&card={card}")))
    };
    let mut rows = vec![];
    for entry in &sides.0.1 {
        let both = has(&sides.1.1, entry.0);
        let shown = if both { diff::Shown::Both } else { diff::Shown::Left };
        rows.push(row(entry, shown, (!both).then(|| why(sides.1.2, entry.0)).flatten()));
    }
    for entry in sides.1.1.iter().filter(|entry| !has(&sides.0.1, entry.0)) {
        rows.push(row(entry, diff::Shown::Right, why(sides.0.2, entry.0)));
    }
    let mut rows = diff::paired(rows);
    if visit.format == Format::Markdown {
        explain_rows(kernel, project, &mut rows, (sides.0.2, sides.1.2)).await?;
    }
    let swapped = visit.link(&format!("/diff?l={right}&r={left}"));
    let view = diff::Diff { left: sides.0.0, right: sides.1.0, rows, swapped };
    if visit.format == Format::Markdown {
        return Ok(answer::markdown(markdown::diff(&view)));
    }
    let title = format!("What {} was shown, and what {} was", view.left.name, view.right.name);
    let frame = visit.frame(Section::Runs, title, vec![("compare".to_owned(), None)]);
    Ok(answer::html(diff::show(&frame, &view)))
}

/// Says why the other side has not got what one side was shown, of the first of them.
async fn explain_rows(
    kernel: &Kernel,
    project: &ProjectId,
    rows: &mut [diff::Row],
    (left, right): (Option<CardId>, Option<CardId>),
) -> Result<(), ApiError> {
    const EXPLAINED: usize = 30;
    for row in rows.iter_mut().filter(|row| row.why.is_some()).take(EXPLAINED) {
        let other = if row.shown == diff::Shown::Left { right } else { left };
        if let (Some(call), Ok(card)) = (other, row.card.parse()) {
            row.because = Some(kernel.why(project, call, card).await?.why.rule.to_owned());
        }
    }
    Ok(())
}

/// What a side was shown: cards with their layers and tokens.
type Shown = Vec<(CardId, String, u32)>;

/// A side with what it was shown, and the call that showed it.
async fn side_of(
    visit: &Visit,
    kernel: &Kernel,
    project: &ProjectId,
    field: &str,
    name: &str,
) -> Result<(diff::Side, Shown, Option<CardId>), ApiError> {
    let side = explain::side(field, name)?;
    let (call, place) = match side {
        Side::Call(call) => (Some(call), format!("/calls/{call}")),
        Side::Turn(turn) => {
            let last = kernel.outlined(project, turn).await?.calls().last().map(|(call, _)| call);
            (last, format!("/turns/{turn}"))
        }
    };
    let href = visit.link(&place);
    let micros = match call {
        Some(call) => spent_on(kernel, project, call).await?,
        None => None,
    };
    let (name, shown, tokens) = match (call, side) {
        (Some(call), _) => {
            let expanded = kernel.call(project, call).await?;
            let entry = |entry: &cardwire_kernel::CallEntry| {
                (entry.card_id, entry.layer.as_str().to_owned(), entry.tokens)
            };
            let name = gather::name(kernel, project, &expanded.manifest.agent_id).await?;
            (name, expanded.entries.iter().map(entry).collect(), expanded.manifest.total_tokens.into())
        }
        (None, Side::Turn(turn)) => {
            let view = kernel.turn_view(project, turn, None).await?;
            let shown: Shown = view
                .cards
                .iter()
                .map(|card| (card.id, gather::layer_of(card).to_owned(), card.tokens))
                .collect();
            let tokens = shown.iter().map(|(.., tokens)| u64::from(*tokens)).sum();
            (gather::name(kernel, project, &view.item.agent_id).await?, shown, tokens)
        }
        (None, Side::Call(_)) => (text::short(name), vec![], 0),
    };
    Ok((diff::Side { name, href, tokens, micros }, shown, call))
}

/// What a call has cost, once it was answered.
async fn spent_on(kernel: &Kernel, project: &ProjectId, call: CardId) -> Result<Option<u64>, ApiError> {
    let turn = kernel.outlined(project, kernel.call(project, call).await?.manifest.turn_id).await?;
    let step = turn.calls().find(|(own, _)| *own == call).map(|(_, step)| step);
    Ok(step.and_then(OutlinedTurn::spent_by).map(gather::spent).and_then(|spent| spent.micros))
}

/// What a sender's call showed that the receiver's did not.
pub(super) async fn withheld(
    visit: &Visit,
    project: &ProjectId,
    sender: CardId,
    receiver: CardId,
) -> Result<run::NotGiven, ApiError> {
    const SHOWN: usize = 4;
    let kernel = &visit.request.state.kernel;
    let (sent, given) = (kernel.call(project, sender).await?, kernel.call(project, receiver).await?);
    let is_given = |id: CardId| given.entries.iter().any(|entry| entry.card_id == id);
    // Blocks are made for each call: that one differs is no withholding.
    let missing: Vec<CardId> = sent
        .entries
        .iter()
        .filter(|entry| !entry.is_block && !is_given(entry.card_id))
        .map(|entry| entry.card_id)
        .collect();
    let total = missing.len() as u64;
    let shown = missing.get(..SHOWN).unwrap_or(&missing);
    let cards = gather::cards(kernel, project, shown).await?;
    let mut withheld = vec![];
    for id in shown.iter().copied() {
        let why = kernel.why(project, receiver, id).await?.why;
        withheld.push(run::Withheld {
            text: cards.get(&id).map(|card| gather::said(card)).unwrap_or_default(),
            because: why.rule.to_owned(),
            href: Some(visit.link(&format!("/why?call={receiver}&card={id}"))),
        });
    }
    Ok(run::NotGiven { cards: withheld, total })
}

/// Why a card is in a call, or not.
pub(super) async fn why(visit: Visit) -> Answer {
    let call: CardId = parse::one("call", visit.request.required("call")?)?;
    let id: CardId = parse::one("card", visit.request.required("card")?)?;
    if answer::wants_twin(&visit) {
        let query = [("call", call.to_string()), ("card", id.to_string())];
        let format = visit.format;
        return answer::with_twins(format, "Why", visit.api(&[], &query), http::context::why).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let reason = kernel.why(project, call, id).await?.why;
    let expanded = kernel.call(project, call).await?;
    let says = gather::cards(kernel, project, &[id]).await?.remove(&id);
    let agent = gather::name(kernel, project, &expanded.manifest.agent_id).await?;
    let view = why::Why {
        call: call.to_string(),
        agent: agent.clone(),
        card: id.to_string(),
        says: says.map(|card| gather::said(&card)).unwrap_or_default(),
        is_sent: reason.included,
        sentence: reason.rule.to_owned(),
        rule: reason.cause.as_str().to_owned(),
        tokens: reason.tokens.into(),
        advice: why_rules::advice(reason.cause).map(str::to_owned),
    };
    let title = if view.is_sent {
        format!("Why {agent} was sent this card")
    } else {
        format!("Why {agent} was not sent this card")
    };
    let way = vec![(agent, Some(visit.link(&format!("/calls/{call}")))), ("why".to_owned(), None)];
    let frame = visit.frame(Section::Runs, title, way);
    Ok(answer::html(why::show(&frame, &view)))
}
