//! Telemetry leaves the process here and nowhere else (OB-06): spans by OTLP, numbers on `/metrics`.
//!
//! Every other crate speaks `tracing` and `metrics` only; this one knows OpenTelemetry. Invariant: a collector that is down, slow
//! or rude costs spans, never work: nothing waits for it but the end of the process, and that for a moment.

mod exporter;
mod layer;
pub(crate) mod metrics;

pub(crate) use layer::{Spans, ours};

use crate::failure::Failure;
use cardwire_kernel::ids::{IdSource, SystemIds};
use clap::Args;
use opentelemetry::KeyValue;
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SpanProcessor},
};
use reqwest::Url;
use std::{sync::Arc, time::Duration};

/// Where signals of this kind go below the address of a collector.
const PATH: &str = "/v1/traces";
/// How long spans are gathered.
const EVERY: Duration = Duration::from_secs(1);
/// How many wait to be sent. More are dropped.
const QUEUE: usize = 16_384;
/// How long one request to the collector may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the end of the process waits for the last spans.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Where spans go.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    /// Send spans to the OpenTelemetry collector at this address, by OTLP over HTTP (e.g. http://127.0.0.1:4318). They hold ids,
    /// names and counts, never content. Headers for it are taken from OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true)]
    otlp_endpoint: Option<String>,
}

/// Spans on their way. When it is dropped, the last ones are sent, if they can be within a moment.
pub(crate) struct Export(Arc<BatchSpanProcessor>);

impl Drop for Export {
    fn drop(&mut self) {
        // What could not be sent was told by the exporter.
        let _ = self.0.shutdown_with_timeout(LAST_WAIT);
    }
}

impl ExportArgs {
    /// Begins to export, if that is wanted. The layer is for the subscriber of the process.
    pub(crate) fn start(&self) -> Result<Option<(Export, Spans)>, Failure> {
        let given = self.otlp_endpoint.as_deref().map(str::trim).filter(|url| !url.is_empty());
        let Some(url) = given else { return Ok(None) };
        let url = endpoint(url)?;
        let retry = RetryPolicy::disabled();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(url)
            .with_timeout(REQUEST_TIMEOUT)
            .with_retry_policy(retry)
            .build()
            .map_err(|error| Failure::usage(format!("cannot export spans: {error}")))?;
        let config = BatchConfigBuilder::default().with_max_queue_size(QUEUE).with_scheduled_delay(EVERY);
        let mut processor = BatchSpanProcessor::new(exporter::Quiet::new(exporter), config.build());
        processor.set_resource(&resource());
        let processor = Arc::new(processor);
        Ok(Some((Export(Arc::clone(&processor)), Spans::new(processor))))
    }
}

/// Who we are.
fn resource() -> Resource {
    Resource::builder_empty()
        .with_attributes([
            KeyValue::new("service.name", "cardwire"),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", SystemIds.uuid().to_string()),
        ])
        .build()
}

/// The address that spans are posted to. SEC-03: an address with a password in it is refused.
fn endpoint(given: &str) -> Result<String, Failure> {
    // The address is not repeated: there may be a secret in it.
    let wrong = |why: &str| {
        Failure::usage(format!("`--otlp-endpoint` {why}")).hint(
            "an address looks like `http://127.0.0.1:4318`; headers go into `OTEL_EXPORTER_OTLP_HEADERS`",
        )
    };
    let mut url = Url::parse(given).map_err(|error| wrong(&format!("is not an address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("must be an `http://` or `https://` address"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(wrong("must not hold a user, a password or a query"));
    }
    let path = url.path().trim_end_matches('/');
    if !path.ends_with(PATH) {
        let path = format!("{path}{PATH}");
        url.set_path(&path);
    }
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_go_below_the_address_of_the_collector() {
        for (given, to) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            ("https://otel.example/proxy/", "https://otel.example/proxy/v1/traces"),
            ("https://otel.example/v1/traces", "https://otel.example/v1/traces"),
        ] {
            assert_eq!(endpoint(given).unwrap(), to);
        }
    }

    /// SEC-03
    #[test]
    fn an_address_with_a_secret_or_without_a_host_is_refused_and_not_repeated() {
        for wrong in [
            "nonsense",
            "grpc://127.0.0.1:4317",
            "http://me:hunter2@127.0.0.1",
            "http://127.0.0.1/?key=hunter2",
            "file:///hunter2",
        ] {
            let failure = endpoint(wrong).unwrap_err();
            assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
        }
    }
}
