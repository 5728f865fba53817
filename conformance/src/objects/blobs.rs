//! The law of blobs whose requests are spoiled.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::TryStreamExt;
use sessionlog_core::{BlobId, BlobInfo, Error, ErrorKind, FencingToken};

use super::explore::search;
use super::play::{Play, odd};
use super::request::Fault;
use super::works::{happened, usual};
use crate::bench::{Ask, Bench};
use crate::breach::{Held, ensure, ensure_eq};
use crate::make::{noise, pieces};

/// What must be true of a blob at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    There,
    Gone,
    Unknown,
}

/// The blobs of a life and their fates.
struct Blobs<'a> {
    play: &'a Play<'a>,
    life: usize,
    fates: BTreeMap<Vec<u8>, Fate>,
    /// Those of which nobody knows whether a put of them is still to happen.
    open: BTreeSet<Vec<u8>>,
}

impl Blobs<'_> {
    async fn put(&mut self, client: usize, content: &[u8], token: Option<u64>) -> Held {
        let session = self.play.session(self.life)?;
        let handle = self.play.client(client)?;
        let token = token.map(FencingToken::new);
        let put = handle.put(&session, pieces(content, 1_500), token);
        let put = self.play.bounded(client, put).await?;
        let before = self.fate(content);
        let fate = match put.as_ref().map_err(Error::kind) {
            Ok(info) => {
                ensure_eq!(info.id, BlobId::of(content), "the name of a blob");
                Fate::There
            }
            Err(ErrorKind::Indeterminate) => {
                self.open.insert(content.to_vec());
                match before {
                    Fate::There => before,
                    _ => Fate::Unknown,
                }
            }
            // It did not happen.
            Err(ErrorKind::Unavailable) if self.play.may_fail() => before,
            Err(_) => return Err(odd("the put of a blob", &put)),
        };
        self.fates.insert(content.to_vec(), fate);
        Ok(())
    }

    async fn remove(&mut self, client: usize, content: &[u8], token: Option<u64>) -> Held {
        let session = self.play.session(self.life)?;
        let handle = self.play.client(client)?;
        let removing = handle.remove(&session, BlobId::of(content), token.map(FencingToken::new));
        let removed = self.play.bounded(client, removing).await?;
        let before = self.fate(content);
        let fate = match removed.as_ref().map_err(Error::kind) {
            Ok(()) if self.is_late(content) => Fate::Unknown,
            Ok(()) => Fate::Gone,
            Err(ErrorKind::Fenced { .. }) if token.is_some() => before,
            Err(ErrorKind::Indeterminate) if before != Fate::Gone => Fate::Unknown,
            Err(ErrorKind::Indeterminate) => before,
            Err(ErrorKind::Unavailable) if self.play.may_fail() => before,
            Err(_) => return Err(odd("the removal of a blob", &removed)),
        };
        self.fates.insert(content.to_vec(), fate);
        Ok(())
    }

    /// Whether a put may happen behind a removal that was asked for behind it: a request of it that
    /// was not answered is perhaps still on its way.
    fn is_late(&self, content: &[u8]) -> bool {
        let faults = self.play.conductor.faults();
        let late = |fault: &Fault| matches!(fault, Fault::Late(_));
        self.open.contains(content) && faults.values().any(late)
    }

    fn fate(&self, content: &[u8]) -> Fate {
        self.fates.get(content).copied().unwrap_or(Fate::Gone)
    }

    /// Each is there or not, as was answered, and whole if it is there.
    async fn check(&self) -> Held {
        let session = self.play.session(self.life)?;
        let store = self.play.anew().await?;
        let listed: Vec<BlobInfo> = store.list(&session).try_collect().await?;
        for (content, fate) in &self.fates {
            let id = BlobId::of(content);
            let len = content.len();
            let there = listed.iter().any(|info| info.id == id);
            ensure!(
                there || *fate != Fate::There,
                "a blob of {len} bytes whose put was acknowledged last is not listed"
            );
            ensure!(
                !there || *fate != Fate::Gone,
                "a blob of {len} bytes is listed: no put of it happened since its last removal"
            );
            let got = store.blob(&session, id, 0..u64::MAX).await;
            match got {
                Ok(got) => {
                    ensure!(there, "a blob of {len} bytes can be read and is not listed");
                    ensure_eq!(got, *content, "a listed blob");
                }
                Err(error) if error.is_not_found() && !there => {}
                Err(error) => return Err(error.into()),
            }
        }
        ensure!(
            listed.len() <= self.fates.len(),
            "more blobs are listed than were put"
        );
        Ok(())
    }
}

pub(crate) async fn a01_object_faults_leave_blobs_whole_or_absent(bench: &Bench) -> Held {
    search(bench, 2, &usual(bench), async |play| {
        play.conductor.arm(false);
        let life = play.life()?;
        play.create(0, life).await?;
        let old = play.acquire(0, life).await?;
        play.conductor.arm(true);
        let mut blobs = Blobs {
            play,
            life,
            fates: BTreeMap::new(),
            open: BTreeSet::new(),
        };
        let (small, large) = (noise(1, 10), noise(2, 5_000));
        blobs.put(0, &small, old).await?;
        blobs.put(0, &large, old).await?;
        blobs.put(0, &small, old).await?;
        // What is removed can be put again, and an old removal that comes late does not reach it.
        blobs.remove(0, &small, old).await?;
        blobs.put(0, &small, old).await?;
        blobs.remove(0, &large, old).await?;
        play.conductor.arm(false);
        let new = play.acquire(1, life).await?;
        play.conductor.arm(true);
        if let Some(new) = new {
            blobs.put(1, &large, Some(new)).await?;
            // It does not know yet that it was replaced.
            blobs.remove(0, &large, old).await?;
        }
        play.calm().await;
        blobs.check().await?;
        Ok(())
    })
    .await?;
    happened(bench, &["spoiled requests", "take-overs"])
}
