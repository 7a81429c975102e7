//! The models that agents use, made once for each configuration.

use cardwire_llm::{ChatModel, ConfigError, Keys, build};
use serde_json::Value;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// How many configurations are remembered. Beyond that all are made anew.
const REMEMBERED: usize = 256;

/// Models by configuration.
pub(crate) struct Models {
    keys: Arc<dyn Keys>,
    made: Mutex<HashMap<String, Arc<dyn ChatModel>>>,
}

impl fmt::Debug for Models {
    // Keys are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").finish_non_exhaustive()
    }
}

impl Models {
    pub(crate) fn new(keys: Arc<dyn Keys>) -> Self {
        Self { keys, made: Mutex::default() }
    }

    /// The model of a configuration. Which agent asks is no part of it.
    pub(crate) fn get(&self, config: &Value) -> Result<Arc<dyn ChatModel>, ConfigError> {
        let mut config = config.clone();
        if let Some(fields) = config.as_object_mut() {
            fields.remove("agent");
        }
        let name = config.to_string();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = made.get(&name) {
            return Ok(Arc::clone(model));
        }
        let model = build(&config, self.keys.as_ref())?;
        if made.len() >= REMEMBERED {
            made.clear();
        }
        made.insert(name, Arc::clone(&model));
        Ok(model)
    }
}
