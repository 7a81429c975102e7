//! A run: a turn and all turns below it, with what each did and what it cost (IN-13).

use crate::{Kernel, KernelError, ViewedTurn};
use cardwire_context::cost::Spent;
use cardwire_model::{
    CanonicalJson, CardId, InboxId, InboxItem, InboxStatus, ProjectId, Step, Timestamp, TurnId, TurnPayload,
    limits,
};
use cardwire_protocol::Rejection;
use cardwire_store::RosterFilter;
use std::collections::{HashMap, HashSet};

/// Turns whose rows are read in one go.
const AT_ONCE: usize = 1_000;

/// One turn of a run.
#[derive(Debug, Clone)]
pub struct OutlinedTurn {
    /// The turn, with its agent's head while it is live.
    pub turn: ViewedTurn,
    /// The turn that sent it, by its place in the outline; none for the root.
    pub parent: Option<usize>,
    /// Its steps, oldest first.
    pub steps: Vec<Step>,
    /// What its own calls have cost.
    pub spent: Spent,
}

impl OutlinedTurn {
    fn new(item: InboxItem, parent: Option<usize>) -> Self {
        let turn = ViewedTurn { item, head: None };
        Self { turn, parent, steps: vec![], spent: Spent::default() }
    }

    /// When a worker first worked on it. A turn that waited for others is claimed again, so that its row tells of the last time.
    pub fn started_at(&self) -> Option<Timestamp> {
        let step = self.steps.first().map(|step| step.created_at);
        [self.turn.item.processed_at, step].into_iter().flatten().min()
    }

    /// When it last showed that it was there.
    pub fn seen_at(&self) -> Timestamp {
        let item = &self.turn.item;
        let step = self.steps.iter().map(|step| step.updated_at).max();
        let ended = item.ended.as_ref().map(|ended| ended.at);
        let seen = [ended, step, item.processed_at, Some(item.created_at)];
        seen.into_iter().flatten().max().unwrap_or(item.created_at)
    }

    /// What a step's call has cost, once it was answered.
    pub fn spent_by(step: &Step) -> Option<Spent> {
        Spent::of_step(&step.metadata.to_value())
    }

    /// The calls it made, with the steps that made them.
    pub fn calls(&self) -> impl Iterator<Item = (CardId, &Step)> {
        self.steps.iter().filter_map(|step| Some((step.call_id.as_deref()?.parse().ok()?, step)))
    }
}

/// A turn and all turns below it.
#[derive(Debug, Clone)]
pub struct Outline {
    /// The root first, and each turn somewhere behind the one that sent it.
    pub turns: Vec<OutlinedTurn>,
    /// The limit was reached: there are more turns or steps.
    pub is_cut: bool,
}

impl Outline {
    /// The same as it was at a moment: what came later is not in it, and what ended later goes on.
    pub fn until(self, moment: Timestamp) -> Self {
        let mut places = vec![None; self.turns.len()];
        let mut turns: Vec<OutlinedTurn> = vec![];
        for (place, mut turn) in self.turns.into_iter().enumerate() {
            let item = &mut turn.turn.item;
            let parent = turn.parent.and_then(|parent| places.get(parent).copied().flatten());
            if item.created_at > moment || turn.parent.is_some() != parent.is_some() {
                continue;
            }
            if item.ended.as_ref().is_some_and(|ended| ended.at > moment) {
                (item.ended, item.status) = (None, InboxStatus::Processing);
            }
            item.processed_at = item.processed_at.filter(|at| *at <= moment);
            turn.steps.retain(|step| step.created_at <= moment);
            turn.spent = Spent::default();
            for step in &mut turn.steps {
                if step.updated_at > moment {
                    (step.status, step.updated_at) = (None, moment);
                    step.metadata = CanonicalJson::empty_object();
                }
                turn.spent.add(OutlinedTurn::spent_by(step).unwrap_or_default());
            }
            (turn.parent, turn.turn.head, places[place]) = (parent, None, Some(turns.len()));
            turns.push(turn);
        }
        Self { turns, is_cut: self.is_cut }
    }

