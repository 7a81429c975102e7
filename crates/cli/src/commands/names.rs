//! What people call agents. Those that were made by others have ids of 65 characters that say nothing; tables show the name or
//! profile instead, and the end of the id, which tells two of a kind apart. `--json` keeps whole ids.

use crate::{
    client::{Answer, Client},
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use std::collections::HashMap;

/// Ids of agents that were made by others are longer than this.
const MADE: usize = 64;
/// How much of an id is shown.
const END: usize = 8;
/// Most agents that are looked up for one table; of others the end of the id is shown alone.
const LOOKED_UP: usize = 200;
/// Agents that are looked up at the same time.
const AT_ONCE: usize = 8;

/// Names of agents with long ids, by id.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, String>);

impl Names {
    /// The names of those who stand in these fields of a list.
    pub(super) async fn of(items: &[Value], fields: &[&str], project: &str, client: &Client) -> Self {
        let mut names = Self::default();
        names.learn(items, fields, project, client).await;
        names
    }

    /// Learns the names of those who are not known yet. A table is no worse for a name that cannot be had.
    pub(super) async fn learn(&mut self, items: &[Value], fields: &[&str], project: &str, client: &Client) {
        let ids = items.iter().flat_map(|item| fields.iter().filter_map(|field| item[field].as_str()));
        let mut unknown: Vec<_> = ids.filter(|id| id.len() > MADE && !self.0.contains_key(*id)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown.truncate(LOOKED_UP);
        let found = stream::iter(unknown)
            .map(|id| async move { (id.to_owned(), look_up(id, project, client).await.unwrap_or_default()) })
            .buffer_unordered(AT_ONCE);
        self.0.extend(found.collect::<Vec<_>>().await);
    }

    /// What an agent is called.
    pub(super) fn show(&self, id: &Value) -> String {
        let id = cell(id);
        if id.len() <= MADE {
            return id;
        }
        let end = id.get(id.len() - END..).unwrap_or(&id);
        format!("{}…{end}", self.0.get(&id).map_or("", String::as_str))
    }
}

/// A page of a list in whose table agents have names. `agents` are those of the fields that hold ids of agents.
pub(super) async fn page<const N: usize>(
    answer: &Answer,
    header: &[&str],
    fields: [&'static str; N],
    agents: &[&'static str],
    project: &str,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    let names = match output.json {
        true => Names::default(),
        false => {
            let list: Value = answer.parse()?;
            let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
            Names::of(items, agents, project, client).await
        }
    };
    let field = |item: &Value, field: &'static str| match agents.contains(&field) {
        true => names.show(&item[field]),
        false => cell(&item[field]),
    };
    output.page(answer, header, |item| fields.map(|name| field(item, name)).to_vec())
}

async fn look_up(id: &str, project: &str, client: &Client) -> Result<String, Failure> {
    let agent: Value = client.get(&Route::in_project(project, &["agents", id])?).await?.parse()?;
    Ok(cell(agent["display_name"].as_str().map_or(&agent["profile_name"], |_| &agent["display_name"])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-15
    #[test]
    fn a_long_id_is_shown_by_its_name_and_its_end() {
        let long = format!("{}_{}", "0".repeat(32), "0123456789abcdef".repeat(2));
        let names = Names([(long.clone(), "searcher".to_owned())].into());
        assert_eq!(names.show(&long.clone().into()), "searcher…89abcdef");
        assert_eq!(Names::default().show(&long.into()), "…89abcdef");
        assert_eq!(names.show(&"principal".into()), "principal");
        assert_eq!(names.show(&Value::Null), "");
    }
}
