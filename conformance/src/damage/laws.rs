//! The laws of damaged files.

use std::path::Path;
use std::sync::Arc;

use super::explore::{Context, DETECTED, HARMLESS, Happened, explore};
use super::harm::{Harm, Image, What};
use super::judge::damage;
use super::look::Seen;
use super::mend::{KEPT, LOST, SALVAGED, kept_behind, repaired};
use super::tree::Tree;
use super::write::{APPENDED, GRANTED, REFUSED, UNGRANTED, appended, leased};
use crate::Law;
use crate::bench::{Ask, Bench};
use crate::breach::{End, Held, ensure, ensure_eq};
use crate::law::law;
use crate::make::events;

pub(crate) const LAWS: &[Law] = &[
    law!(
        Damage,
        g15_damage_gives_the_right_answer_or_an_error,
        "Whatever is done to a file, what is read is what was stored, or an error: never other bytes, never a panic.",
        Folder
    ),
    law!(
        Damage,
        g15_damage_shortens_no_log_in_silence,
        "Whatever is done to a file, no acknowledged event and no session is missing without an error.",
        Folder
    ),
    law!(
        Damage,
        g16_damaged_files_stay_as_they_are,
        "Opening, reading and verifying a damaged store leave the damaged file as it is, and take nothing from another, unless nothing is lost without it.",
        Folder,
        SilentOpen
    ),
    law!(
        Damage,
        g15_verify_names_the_damage,
        "Verification finds damage where a read fails, and where it finds none everything is read.",
        Folder
    ),
    law!(
        Damage,
        g15_repair_salvages_what_is_whole,
        "After a repair every event that is whole is at its position, each lost one is marked, and the session can be written to.",
        Folder,
        Salvages
    ),
    law!(
        Damage,
        g14_damage_to_one_session_leaves_the_others,
        "Damage to a file of one session alone changes nothing of another: all of it is read, and written on.",
        Folder
    ),
    law!(
        Damage,
        g01_an_append_to_a_damaged_store_is_right_or_refused,
        "An append to a damaged store stands behind all that was acknowledged, or is refused.",
        Folder
    ),
    law!(
        Damage,
        g07_damage_brings_no_token_back,
        "A lease of a damaged store has a token that nobody had before, or is refused.",
        Folder
    ),
];

const BOTH: &[Image] = &[Image::Closed, Image::Killed];

/// Opens and reads everything; `None` if the store can't be opened.
async fn look(context: &Context) -> Option<Seen> {
    let handle = context.open().await.ok()?;
    Some(Seen::of(&handle, context.now()).await)
}

fn told(context: &Context, seen: Option<&Seen>) -> Happened {
    let Some(seen) = seen else {
        return vec![DETECTED];
    };
    let now = context.now();
    let mut sessions = seen.sessions.iter().filter(|(id, _)| now.contains_key(*id));
    let fails = sessions.any(|(_, session)| {
        session.first_error().is_some() || session.verified.as_ref().map_or(true, |f| damage(f))
    });
    vec![if fails { DETECTED } else { HARMLESS }]
}

async fn g15_damage_gives_the_right_answer_or_an_error(bench: &Bench) -> Held {
    async fn act(context: Arc<Context>) -> Held<Happened> {
        let seen = look(&context).await;
        seen.as_ref().map_or(Ok(()), |seen| context.right(seen))?;
        Ok(told(&context, seen.as_ref()))
    }
    explore(bench, BOTH, |c| Box::pin(act(c)), &[DETECTED, HARMLESS]).await
}

async fn g15_damage_shortens_no_log_in_silence(bench: &Bench) -> Held {
    async fn act(context: Arc<Context>) -> Held<Happened> {
        let seen = look(&context).await;
        seen.as_ref().map_or(Ok(()), |seen| context.told(seen))?;
        Ok(told(&context, seen.as_ref()))
    }
    explore(bench, BOTH, |c| Box::pin(act(c)), &[DETECTED, HARMLESS]).await
}

async fn g16_damaged_files_stay_as_they_are(bench: &Bench) -> Held {
    async fn act(context: Arc<Context>) -> Held<Happened> {
        let seen = look(&context).await;
        let happened = told(&context, seen.as_ref());
        let after = Tree::of(&context.place)?;
        for file in context.tree.changed(&after) {
            let touched = file == context.harm.file || context.tree.is_less_in(&after, &file);
            ensure!(
                !touched || needless(&context, &file).await?,
                "{} was changed by opening, reading and verifying",
                file.display()
            );
        }
        Ok(happened)
    }
    let images = &[Image::Closed];
    explore(bench, images, |c| Box::pin(act(c)), &[DETECTED, HARMLESS]).await
}