    /// What all of its turns have cost.
    pub fn spent(&self) -> Spent {
        let mut all = Spent::default();
        self.turns.iter().for_each(|turn| all.add(turn.spent));
        all
    }
}

/// A run in a list: its root, and sums over what is below it.
#[derive(Debug, Clone)]
pub struct RunView {
    /// The turn that nobody sent.
    pub root: ViewedTurn,
    /// The beginning of what was asked.
    pub question: Option<String>,
    /// How many turns it has.
    pub turns: usize,
    /// How many agents took part.
    pub agents: usize,
    /// What it has cost.
    pub spent: Spent,
    /// When it was last seen at work.
    pub seen_at: Timestamp,
    /// The sums go over a part of it: it is very large, or stands beside others that are.
    pub is_cut: bool,
}

impl Kernel {
    /// A turn and all turns below it.
    pub async fn outline(&self, project: &ProjectId, root: TurnId) -> Result<Outline, KernelError> {
        let root = self.turn_row(project, root).await?;
        let mut trees = self.trees(project, vec![root], limits::OUTLINE_TURNS).await?;
        let missing = || Rejection::Conflict("the run is gone".to_owned());
        let mut outline = trees.pop().ok_or_else(missing)?;
        self.add_heads(project, &mut outline).await?;
        Ok(outline)
    }

    /// A turn with its steps, without what is below it.
    pub async fn outlined(&self, project: &ProjectId, turn: TurnId) -> Result<OutlinedTurn, KernelError> {
        let root = self.turn_row(project, turn).await?;
        let mut tree = Outline { turns: vec![OutlinedTurn::new(root, None)], is_cut: false };
        let places = HashMap::from([(turn, (0, 0))]);
        self.add_steps(project, std::slice::from_mut(&mut tree), &places).await?;
        self.add_heads(project, &mut tree).await?;
        let missing = || Rejection::NotFound { what: "turn", id: turn.to_string() };
        Ok(tree.turns.pop().ok_or_else(missing)?)
    }

    /// Turns that no other turn has sent, newest first, with sums over what is below them.
    pub async fn list_runs(
        &self,
        project: &ProjectId,
        before: Option<InboxId>,
        limit: usize,
    ) -> Result<Vec<RunView>, KernelError> {
        let roots = self.store.runs(project, before, limit).await?;
        let trees = self.trees(project, roots, limits::RUN_LIST_TURNS).await?;
        let mut runs = vec![];
        for mut tree in trees {
            let Some(root) = tree.turns.first().map(|root| root.turn.item.clone()) else { continue };
            if root.ended.is_none() {
                let turn = self.turn(project, root.turn_id).await?;
                tree.turns[0].turn = turn;
            }
            let question = self.asked_of(project, &root).await?;
            let agents: HashSet<_> = tree.turns.iter().map(|turn| &turn.turn.item.agent_id).collect();
            let (agents, turns, spent) = (agents.len(), tree.turns.len(), tree.spent());
            let seen_at = tree.turns.iter().map(OutlinedTurn::seen_at).max().unwrap_or(root.created_at);
            let root = tree.turns.swap_remove(0).turn;
            runs.push(RunView { root, question, turns, agents, spent, seen_at, is_cut: tree.is_cut });
        }
        Ok(runs)
    }

    /// The beginning of what a turn is asked, if its row can be read and the card is there.
    pub async fn asked_of(
        &self,
        project: &ProjectId,
        turn: &InboxItem,
    ) -> Result<Option<String>, KernelError> {
        let Ok(payload) = TurnPayload::from_stored(&turn.payload) else { return Ok(None) };
        let card = match self.instruction(project, payload.context_box).await {
            Ok(card) => card,
            Err(KernelError::Rejected(_)) => None,
            Err(error) => return Err(error),
        };
        let text =
            card.map(|card| card.content.to_text().unwrap_or_else(|| card.content.as_str().to_owned()));
        Ok(text.map(|text| text.chars().take(limits::QUESTION_PREVIEW_CHARS).collect()))
    }

