//! Each rule of the linter for both providers, and that every composed request is valid.

mod rules;
mod shapes;
mod valid;
