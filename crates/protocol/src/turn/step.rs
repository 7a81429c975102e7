//! Steps: what the holder of a turn says it is doing (WK-05, CB-17).

use super::{
    Outcome,
    fence::{self, Fence},
    work::Work,
};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    BoxId, CanonicalJson, Card, EventKind, Invalid, ProjectId, Snapshot, Status, Step, StepId, Write, limits,
};
use serde_json::json;

/// A step to write.
#[derive(Debug, Clone)]
pub struct TakeStep {
    /// Who writes.
    pub fence: Fence,
    /// The step.
    pub step: NewStep,
    /// Cards that record it and are no part of the conversation: the manifest of a model call and the blocks it names.
    /// One that is there already is left alone.
    pub records: Vec<Card>,
}

/// A step as its worker describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStep {
    /// Named by the caller; a second write with the same id changes the step.
    pub id: Option<StepId>,
    /// What the worker calls it.
    pub phase: String,
    /// How it ended.
    pub status: Option<String>,
    /// The model call it made; the one that the step is known to have made when absent.
    pub call_id: Option<String>,
    /// What the model was sent; as for the call.
    pub request_box: Option<BoxId>,
    /// Whatever the worker keeps with it: an object.
    pub metadata: CanonicalJson,
}

impl NewStep {
    /// Checks what types alone cannot.
    pub fn check(&self) -> Result<(), Invalid> {
        if let Some(id) = &self.id
            && !id.as_str().starts_with("step_")
        {
            return Err(Invalid::field("step_id", "must start with step_"));
        }
        super::append::check_call_id("phase", &self.phase)?;
        for (field, text) in [("status", &self.status), ("call_id", &self.call_id)] {
            if let Some(text) = text {
                super::append::check_call_id(field, text)?;
            }
        }
        if self.metadata.members().is_none() {
            return Err(Invalid::field("metadata", "must be an object"));
        }
        Invalid::check_size("metadata", self.metadata.as_bytes().len(), limits::METADATA_BYTES, "bytes")
    }
}

/// Writes a step and shows that the turn is alive.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &TakeStep,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    taken(snapshot, project, command, moment).map(|(work, id)| work.stay(Outcome::Stepped(id)))
}

/// The same on rows of a while ago, for a step and records whose names nobody else can know: it holds only if
/// the turn has not moved since (see [`cardwire_model::Live::marks`]). The cards that it counts are those of then.
pub fn decide_unmoved(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &TakeStep,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    taken(snapshot, project, command, moment).map(|(work, id)| work.stay_unmoved(Outcome::Stepped(id)))
}

fn taken<'a>(
    snapshot: &'a Snapshot,
    project: &'a ProjectId,
    command: &TakeStep,
    moment: &'a Moment,
) -> Result<(Work<'a>, StepId), Rejection> {
    let held = fence::hold(snapshot, project, &command.fence, &[Status::Running])?;
    let mut work = Work::new(held, moment);
    for card in &command.records {
        match snapshot.cards.get(&card.id) {
            None => work.commit.writes.push(Write::PutCard(Box::new(card.clone()))),
            Some(fact) if fact.fact_hash == card.fact_hash => {}
            Some(_) => return Err(Rejection::CardConflict { id: card.id.to_string() }),
        }
    }
    let id = write(&mut work, snapshot, &command.step)?;
    work.nudge.seen = Some(moment.now);
    Ok((work, id))
}

/// The part that other verbs share. The step counts the cards written before it.
pub(super) fn write(work: &mut Work<'_>, snapshot: &Snapshot, new: &NewStep) -> Result<StepId, Rejection> {
    new.check()?;
    let (head, live) = (work.held.head, work.held.live);
    let existing = snapshot.step.as_ref().filter(|step| Some(&step.id) == new.id.as_ref());
    if existing.is_some_and(|step| step.turn_id != live.turn_id) {
        return Err(Rejection::Conflict("step_id belongs to another turn".to_owned()));
    }
    // A step that called a model has done so whatever else is said of it later (API-17).
    let (call_id, request_box) =
        existing.map_or((None, None), |step| (step.call_id.clone(), step.request_box));
    let step = Step {
        id: new.id.clone().unwrap_or_else(|| work.step_id()),
        agent_id: head.agent_id.clone(),
        turn_id: live.turn_id,
        epoch: head.epoch,
        phase: new.phase.clone(),
        status: new.status.clone(),
        call_id: new.call_id.clone().or(call_id),
        request_box: new.request_box.or(request_box),
        output_len: work.output_len(),
        trace_id: live.trace_id.clone(),
        metadata: new.metadata.clone(),
        created_at: existing.map_or(work.moment.now, |step| step.created_at),
        updated_at: work.moment.now,
    };
    let id = step.id.clone();
    let mut data = json!({
        "agent_turn_id": live.turn_id.to_string(), "turn_epoch": head.epoch.get(), "step_id": id.as_str(),
        "phase": step.phase,
    });
    for (key, value) in [("status", &step.status), ("call_id", &step.call_id)] {
        if let Some(value) = value {
            data[key] = value.clone().into();
        }
    }
    let write = if existing.is_some() { Write::UpdateStep } else { Write::CreateStep };
    work.commit.writes.push(write(Box::new(step)));
    let event = work.event(EventKind::AgentStep, &data);
    work.commit.events.push(event);
    Ok(id)
}
