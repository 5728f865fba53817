//! The demo, told.

use serde::Serialize;
use sessionlog::Liveness;

use super::proof::Proof;
use super::script;
use crate::commands::wake::{OpenFields, print_open};
use crate::context::Context;
use crate::failure::Outcome;
use crate::items::print_all;

#[derive(Serialize)]
struct Told<'a> {
    id: &'a str,
    store: &'a str,
    acknowledged: u64,
    present: u64,
    damage: u64,
    interrupted: OpenFields<'a>,
    kept: bool,
    ok: bool,
}

/// Tells what happened, and what it proves.
pub(super) fn tell(proof: &Proof, url: &str, keep: bool, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let url = sessionlog::shown(url);
    if cx.json() {
        return cx.json_line(&Told {
            id: proof.session.id().as_str(),
            store: url,
            acknowledged: proof.acknowledged,
            present: proof.present,
            damage: proof.damage,
            interrupted: OpenFields::of(proof.woken.interrupted()),
            kept: keep,
            ok: proof.holds(),
        });
    }
    death(proof, cx)?;
    let lease = proof.woken.writer().token();
    writeln!(cx.out(), "3. The session is woken, under lease {lease}.")?;
    print_open(proof.woken.interrupted(), cx)?;
    writeln!(cx.out(), "\n4. The conversation to go on with:\n")?;
    print_all(&proof.woken.transcript().conversation(None)?, cx)?;
    verdict(proof, cx)?;
    if keep {
        let id = proof.session.id();
        writeln!(cx.out(), "\nLook at it: sessionlog --store {url} show {id}")?;
    }
    Ok(())
}

fn death(proof: &Proof, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let paint = cx.paint();
    let id = proof.session.id();
    let out = cx.out();
    writeln!(
        out,
        "1. A child process drives the session {id}. These events are acknowledged:"
    )?;
    for (n, payload) in script::payloads().enumerate() {
        let payload: String = payload.chars().take(90).collect();
        writeln!(out, "   #{n} {payload}")?;
    }
    let killed = paint.bad("killed");
    writeln!(
        out,
        "\n2. While the tool of the last call runs, the child is {killed}."
    )?;
    let (before, after) = (state(&proof.before), state(&proof.after));
    writeln!(
        out,
        "   The session was {before} before, and is {after} now.\n"
    )?;
    Ok(())
}

fn state(liveness: &Liveness) -> &str {
    match liveness {
        Liveness::Live(_) => "live",
        Liveness::Idle => "idle",
        Liveness::Unknown(why) => why,
        _ => "unknown",
    }
}

fn verdict(proof: &Proof, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let paint = cx.paint();
    let out = cx.out();
    let (present, all) = (proof.present, proof.acknowledged);
    writeln!(
        out,
        "{present} of {all} acknowledged events are there, byte for byte."
    )?;
    writeln!(out, "{} damaged places were found.", proof.damage)?;
    if proof.holds() {
        writeln!(
            out,
            "{}",
            paint.good("Nothing that was acknowledged is missing.")
        )?;
    } else {
        writeln!(
            out,
            "{}",
            paint.bad("This store does not keep what it acknowledges.")
        )?;
    }
    Ok(())
}
