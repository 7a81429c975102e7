//! Signing in, the session, and what went wrong.

use crate::{Body, Frame, page};
use maud::{Markup, html};

/// Where a person signs in: by a code in the address, which a script posts, or by a token.
pub fn sign_in(frame: &Frame, wrong: Option<&str>, target: &str) -> Markup {
    let work = html! {
        section.work.padded aria-label="Sign in" {
            @if let Some(wrong) = wrong { p.note.bad role="alert" { (wrong) } }
            form method="post" action="/inspect/login" data-login {
                input type="hidden" name="target" value=(target);
                input type="hidden" name="code" value="";
                p { label for="token" { "Access token" } }
                p { input #token name="token" type="password" autocomplete="off" size="56"; }
                p { button.primary { "Sign in" } }
            }
            p.soft { "Or run this where the server runs; it opens the inspector by itself:" }
            pre.box { "cardwire open" }
        }
    };
    page(frame, Body { work: Some(work), ..Body::default() })
}

/// The session: what it reaches, and the switch that lets it write.
pub fn session(frame: &Frame, reach: &str, left: &str) -> Markup {
    let work = html! {
        section.work.padded aria-label="Session" {
            p { "This session has the reach of " b { (reach) } " and ends in " (left) "." }
            form method="post" action="/inspect/session" {
                @if frame.may_write {
                    p { "It may write: answer questions, stop turns, fork runs." }
                    button name="write" value="off" { "Read only" }
                } @else {
                    p { "It reads only. Nothing that you click changes anything." }
                    button.primary name="write" value="on" { "Let it write" }
                }
            }
            form method="post" action="/inspect/logout" { p { button { "Sign out" } } }
        }
    };
    page(frame, Body { work: Some(work), ..Body::default() })
}

/// What went wrong, why, and what to do.
pub fn problem(frame: &Frame, why: &str, what_to_do: &str) -> Markup {
    let work = html! {
        section.work.padded aria-label="Problem" {
            p.note.bad role="alert" { (why) }
            p { (what_to_do) }
            p { a.button href="/inspect" { "All projects" } }
        }
    };
    page(frame, Body { work: Some(work), ..Body::default() })
}
