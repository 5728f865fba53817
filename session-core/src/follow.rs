//! New events as they are appended.

use futures_util::StreamExt;
use futures_util::stream;

use crate::events::Verified;
use crate::verify::verified;
use crate::{Event, Head, Result, SeqNum, Session};

/// Reads to the end, waits for more, and goes on from the verified end of what was read.
struct Follow {
    session: Session,
    next: SeqNum,
    head: Option<Head>,
    live: Option<Verified>,
}

/// The events from a position on, stored and new: ends only with an error.
pub(crate) fn follow(session: Session, from: SeqNum) -> Verified {
    let follow = Follow {
        session,
        next: from,
        head: None,
        live: None,
    };
    stream::unfold(Some(follow), |follow| async move {
        let mut follow = follow?;
        match follow.next().await {
            Ok(chunk) => Some((Ok(chunk), Some(follow))),
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed()
}

impl Follow {
    async fn next(&mut self) -> Result<(Vec<Event>, Head)> {
        loop {
            let Session { backend, at } = &self.session;
            let live = self.live.get_or_insert_with(|| {
                verified(
                    backend.clone(),
                    at.clone(),
                    self.next..SeqNum::MAX,
                    self.head,
                )
            });
            if let Some(chunk) = live.next().await {
                let (events, head) = chunk?;
                self.next = head.tail;
                self.head = Some(head);
                return Ok((events, head));
            }
            self.live = None;
            backend.changed(at, self.next).await?;
        }
    }
}
