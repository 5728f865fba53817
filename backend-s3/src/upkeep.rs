//! Looking for damage.

use std::sync::Arc;

use async_trait::async_trait;
use sessionlog_core::{
    Error, ErrorKind, Finding, Head as LogEnd, Place, Repair, Result, SessionId, SessionRef,
    Severity, Upkeep,
};

use crate::Bucket;
use crate::blob::DAMAGED;
use crate::head::Stamp;
use crate::key::{Named, Part};
use crate::seat::{Done, Seat, What};
use crate::snapshot::decode;
use crate::stray::foreign;
use crate::view::View;

/// How often a session is looked at that others write to: damage is what two looks in a row find.
const LOOKS: u32 = 6;

#[async_trait]
impl Upkeep for Bucket {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        let seat = self.seat(id);
        let (mut before, mut sure) = (Vec::new(), Vec::new());
        for _ in 0..LOOKS {
            let (looked, found) = self.found_in(&seat).await?;
            let is_sure = |f: &&Finding| f.severity != Severity::Damage || before.contains(*f);
            sure = found.iter().filter(is_sure).cloned().collect();
            if sure.len() == found.len() {
                break;
            }
            // What a head names may be merged and collected while it is looked for: then there is a
            // newer head, behind which it is not missing.
            let now = seat.load_begun().await;
            if now.is_ok_and(|(now, _)| looked == Some(now.state.stamp)) {
                return Ok(found);
            }
            before = found;
        }
        Ok(sure)
    }

    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        let seat = self.seat(id);
        let salvage = seat.salvage().await?;
        if !apply || salvage.is_whole() {
            return Ok(salvage.repair);
        }
        let session = SessionRef {
            id: id.clone(),
            incarnation: salvage.state.incarnation,
        };
        match seat.submit(&session, What::Mend).await? {
            Done::Mended(repair) => Ok(repair),
            _ => Err(Error::internal("a repair without a report")),
        }
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        self.found_beside().await
    }
}

/// What is wrong with a session that has no head, if anything.
async fn headless(seat: &Seat) -> Result<Option<Finding>> {
    if !seat.slots().await?.is_empty() {
        return Ok(None);
    }
    let marker = seat.marker_in_index().await?;
    Ok(marker.map(|marker| {
        let place = Place::file(seat.env.keys.relative(&marker)).with_session(&seat.id);
        let message = "the session is in the index, but no head of it is there";
        Finding::new(Severity::Damage, place, message)
    }))
}

/// Damage as a finding; any other error as it is.
pub(crate) fn finding(error: Error) -> Result<Finding> {
    match error.kind() {
        ErrorKind::Corrupt { place } => {
            let (place, message) = (place.clone(), error.message().to_owned());
            Ok(Finding::new(Severity::Damage, place, message))
        }
        _ => Err(error),
    }
}

/// Reads all events, and checks each against the chain; behind damage it begins anew.
async fn check_events(
    seat: &Seat,
    view: &View,
    session: &SessionRef,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let state = &view.state;
    let mut chain = Some(LogEnd::genesis(&session.id, session.incarnation));
    for chunk in &state.chunks {
        let place = seat.chunk_place(state.incarnation, chunk);
        let (end, events) = (
            chunk.range().end,
            seat.chunk_events(state.incarnation, chunk).await,
        );
        follow(&mut chain, session, &place, end, events, findings)?;
    }
    let held = match seat.held(view).await {
        Ok(Some(held)) => Ok(held.events.to_vec()),
        Ok(None) => Err(seat.lost(view)),
        Err(error) => Err(error),
    };
    let place = Place::file(seat.head_name(state.tail.slot)).with_session(&session.id);
    follow(&mut chain, session, &place, state.end.tail, held, findings)?;
    if chain.is_some_and(|chain| chain != state.end) {
        let message = "the log does not end where the head says";
        findings.push(Finding::new(Severity::Damage, place, message));
    }
    Ok(())
}

fn follow(
    chain: &mut Option<LogEnd>,
    session: &SessionRef,
    place: &Place,
    end: sessionlog_core::SeqNum,
    events: Result<Vec<sessionlog_core::Event>>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let events = match events {
        Ok(events) => events,
        Err(error) => {
            findings.push(finding(error)?);
            *chain = None;
            return Ok(());
        }
    };
    for event in &events {
        let Some(head) = chain else {
            *chain = Some(LogEnd::after(event));
            continue;
        };
        if let Err(error) = head.verify(&session.id, event) {
            let place = place.clone().with_seq(event.seq);
            findings.push(Finding::new(Severity::Damage, place, error.message()));
            *chain = Some(LogEnd::after(event));
        }
    }
    if chain.is_some_and(|head| head.tail != end) {
        let message = "events are missing";
        findings.push(Finding::new(Severity::Damage, place.clone(), message));
        *chain = None;
    }
    Ok(())
}

impl Bucket {
    /// What is wrong with a session, as the head that was the newest says; and which one that is,
    /// if it can be read.
    async fn found_in(&self, seat: &Arc<Seat>) -> Result<(Option<Stamp>, Vec<Finding>)> {
        let mut findings = Vec::new();
        // One whose creation was broken off can't be told from one whose marker is lost.
        let view = match seat.load_begun().await {
            Ok((view, _)) if view.state.lives() && !seat.is_void(&view).await? => view,
            Ok(_) => return Err(seat.missing()),
            Err(error) if error.is_not_found() => {
                findings.push(headless(seat).await?.ok_or(error)?);
                return Ok((None, findings));
            }
            Err(error) => {
                findings.push(finding(error)?);
                return Ok((None, findings));
            }
        };
        let session = SessionRef {
            id: seat.id.clone(),
            incarnation: view.state.incarnation,
        };
        findings.extend(seat.marker_harm(&view.state).await?);
        check_events(seat, &view, &session, &mut findings).await?;
        self.check_beside(seat, &session, &mut findings).await?;
        Ok((Some(view.state.stamp), findings))
    }

    /// Checks blobs and snapshots, and looks for what is foreign in the session's folder.
    async fn check_beside(
        &self,
        seat: &Seat,
        session: &SessionRef,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        let keys = &self.env.keys;
        let folder = keys.session(&seat.dir);
        for listed in self.env.objects.list(Some(&folder)).await? {
            let place = Place::file(keys.relative(&listed.key)).with_session(&session.id);
            match keys.named(&listed.key) {
                Some(Named::Of(_, Part::Blob(life, id))) if life == session.incarnation => {
                    // One that was removed meanwhile is neither.
                    if self.is_blob(&listed.key, listed.len, id).await? == Some(false) {
                        findings.push(Finding::new(Severity::Damage, place, DAMAGED));
                    }
                }
                Some(Named::Of(_, Part::Snapshot(life))) if life == session.incarnation => {
                    let read = self.env.objects.get(&listed.key).await?;
                    if read.is_some_and(|bytes| decode(&bytes).is_empty()) {
                        let message = "the snapshots are damaged, they are made anew in time";
                        findings.push(Finding::new(Severity::Derived, place, message));
                    }
                }
                Some(_) => {}
                None => findings.push(foreign(place, &listed)),
            }
        }
        Ok(())
    }
}
