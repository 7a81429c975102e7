//! Lines that end: a reader that fails where a line gets longer than it may be, so that a program cannot fill the memory.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

/// A reader of bounded lines.
#[derive(Debug)]
pub(super) struct Bounded<R> {
    from: R,
    most: usize,
    /// Bytes of the line that has not ended.
    length: usize,
}

impl<R> Bounded<R> {
    pub(super) const fn new(from: R, most: usize) -> Self {
        Self { from, most, length: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.from).poll_read(cx, buf))?;
        for at in before..buf.filled().len() {
            self.length = if buf.filled()[at] == b'\n' { 0 } else { self.length + 1 };
            if self.length > self.most {
                // A read that fails has read nothing.
                buf.set_filled(before);
                let reason = format!("a line is longer than {} bytes", self.most);
                return Poll::Ready(Err(io::Error::other(reason)));
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    /// SEC-07
    #[tokio::test]
    async fn a_line_may_be_as_long_as_it_may_be() {
        let read = async |text: &[u8]| {
            let mut all = vec![];
            Bounded::new(text, 4).read_to_end(&mut all).await.map(|_| all)
        };
        assert_eq!(read(b"1234\n1234\n12").await.unwrap(), b"1234\n1234\n12");
        assert!(read(b"1234\n12345\n").await.is_err());
    }
}
