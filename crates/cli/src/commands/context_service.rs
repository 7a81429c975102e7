//! How a server composes what models are sent: flags of `cardwire up`.

use crate::{embeddings::Embeddings, failure::Failure};
use cardwire_kernel::ContextConfig;
use cardwire_model::Placement;
use clap::{Args, builder::PossibleValuesParser, builder::TypedValueParser};
use secrecy::SecretString;
use std::{env, sync::Arc};

const HEADING: &str = "Context";
/// The key of the provider. No flag takes it: the arguments of a process are no secret.
const KEY: &str = "CARDWIRE_EMBEDDINGS_KEY";

#[derive(Debug, Args)]
pub(crate) struct ComposerArgs {
    /// Where layers go in every request: `seed` is the order of the specification, `cache` puts what changes from call
    /// to call after the history, so that providers can reuse what they have read.
    #[arg(long, value_name = "PLACEMENT", default_value = "seed", value_parser = placements(), help_heading = HEADING)]
    placement: Placement,
    /// Search by meaning too, with this OpenAI-compatible provider: `POST URL/embeddings`. Its key is read from
    /// CARDWIRE_EMBEDDINGS_KEY.
    #[arg(long, value_name = "URL", requires = "embeddings_model", help_heading = HEADING)]
    embeddings_url: Option<String>,
    /// The model of --embeddings-url. Documents must be taken in again when it changes.
    #[arg(long, value_name = "MODEL", requires = "embeddings_url", help_heading = HEADING)]
    embeddings_model: Option<String>,
}

fn placements() -> impl TypedValueParser<Value = Placement> {
    PossibleValuesParser::new(Placement::ALL.iter().map(|placement| placement.as_str()))
        .try_map(|name| Placement::from_name(&name).ok_or("is no placement"))
}

impl ComposerArgs {
    /// What the kernel is told.
    pub(crate) fn config(&self) -> Result<ContextConfig, Failure> {
        let mut config = ContextConfig { placement: Some(self.placement), ..ContextConfig::default() };
        if let (Some(url), Some(model)) = (&self.embeddings_url, &self.embeddings_model) {
            let embeddings = Embeddings::new(url, model, key()?)?;
            if embeddings.shows_key() {
                tracing::warn!("--embeddings-url is not HTTPS; the key crosses the network in clear text");
            }
            config.embedder = Some(Arc::new(embeddings));
        }
        Ok(config)
    }
}

fn key() -> Result<Option<SecretString>, Failure> {
    match env::var(KEY) {
        Ok(key) if key.trim().is_empty() => Ok(None),
        Ok(key) => Ok(Some(key.trim().into())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(Failure::usage(format!("`{KEY}` is not text"))),
    }
}