/// Whether everything is read, and found whole, without a file.
async fn needless(context: &Context, file: &Path) -> Held<bool> {
    let harm = Harm {
        what: What::Missing,
        file: file.to_owned(),
        ..context.harm.clone()
    };
    let Some(tree) = harm.done(&context.built) else {
        return Ok(true);
    };
    let without = Context {
        place: tree.lay(context.place.ground())?,
        tree,
        harm,
        built: Arc::clone(&context.built),
        subject: context.subject,
    };
    let Some(seen) = look(&without).await else {
        return Ok(false);
    };
    let all = context.now().iter().all(|(id, truth)| {
        seen.sessions.get(id).is_some_and(|session| {
            session.first_error().is_none()
                && session.verified.as_ref().is_ok_and(|found| !damage(found))
                && session.events == truth.events
        })
    });
    Ok(all)
}

async fn g15_verify_names_the_damage(bench: &Bench) -> Held {
    async fn act(context: Arc<Context>) -> Held<Happened> {
        let seen = look(&context).await;
        seen.as_ref()
            .map_or(Ok(()), |seen| context.verified(seen))?;
        Ok(told(&context, seen.as_ref()))
    }
    explore(bench, BOTH, |c| Box::pin(act(c)), &[DETECTED, HARMLESS]).await
}

async fn g15_repair_salvages_what_is_whole(bench: &Bench) -> Held {
    explore(
        bench,
        BOTH,
        |c| Box::pin(repaired(c)),
        &[SALVAGED, HARMLESS],
    )
    .await?;
    let counters = bench.counters();
    let times = |what| counters.get(what).copied().unwrap_or(0);
    kept_behind(times(LOST), times(KEPT))
}

async fn g14_damage_to_one_session_leaves_the_others(bench: &Bench) -> Held {
    const APART: &str = "other sessions untouched";
    const SHARED: &str = "a file of several sessions";
    async fn act(context: Arc<Context>) -> Held<Happened> {
        let Some(owner) = context.built.owner(&context.harm.file).cloned() else {
            return Ok(vec![SHARED]);
        };
        let handle = context.open().await?;
        let seen = Seen::of(&handle, context.now()).await;
        for (id, truth) in context.now().iter().filter(|(id, _)| **id != owner) {
            let session = seen.sessions.get(id);
            let session = session.ok_or_else(|| End::Broken(format!("{id} was not looked at")))?;
            if let Some(error) = session.first_error() {
                return Err(crate::breach::breach(format!(
                    "damage to a file of {owner} alone is an error of {id}: {error}"
                )));
            }
            ensure_eq!(session.events, truth.events, "the log of {id}");
            let found = session
                .verified
                .as_ref()
                .map_or(true, |found| damage(found));
            ensure!(
                !found,
                "damage to {owner} is found in {id}: {:?}",
                session.verified
            );
            let listed = seen.ids.as_ref().map(|ids| ids.contains(id));
            ensure!(matches!(listed, Ok(true)), "{id} in the list: {listed:?}");
            let card = seen
                .cards
                .as_ref()
                .map(|cards| cards.get(id).map(Result::is_ok));
            ensure!(
                matches!(card, Ok(Some(true))),
                "{id} among the cards: {card:?}"
            );
            let range = handle.put_events(&truth.life, events(7_000..7_002)).await?;
            ensure_eq!(
                range.start.get(),
                truth.events.len() as u64,
                "the append to {id}"
            );
        }
        Ok(vec![APART])
    }
    explore(bench, BOTH, |c| Box::pin(act(c)), &[]).await?;
    if bench.counters().contains_key(APART) || bench.options.replay.is_some() {
        return Ok(());
    }
    Err(End::Skipped(
        "no file is one session's alone: the medium keeps none apart".into(),
    ))
}

async fn g01_an_append_to_a_damaged_store_is_right_or_refused(bench: &Bench) -> Held {
    explore(bench, BOTH, |c| Box::pin(appended(c)), &[APPENDED, REFUSED]).await
}

async fn g07_damage_brings_no_token_back(bench: &Bench) -> Held {
    explore(bench, BOTH, |c| Box::pin(leased(c)), &[GRANTED, UNGRANTED]).await
}
