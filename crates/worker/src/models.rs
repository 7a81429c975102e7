//! The models that agents use, made once for each project and configuration.

use cardwire_egress::{Asker, Door};
use cardwire_llm::{ChatModel, ConfigError, build};
use serde_json::Value;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// How many configurations are remembered. Beyond that all are made anew.
const REMEMBERED: usize = 256;

/// Models by project and configuration.
pub(crate) struct Models {
    door: Arc<Door>,
    made: Mutex<HashMap<(String, String), Arc<dyn ChatModel>>>,
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").finish_non_exhaustive()
    }
}

impl Models {
    pub(crate) fn new(door: Arc<Door>) -> Self {
        Self { door, made: Mutex::default() }
    }

    /// The model of a configuration. Which agent asks is no part of it; which project does is, because a scripted model
    /// counts how often its rules have answered, and nobody uses up what another project is to be told.
    pub(crate) fn get(&self, project: &str, config: &Value) -> Result<Arc<dyn ChatModel>, ConfigError> {
        let mut config = config.clone();
        if let Some(fields) = config.as_object_mut() {
            fields.remove("agent");
        }
        let name = (project.to_owned(), config.to_string());
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = made.get(&name) {
            return Ok(Arc::clone(model));
        }
        let model = build(&config, &self.door, Asker::Project(project))?;
        if made.len() >= REMEMBERED {
            made.clear();
        }
        made.insert(name, Arc::clone(&model));
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_llm::ModelRequest;
    use serde_json::json;

    #[tokio::test]
    async fn what_a_script_says_once_it_says_once_in_each_project() {
        let models = Models::new(Arc::new(Door::bare()));
        let rules = json!([{ "match": { "times": 1 }, "reply": "once" }, { "reply": "then" }]);
        let config =
            |agent: &str| json!({ "provider": "scripted", "script": { "rules": rules }, "agent": agent });
        let said = async |project: &str, agent: &str| {
            let request = ModelRequest {
                body: r#"{"messages":[{"role":"user","content":"x"}]}"#.to_owned(),
                agent_id: agent.to_owned(),
                role: None,
                turn_id: "t".to_owned(),
                call_id: "c".to_owned(),
                step: 1,
            };
            models.get(project, &config(agent)).unwrap().call(&request, &()).await.unwrap().text
        };
        assert_eq!((said("p1", "a").await, said("p1", "b").await), ("once".to_owned(), "then".to_owned()));
        assert_eq!((said("p2", "a").await, said("p2", "a").await), ("once".to_owned(), "then".to_owned()));
    }
}