    /// The trees below some roots, read level by level: as many reads as the deepest has levels. At most `limit` turns in all.
    async fn trees(
        &self,
        project: &ProjectId,
        roots: Vec<InboxItem>,
        limit: usize,
    ) -> Result<Vec<Outline>, KernelError> {
        let mut trees = vec![];
        // Where each turn stands: in which tree, and at which place of it.
        let (mut places, mut level) = (HashMap::new(), vec![]);
        for root in roots {
            places.insert(root.turn_id, (trees.len(), 0));
            level.push(root.turn_id);
            trees.push(Outline { turns: vec![OutlinedTurn::new(root, None)], is_cut: false });
        }
        while !level.is_empty() {
            let mut next = vec![];
            for parents in level.chunks(AT_ONCE) {
                let rest = limit.saturating_sub(places.len());
                let sent = self.store.sent_by(project, parents, rest + 1).await?;
                let is_cut = sent.len() > rest;
                for item in sent.into_iter().take(rest) {
                    let Some((tree, parent)) = item.parent_turn.and_then(|turn| places.get(&turn).copied())
                    else {
                        continue;
                    };
                    let turns = &mut trees[tree].turns;
                    if places.insert(item.turn_id, (tree, turns.len())).is_none() {
                        next.push(item.turn_id);
                        turns.push(OutlinedTurn::new(item, Some(parent)));
                    }
                }
                if is_cut {
                    // Which of them go on is not known.
                    trees.iter_mut().for_each(|tree| tree.is_cut = true);
                    next.clear();
                    break;
                }
            }
            level = next;
        }
        self.add_steps(project, &mut trees, &places).await?;
        Ok(trees)
    }

    async fn add_steps(
        &self,
        project: &ProjectId,
        trees: &mut [Outline],
        places: &HashMap<TurnId, (usize, usize)>,
    ) -> Result<(), KernelError> {
        let turns: Vec<TurnId> = places.keys().copied().collect();
        let mut rest = limits::COST_STEPS;
        for turns in turns.chunks(AT_ONCE) {
            let steps = self.store.steps_of(project, turns, rest + 1).await?;
            if steps.len() > rest {
                trees.iter_mut().for_each(|tree| tree.is_cut = true);
            }
            for step in steps.into_iter().take(rest) {
                rest -= 1;
                let Some((tree, place)) = places.get(&step.turn_id).copied() else { continue };
                let turn = &mut trees[tree].turns[place];
                turn.spent.add(OutlinedTurn::spent_by(&step).unwrap_or_default());
                turn.steps.push(step);
            }
        }
        Ok(())
    }

    /// Of turns that are live the agent's head knows more than their row.
    async fn add_heads(&self, project: &ProjectId, outline: &mut Outline) -> Result<(), KernelError> {
        let is_live = |turn: &&mut OutlinedTurn| {
            turn.turn.item.ended.is_none() && turn.turn.item.status != InboxStatus::Queued
        };
        let mut live: HashMap<TurnId, &mut OutlinedTurn> =
            outline.turns.iter_mut().filter(is_live).map(|turn| (turn.turn.item.turn_id, turn)).collect();
        let Some(trace_id) = live.values().find_map(|turn| turn.turn.item.trace_id.clone()) else {
            return Ok(());
        };
        let filter = RosterFilter { trace_id: Some(trace_id), ..RosterFilter::default() };
        let mut before = None;
        loop {
            let page = self.store.roster(project, &filter, before.as_ref(), limits::PAGE_MAX).await?;
            before = page.last().map(|one| (one.place().0, one.place().1.clone()));
            let is_last = page.len() < limits::PAGE_MAX;
            for head in page.into_iter().filter_map(|one| one.head) {
                let turn = head.live.as_ref().and_then(|at| live.get_mut(&at.turn_id));
                if let Some(turn) = turn {
                    turn.turn.head = Some(head);
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }
}
