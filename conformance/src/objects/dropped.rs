//! The law of operations that are given up while a request of theirs is under way.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use sessionlog_core::{AppendCondition, FencingToken};

use super::acts::Answer;
use super::explore::{Search, search};
use super::play::Play;
use super::works::happened;
use crate::bench::{Ask, Bench};
use crate::breach::{Held, ensure};
use crate::make::{pieces, request, snapshot};

/// What is given up.
#[derive(Clone, Copy)]
enum Given {
    Append,
    Acquire,
    Save,
    Put,
    Create,
    Delete,
}

const ALL: [Given; 6] = [
    Given::Append,
    Given::Acquire,
    Given::Save,
    Given::Put,
    Given::Create,
    Given::Delete,
];

/// More polls than any operation needs.
const MOST: u64 = 40;

/// Polls an operation so many times and drops it. Whether it had ended.
async fn polled<T>(mut times: u64, op: impl Future<Output = T>) -> bool {
    let mut op = pin!(op);
    poll_fn(|cx| {
        if times == 0 {
            return Poll::Ready(false);
        }
        times -= 1;
        match op.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending => {
                // It is polled or dropped next, whatever it waits for.
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    })
    .await
}

impl Play<'_> {
    /// Does something to a life, with requests that linger, and gives it up after so many polls.
    /// Whether it had ended, and the batch if it was an append.
    async fn give_up(
        &self,
        what: Given,
        times: u64,
        life: usize,
        token: Option<u64>,
    ) -> Held<(bool, Option<usize>)> {
        let session = self.session(life)?;
        let client = self.client(0)?;
        let fence = token.map(FencingToken::new);
        self.conductor.begin(0);
        self.conductor.linger(true);
        let before = self.conductor.sent();
        let mut batch = None;
        let ended = match what {
            Given::Append => {
                let sent = self.history().batch(life, 2, token);
                if let Some(sent) = self.history().batches.get_mut(sent) {
                    sent.perhaps = true;
                }
                batch = Some(sent);
                let condition = fence.map_or(AppendCondition::NONE, AppendCondition::with);
                let append = client.append(&session, self.events(sent), condition);
                polled(times, append).await
            }
            Given::Acquire => {
                // It may be granted, and nobody knows.
                self.history().want(0);
                polled(
                    times,
                    client.acquire(&session, request("client 0")?.forced()),
                )
                .await
            }
            Given::Save => {
                let head = self.observer.end(&session).await?;
                let kept = snapshot(head.tail.get(), head.sum, "given up");
                let asked = self.history().tick();
                self.history().saved.push(super::history::Saved {
                    life,
                    snapshot: kept.clone(),
                    token: token.unwrap_or(u64::MAX),
                    asked,
                });
                polled(times, client.save(&session, kept, fence)).await
            }
            Given::Put => {
                let content = bytes::Bytes::from(super::play::marker(life));
                polled(times, client.put(&session, pieces(&content, 10), fence)).await
            }
            Given::Create => polled(times, client.create(&session)).await,
            Given::Delete => {
                let now = self.history().tick();
                if let Some(life) = self.history().lives.get_mut(life) {
                    life.dying.get_or_insert(now);
                }
                polled(times, client.delete(&session, fence)).await
            }
        };
        self.conductor.linger(false);
        if !ended && self.conductor.sent() > before {
            self.bench
                .sometimes("given up while a request was under way", 1);
        }
        Ok((ended, batch))
    }

    /// A session one operation of which is given up after so many polls. Whether it had ended.
    async fn with_one_given_up(&self, what: Given, times: u64, replaced: bool) -> Held<bool> {
        let life = self.life()?;
        let (mut token, mut first) = (None, None);
        if !matches!(what, Given::Create) {
            if !self.create(0, life).await? {
                return Ok(true);
            }
            token = self.acquire(0, life).await?;
            let sent = self.history().batch(life, 2, token);
            self.append_surely(0, sent).await?;
            first = Some(sent);
        }
        let (ended, batch) = self.give_up(what, times, life, token).await?;
        if matches!(what, Given::Create) && !self.create_again(0, life, true).await? {
            return Ok(true);
        }
        let mut new = None;
        if replaced {
            new = self.acquire(1, life).await?;
            let sent = self.history().batch(life, 1, new);
            self.append_surely(1, sent).await?;
        }
        // Its handle goes on; what is sent again is found where it is.
        for batch in [first, batch].into_iter().flatten() {
            self.append_surely(0, batch).await?;
        }
        let late = self.history().batch(life, 1, token);
        let answer = self.append_surely(0, late).await?;
        ensure!(
            new.is_none() || token.is_none() || answer != Answer::Acked,
            "an append with token {token:?} was acknowledged after token {new:?} was granted"
        );
        let plain = self.history().batch(life, 1, None);
        self.append_surely(1, plain).await?;
        Ok(ended)
    }
}

pub(crate) async fn g02_an_operation_given_up_among_requests_is_whole_or_absent(
    bench: &Bench,
) -> Held {
    let budget = bench.options.budget;
    let few = Search {
        depth: 0,
        few: budget.of(0, 0, 1),
        most: budget.of(1, 1, 20_000),
        random: budget.of(0, 0, 20),
    };
    for what in ALL {
        for replaced in [false, true] {
            for times in 1..MOST {
                let ended = std::cell::Cell::new(true);
                search(bench, 2, &few, async |play| {
                    if !play.with_one_given_up(what, times, replaced).await? {
                        ended.set(false);
                    }
                    Ok(())
                })
                .await?;
                if ended.get() {
                    break;
                }
            }
        }
    }
    happened(
        bench,
        &["given up while a request was under way", "take-overs"],
    )
}
