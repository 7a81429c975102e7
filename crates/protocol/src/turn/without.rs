//! Layers that a turn or one of its calls goes without, to see what comes of it (RP-06).

use cardwire_model::{CanonicalJson, Invalid, Layer};

/// Where the settings of a run name them.
const SETTING: &str = "without_layers";

/// Whether requests can be made without the layer. What is asked, and what was said since, cannot be left out: a call without
/// them is none.
pub const fn may_go(layer: Layer) -> bool {
    match layer {
        Layer::Query | Layer::Turn | Layer::Tools => false,
        Layer::SystemPrompt
        | Layer::Framework
        | Layer::Experience
        | Layer::Knowledge
        | Layer::Todo
        | Layer::Compression
        | Layer::Extra
        | Layer::Checkpoint => true,
    }
}

/// The layer of this name, if it can be left out.
pub fn layer(field: &str, name: &str) -> Result<Layer, Invalid> {
    Layer::from_name(name).filter(|layer| may_go(*layer)).ok_or_else(|| {
        let names: Vec<_> =
            Layer::ALL.iter().filter(|layer| may_go(**layer)).map(|layer| layer.as_str()).collect();
        Invalid::field(field, format!("must be one of {}", names.join(", ")))
    })
}

/// Checks what the settings of a run leave out.
pub fn check(runtime_config: &CanonicalJson) -> Result<(), Invalid> {
    let given = runtime_config.members().and_then(|mut all| all.find(|(name, _)| name == SETTING));
    let Some((_, given)) = given else { return Ok(()) };
    let field = format!("runtime_config/{SETTING}");
    let names: Option<Vec<String>> =
        serde_json::from_str(given).map_err(|_| Invalid::field(&field, "must be a list of layers"))?;
    for (index, name) in names.iter().flatten().enumerate() {
        layer(&format!("{field}/{index}"), name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::agent::json;

    /// RP-06
    #[test]
    fn only_layers_that_a_call_can_do_without_are_left_out() {
        for good in [
            "{}",
            r#"{"without_layers":null}"#,
            r#"{"without_layers":[]}"#,
            r#"{"without_layers":["framework","system_prompt"]}"#,
        ] {
            assert_eq!(check(&json(good)), Ok(()), "{good}");
        }
        for (bad, field) in [
            (r#"{"without_layers":"framework"}"#, "runtime_config/without_layers"),
            (r#"{"without_layers":[7]}"#, "runtime_config/without_layers"),
            (r#"{"without_layers":["zzz"]}"#, "runtime_config/without_layers/0"),
            (r#"{"without_layers":["todo","query"]}"#, "runtime_config/without_layers/1"),
            (r#"{"without_layers":["turn"]}"#, "runtime_config/without_layers/0"),
        ] {
            assert_eq!(check(&json(bad)).unwrap_err().field_name(), field, "{bad}");
        }
    }
}
