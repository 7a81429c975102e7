//! Running a team: everybody whom it needs and the turn of its controller, in one commit.

use super::{dispatch, roster::NewProfile};
use crate::{Caller, Done, Kernel, KernelError, Remember};
use cardwire_model::{CardDraft, Keys, Origin, ProjectId, Realm, ResourceKind, ResourceName, limits};
use cardwire_protocol::{
    roster::{add_agent::AddAgent, run_team::Ready},
    turn::dispatch::{Dispatch, Dispatched},
};

/// A run of a team.
#[derive(Debug, Clone)]
pub struct RunTeam {
    /// The tools that it brings along.
    pub tools: Vec<(ResourceName, CardDraft)>,
    /// Its profiles, the controller's among them.
    pub profiles: Vec<NewProfile>,
    /// Its agents, the controller among them; each has one of the profiles.
    pub agents: Vec<AddAgent>,
    /// What is asked.
    pub query: CardDraft,
    /// The turn of its controller. The box of its profile and the box that it is given are filled in.
    pub dispatch: Dispatch,
}

impl Kernel {
    /// Makes ready what is not as it should be, and dispatches the turn. A run that is refused leaves nothing (W-13).
    #[tracing::instrument(name = "dispatch", level = "trace", skip_all, fields(cardwire.project.id = %project, cardwire.agent.id = run.dispatch.agent_id.as_ref().map(tracing::field::display)))]
    pub async fn run_team(
        &self,
        project: &ProjectId,
        caller: &Caller,
        run: &RunTeam,
        remember: Option<&Remember<Dispatched>>,
    ) -> Result<Done<Dispatched>, KernelError> {
        run.dispatch.check()?;
        let _turn = self.pass(project, run.dispatch.agent_id.as_ref()).await;
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let tried = self.run_team_once(project, caller, run, remember).await;
            if let Some(done) = self.settled(project, caller, tried).await? {
                return Ok(done);
            }
        }
        Err(KernelError::Contended)
    }

    async fn run_team_once(
        &self,
        project: &ProjectId,
        caller: &Caller,
        run: &RunTeam,
        remember: Option<&Remember<Dispatched>>,
    ) -> Result<Done<Dispatched>, KernelError> {
        let mut ready = self.ready(project, caller, run).await?;
        let query = run.query.clone().into_card(self.card_id(), Origin::Operator, self.now())?;
        let context_box = Some(ready.query(query, &self.moment(caller)));
        let profile_box = run.dispatch.agent_id.as_ref().and_then(|agent| ready.profile_box(agent));
        let command = Dispatch { profile_box, context_box, ..run.dispatch.clone() };
        let realm = Realm::from(project.clone());
        let plan = dispatch::plan(&realm, caller, &command, remember);
        self.attempt(plan, 1, |loaded, moment| ready.dispatch(&loaded.snapshot, &command, moment)).await
    }

    async fn ready(&self, project: &ProjectId, caller: &Caller, run: &RunTeam) -> Result<Ready, KernelError> {
        let (realm, moment) = (Realm::from(project.clone()), self.moment(caller));
        let mut ready = Ready::new(project);
        for (name, draft) in &run.tools {
            let card = draft.clone().into_card(self.card_id(), Origin::Operator, self.now())?;
            let (snapshot, command) = self.to_put(project, ResourceKind::Tool, name, card).await?;
            ready.tool(&snapshot, &command, &moment)?;
        }
        for new in &run.profiles {
            let (snapshot, command) = self.profile_to_put(project, new.clone()).await?;
            ready.profile(&snapshot, &command, &moment)?;
        }
        for command in &run.agents {
            let keys = Keys { agent: Some(command.id.clone()), ..Keys::default() };
            ready.agent(self.store.load(&realm, &keys).await?, command, &moment)?;
        }
        Ok(ready)
    }
}
