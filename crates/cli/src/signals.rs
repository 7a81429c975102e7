//! Being told to stop: SIGTERM and SIGINT, or Ctrl-C where there are no signals.

use crate::failure::Failure;

/// Signals that ask this process to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// From now on signals are ours to answer.
    pub(crate) fn listen() -> Result<Self, Failure> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let failed = |error| Failure::failed(format!("cannot listen for signals: {error}"));
            Ok(Self {
                terminate: signal(SignalKind::terminate()).map_err(failed)?,
                interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Completes with the next one.
    pub(crate) async fn next(&mut self) {
        self.told().await;
    }

    /// Completes with the next one, and says who sent it.
    pub(crate) async fn told(&mut self) -> Told {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => Told::Terminate,
            _ = self.interrupt.recv() => Told::Interrupt,
        }
        #[cfg(not(unix))]
        {
            let _ = tokio::signal::ctrl_c().await;
            Told::Interrupt
        }
    }
}

/// A signal that asks this process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// SIGTERM: another program wants it.
    #[cfg(unix)]
    Terminate,
    /// Ctrl-C: a person wants it, who may be asked.
    Interrupt,
}
