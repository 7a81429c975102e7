//! What an address must look like before it is kept: `http:` or `https:`, with a host, without a user.
//!
//! It must not know networks or who may go where; that is decided when a call is made. Invariant: an address that passes
//! holds no credentials.

/// Refuses a text to which no call could go, or that holds a user or a password, with a short clause.
pub fn check_web_address(text: &str) -> Result<(), &'static str> {
    let is_web = |scheme: &str| ["http", "https"].iter().any(|legal| scheme.eq_ignore_ascii_case(legal));
    let Some((_, rest)) = text.split_once("://").filter(|(scheme, _)| is_web(scheme)) else {
        return Err("must begin with http:// or https://");
    };
    // Clients drop some of these before they read an address, and would read another than was checked.
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("must not hold blanks or control characters");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("takes no user and no password");
    }
    if authority.is_empty() || authority.starts_with([':', '\\']) {
        return Err("names no host");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-39, SEC-08, SEC-09
    #[test]
    fn an_address_is_http_with_a_host_and_without_a_user() {
        for legal in [
            "http://127.0.0.1:1/",
            "https://x",
            "HTTPS://X.example/a@b?c=d://e",
            "http://[::1]:80/mcp",
            "https://x?key=a",
        ] {
            assert_eq!(check_web_address(legal), Ok(()), "{legal}");
        }
        for wrong in [
            "",
            "x",
            "x.example/y",
            "//x",
            "http:x",
            "http:/x",
            "http://",
            "http:///x",
            "http://?x",
            "http://:80/",
            "http://\\x",
            "file:///etc/passwd",
            "gopher://x",
            "ftp://x/",
            " http://x",
            "http://x/\n",
            "ht\ttp://x",
            "http://me@x",
            "http://me:hunter2@x/",
            "http://x\\@y/",
            "http://:@x",
        ] {
            assert!(check_web_address(wrong).is_err(), "{wrong}");
        }
    }
}
