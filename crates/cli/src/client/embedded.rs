//! Requests into this process: the server's own router over the store in the data directory.

use super::{Answer, ByteStream, Payload};
use crate::{admin, data_dir::DataDir, failure::Failure, replays::ByWorker, route::Route, store};
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, Response, header},
};
use cardwire_handoff::Files;
use cardwire_kernel::{Kernel, KernelConfig};
use cardwire_model::TokenSecret;
use cardwire_server::ServerConfig;
use cardwire_store::Store;
use cardwire_store_sqlite::{Loss, OpenError};
use futures_util::{StreamExt, TryStreamExt};
use std::sync::Arc;
use tower::ServiceExt;

/// One command reads little twice.
const CACHE_BYTES: u64 = 16 << 20;

/// A server without a socket.
pub(crate) struct Embedded {
    router: Router,
    kernel: Arc<Kernel>,
    token: TokenSecret,
    files: Arc<dyn Files>,
}

impl Embedded {
    /// Opens the store in the data directory. Whoever can do that may do everything, so the admin token is used
    /// unless another is given.
    pub(crate) async fn open(
        dir: &DataDir,
        token: Option<TokenSecret>,
        files: Arc<dyn Files>,
    ) -> Result<Self, EmbedError> {
        let store = store::open_sqlite(dir, Loss::Refused).map_err(EmbedError::Open)?;
        let config = KernelConfig { cache_bytes: CACHE_BYTES, ..KernelConfig::new(Arc::new(store)) };
        Self::over(Kernel::idle(config), dir, token, files).await.map_err(EmbedError::Token)
    }

    /// The same with everything that a server does in the background.
    pub(crate) async fn open_working(
        dir: &DataDir,
        token: Option<TokenSecret>,
        files: Arc<dyn Files>,
    ) -> Result<Self, EmbedError> {
        let store = store::open_sqlite(dir, Loss::Refused).map_err(EmbedError::Open)?;
        let kernel = Kernel::start(KernelConfig::new(Arc::new(store)));
        Self::over(kernel, dir, token, files).await.map_err(EmbedError::Token)
    }

    /// Looks at a store that was opened here, before anybody works on it.
    pub(crate) async fn looking(
        store: Arc<dyn Store>,
        dir: &DataDir,
        files: Arc<dyn Files>,
    ) -> Result<Self, Failure> {
        let config = KernelConfig { cache_bytes: CACHE_BYTES, ..KernelConfig::new(store) };
        Self::over(Kernel::idle(config), dir, None, files).await
    }

    /// A server's own router, for what its process asks itself. It is not closed: the server is.
    pub(crate) fn within(
        router: &Router,
        kernel: &Arc<Kernel>,
        token: &TokenSecret,
        files: &Arc<dyn Files>,
    ) -> Self {
        Self {
            router: router.clone(),
            kernel: Arc::clone(kernel),
            token: token.clone(),
            files: Arc::clone(files),
        }
    }

    /// The kernel, the token that opens it, and the files beside it.
    pub(crate) fn inside(&self) -> (&Arc<Kernel>, &TokenSecret, &Arc<dyn Files>) {
        (&self.kernel, &self.token, &self.files)
    }

    /// What answers here, to be put on a socket.
    pub(crate) const fn router(&self) -> &Router {
        &self.router
    }

    async fn over(
        kernel: Arc<Kernel>,
        dir: &DataDir,
        token: Option<TokenSecret>,
        files: Arc<dyn Files>,
    ) -> Result<Self, Failure> {
        let token = match token {
            Some(token) => token,
            None => admin::ensure(&kernel, dir).await?,
        };
        let config = ServerConfig {
            workspace: Some(Arc::clone(&files)),
            replays: Some(Arc::new(ByWorker { files: Arc::clone(&files) })),
            ..ServerConfig::new(env!("CARGO_PKG_VERSION"))
        };
        let router = cardwire_server::router(Arc::clone(&kernel), config);
        Ok(Self { router, kernel, token, files })
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        route: &Route,
        body: Option<Payload>,
    ) -> Result<Answer, Failure> {
        let response = self.call(method, route, body, None).await?;
        read(response).await
    }

    pub(crate) async fn open_stream(
        &self,
        route: &Route,
        last_event_id: Option<u64>,
    ) -> Result<Result<ByteStream, Answer>, Failure> {
        let response = self.call(Method::GET, route, None, last_event_id).await?;
        if !response.status().is_success() {
            return read(response).await.map(Err);
        }
        let failed = |error: axum::Error| Failure::failed(error.to_string());
        Ok(Ok(response.into_body().into_data_stream().map_err(failed).boxed()))
    }

    async fn call(
        &self,
        method: Method,
        route: &Route,
        body: Option<Payload>,
        last_event_id: Option<u64>,
    ) -> Result<Response<Body>, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(route.as_str())
            .header(header::HOST, "localhost")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token.expose()))
            .header(header::CONTENT_TYPE, body.as_ref().map_or(Payload::JSON, |body| body.content_type));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let request = request
            .body(Body::from(body.map(|body| body.text).unwrap_or_default()))
            .map_err(|error| Failure::usage(format!("this cannot be asked: {error}")))?;
        match self.router.clone().oneshot(request).await {
            Ok(response) => Ok(response),
            Err(never) => match never {},
        }
    }

    /// Does what a server's background work would have done, and closes the store.
    pub(crate) async fn close(&self) {
        if let Err(error) = self.kernel.seal_audit().await {
            tracing::warn!(%error, "could not seal audit rows");
        }
        self.kernel.shutdown().await;
    }
}

async fn read(response: Response<Body>) -> Result<Answer, Failure> {
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), usize::MAX).await;
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes.into()).ok());
    let text = text.ok_or_else(|| Failure::failed("the answer could not be read"))?;
    Ok(Answer { status, text })
}

/// Why a store could not be opened here.
#[derive(Debug)]
pub(crate) enum EmbedError {
    /// It does not open.
    Open(OpenError),
    /// It opens, but the data directory's token is no use.
    Token(Failure),
}
