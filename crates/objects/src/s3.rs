//! How to reach a bucket.

use super::ObjectFiles;
use cardwire_handoff::FileError;
use object_store::{
    BackoffConfig, ClientOptions, RetryConfig,
    aws::{AmazonS3Builder, S3ConditionalPut},
};
use std::{io, sync::Arc, time::Duration};
use tokio::runtime::Handle;

/// A request that takes longer has failed, and is tried again.
const REQUEST: Duration = Duration::from_secs(20);
/// Requests are tried again so long and so often; whoever asked for files waits meanwhile.
const RETRIES: usize = 4;
const PATIENCE: Duration = Duration::from_secs(40);

/// A bucket and what opens it.
#[derive(Clone, Default)]
pub struct S3 {
    /// Its name.
    pub bucket: String,
    /// The server, when it is not Amazon's.
    pub endpoint: Option<String>,
    /// `us-east-1` when absent.
    pub region: Option<String>,
    /// With the secret: who asks. Without both, the machine's own role is used where there is one.
    pub access_key_id: Option<String>,
    /// The secret of the key.
    pub secret_access_key: Option<String>,
    /// For keys that end.
    pub session_token: Option<String>,
}

impl ObjectFiles {
    /// The objects of a bucket. Nothing is asked of it yet.
    pub fn s3(bucket: S3, runtime: Handle) -> Result<Self, FileError> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            return Err(FileError::Io(io::Error::other("the program installs no cryptography for TLS")));
        }
        let S3 { bucket, endpoint, region, access_key_id, secret_access_key, session_token } = bucket;
        let retry =
            RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES, retry_timeout: PATIENCE };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(region.unwrap_or_else(|| "us-east-1".to_owned()))
            // What is there is not overwritten (HO-11), and the store makes sure of it.
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_client_options(ClientOptions::new().with_timeout(REQUEST))
            .with_retry(retry);
        if let Some(endpoint) = endpoint {
            builder = builder.with_allow_http(endpoint.starts_with("http://")).with_endpoint(endpoint);
        }
        if let Some(key) = access_key_id {
            builder = builder.with_access_key_id(key);
        }
        if let Some(secret) = secret_access_key {
            builder = builder.with_secret_access_key(secret);
        }
        if let Some(token) = session_token {
            builder = builder.with_token(token);
        }
        let store = builder.build().map_err(|error| FileError::Io(io::Error::other(error)))?;
        Ok(Self::new(Arc::new(store), runtime))
    }
}
