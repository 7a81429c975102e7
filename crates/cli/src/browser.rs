//! The browser of the desktop, for a person at a terminal. Without a desktop nothing is opened: `xdg-open` would start a browser
//! of text in the terminal that the command writes to.
//!
//! The program that opens the browser has a process group of its own, so that Ctrl-C ends this command and not the browser.

use crate::output::Output;
use std::{env, process::Stdio};
use tokio::process::Command;

/// What opens an address with the program that a person has chosen for it.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens an address where a person would see it. The address is printed anyway, so failing is no error.
pub(crate) fn open(address: &str, output: Output) {
    if !output.is_for_a_person() || !has_desktop() {
        return;
    }
    let mut opener = Command::new(OPENER);
    opener.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    opener.process_group(0);
    // The runtime waits for it when it ends.
    if let Err(error) = opener.spawn() {
        tracing::debug!(%error, OPENER, "could not open a browser");
    }
}

fn has_desktop() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(not(target_os = "linux")) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
