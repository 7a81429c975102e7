//! The pages on which a person sees what agents were given, and why: from view values to HTML, and to Markdown for another agent.
//!
//! Each page is a pure function. This crate must not know a store, a clock, HTTP or JSON bodies; the server gathers what a page
//! shows into a view and calls the page. Text from cards is escaped by the template, always.
//! Invariant: no page has a script or a style inside it, so that the browser may refuse both (IN-03).

pub mod assets;
mod frame;
pub mod markdown;
pub mod pages;
pub mod parts;
pub mod text;
mod words;

pub use frame::{Body, Crumb, Frame, Maybe, Section, page};
