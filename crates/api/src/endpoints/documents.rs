//! Tools, recipes, teams, and the plan (API-07).

use super::{Body, CURSOR, Endpoint, LIMIT, Op, delete, get, json, post, yaml};
use crate::{
    Access,
    documents::{
        PlanIn, PlanOut, RecipeIn, RecipeList, RecipeOut, TeamIn, TeamList, TeamOut, ToolIn, ToolList,
        ToolOut,
    },
    teams::{RunTeamIn, RunTeamOut},
};
use cardwire_model::Scope::{Operate, Read};

const TOOLS: &str = "/projects/{project_id}/tools";
const TOOL: &str = "/projects/{project_id}/tools/{tool_name}";
const RECIPES: &str = "/projects/{project_id}/recipes";
const RECIPE: &str = "/projects/{project_id}/recipes/{recipe_name}";
const TEAMS: &str = "/projects/{project_id}/teams";
const TEAM: &str = "/projects/{project_id}/teams/{team_name}";
const PLAN: &str = "/projects/{project_id}/plan";

pub(super) const ENDPOINTS: &[Endpoint] = &[
    list(Op::ListTools, TOOLS, "Tools by name.", json::<ToolList>()),
    get(Op::GetTool, TOOL, Access::Project(Read), "A tool.", json::<ToolOut>()),
    put(
        Op::PutTool,
        TOOL,
        "Write a tool that workers run. 200 when it was there.",
        yaml::<ToolIn>(),
        json::<ToolOut>(),
    ),
    delete(Op::DeleteTool, TOOL, Access::Project(Operate), "Delete a tool."),
    list(Op::ListRecipes, RECIPES, "Recipes by name.", json::<RecipeList>()),
    get(Op::GetRecipe, RECIPE, Access::Project(Read), "A recipe.", json::<RecipeOut>()),
    put(
        Op::PutRecipe,
        RECIPE,
        "Write a recipe: a named handover that agents may call. 200 when it was there.",
        yaml::<RecipeIn>(),
        json::<RecipeOut>(),
    ),
    delete(Op::DeleteRecipe, RECIPE, Access::Project(Operate), "Delete a recipe."),
    list(Op::ListTeams, TEAMS, "Teams by name.", json::<TeamList>()),
    get(Op::GetTeam, TEAM, Access::Project(Read), "A team.", json::<TeamOut>()),
    put(
        Op::PutTeam,
        TEAM,
        "Write a team: agents that work together. 200 when it was there.",
        yaml::<TeamIn>(),
        json::<TeamOut>(),
    ),
    post(
        Op::RunTeam,
        "/projects/{project_id}/teams/{team_name}:run",
        Access::Project(Operate),
        "Run a team: its agents are made ready, and a turn of its own asks them one after the other.",
        json::<RunTeamIn>(),
        (200, json::<RunTeamOut>()),
    )
    .repeatable(),
    delete(Op::DeleteTeam, TEAM, Access::Project(Operate), "Delete a team."),
    get(Op::GetPlan, PLAN, Access::Project(Read), "The plan of the project.", json::<PlanOut>()),
    put(
        Op::PutPlan,
        PLAN,
        "Write the plan of the project: any object. 200 when there was one.",
        yaml::<PlanIn>(),
        json::<PlanOut>(),
    ),
    delete(Op::DeletePlan, PLAN, Access::Project(Operate), "Delete the plan of the project."),
];

const fn list(op: Op, path: &'static str, summary: &'static str, out: Option<Body>) -> Endpoint {
    get(op, path, Access::Project(Read), summary, out).query(&[CURSOR, LIMIT])
}

const fn put(
    op: Op,
    path: &'static str,
    summary: &'static str,
    body: Option<Body>,
    out: Option<Body>,
) -> Endpoint {
    post(op, path, Access::Project(Operate), summary, body, (201, out)).method("PUT")
}
