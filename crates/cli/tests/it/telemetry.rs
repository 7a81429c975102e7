//! Telemetry as its readers meet it (OB-06): a strict receiver of spans, and `/metrics` against its documentation.

mod content;
mod export;
mod numbers;
mod receiver;
mod tree;
mod trouble;
