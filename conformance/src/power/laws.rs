//! The laws of power loss.

use super::again::{SECOND, twice};
use super::failure::Failure;
use super::mutate::without_each;
use super::names::Keeping;
use super::random;
use super::search::{IMAGES, Search, TORN};
use super::work::{Judge, Work};
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::kill::happened;
use crate::kill::oracle::{DONE, NOT_DONE};
use crate::kill::work::{Step, steps};
use crate::law::law;
use crate::told::CLOSED;
use crate::{Capability, Law};

pub(crate) const LAWS: &[Law] = &[
    law!(
        Power,
        g03_power_loss_leaves_a_prefix,
        "Whenever the power goes, appends leave every acknowledged batch, and the one under way whole or not at all.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Power,
        g02_power_loss_leaves_whole_batches_of_a_group,
        "Whenever the power goes, concurrent appends leave each batch whole or not at all, and every acknowledged one.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Power,
        g07_power_loss_takes_no_token_back,
        "Whenever the power goes, no token that was granted before is granted again.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Power,
        g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent,
        "Whenever the power goes, snapshots and blobs are whole or absent, and no snapshot claims more than the log.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Power,
        g17_power_loss_leaves_a_delete_whole_or_gone,
        "Whenever the power goes, a delete leaves the session whole or gone, and its name usable.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Power,
        g20_power_loss_leaves_a_conversation_that_resumes,
        "Whenever the power goes in a conversation, its rollbacks are done or not done, and it resumes with every acknowledged message.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Power,
        g03_power_loss_in_any_work_leaves_a_prefix,
        "Whenever the power goes in random work, every acknowledged step is there, and the one under way whole or not at all.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Power,
        g03_a_second_power_loss_takes_nothing_more,
        "When the power goes again, in the recovery or soon behind it, what was shown and what was acknowledged since is still there.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Power,
        g03_names_rest_on_flushes_of_their_folders,
        "Where nothing but a flush of its folder keeps a name, a power loss takes nothing that was acknowledged.",
        Durable,
        Folder,
        Calls,
        PosixNames
    ),
    law!(
        Power,
        g03_a_flush_left_out_is_noticed,
        "The suite sees when a flush is missing: with one taken out of the record, some power loss takes something.",
        Durable,
        Folder,
        Calls
    ),
];

/// The work of a name.
fn named(name: &str) -> Work {
    Work::Steps(steps(name))
}

/// Looks at so many power losses in a piece of work.
async fn survives(bench: &Bench, work: &Work, keeping: Keeping, most: u64) -> Held {
    let judge = Judge::of(work).await?;
    let history = work.record(bench).await?;
    let check = async |place: &crate::Place, marks: &[_]| judge.check(bench, place, marks).await;
    let mut search = Search::new(bench, most);
    let found = search.explore(&history, keeping, .., &check).await?;
    let Some((crash, end)) = found else {
        return Ok(());
    };
    let failure = Failure::new(work.clone(), crash, history);
    let (failure, end) = failure.shortest(bench, end).await;
    Err(failure.told(bench, end))
}

/// One piece of work, or the failure that is to be replayed.
async fn journaled(bench: &Bench, work: Work, counters: &[&'static str]) -> Held {
    if let Some(outcome) = Failure::asked(bench).await? {
        return outcome;
    }
    let most = bench.options.budget.of(120, 400, 20_000);
    survives(bench, &work, Keeping::Journaled, most).await?;
    happened(bench, counters)
}

async fn g03_power_loss_leaves_a_prefix(bench: &Bench) -> Held {
    journaled(bench, named("appends"), &[IMAGES, TORN, DONE, NOT_DONE]).await
}

async fn g02_power_loss_leaves_whole_batches_of_a_group(bench: &Bench) -> Held {
    journaled(
        bench,
        Work::Group,
        &[IMAGES, "batches there", "batches absent"],
    )
    .await
}

async fn g07_power_loss_takes_no_token_back(bench: &Bench) -> Held {
    journaled(bench, named("lease"), &[IMAGES, DONE, NOT_DONE]).await
}

async fn g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent(bench: &Bench) -> Held {
    journaled(bench, named("beside"), &[IMAGES, TORN, DONE, NOT_DONE]).await
}

async fn g17_power_loss_leaves_a_delete_whole_or_gone(bench: &Bench) -> Held {
    journaled(bench, named("delete"), &[IMAGES, DONE, NOT_DONE]).await
}

async fn g20_power_loss_leaves_a_conversation_that_resumes(bench: &Bench) -> Held {
    journaled(bench, Work::Turn, &[IMAGES, TORN, CLOSED]).await
}

/// Random work of a number, longer with the number.
fn dice(bench: &Bench, n: u64) -> Work {
    let seed = match bench.options.budget {
        crate::Budget::Deep => u64::from(std::process::id()) << 32 | n,
        _ => n,
    };
    let len = 6 + usize::try_from(n % 20).unwrap_or(0);
    Work::Steps(random::steps(seed, len))
}

async fn g03_power_loss_in_any_work_leaves_a_prefix(bench: &Bench) -> Held {
    if let Some(outcome) = Failure::asked(bench).await? {
        return outcome;
    }
    let budget = bench.options.budget;
    let (works, most) = match budget {
        crate::Budget::Smoke => (2, 40),
        crate::Budget::Default => (8, 60),
        crate::Budget::Deep => (200, 500),
    };
    for n in 0..works {
        survives(bench, &dice(bench, n), Keeping::Journaled, most).await?;
    }
    in_the_rarest_calls(bench, budget.of(3, 6, 60)).await?;
    happened(bench, &[IMAGES, TORN, DONE, NOT_DONE])
}

/// Loses power in the rarest calls of long work, each with so much room: what a store does now and then, to
/// keep its files small, say.
async fn in_the_rarest_calls(bench: &Bench, most: u64) -> Held {
    let work = named("many");
    let judge = Judge::of(&work).await?;
    let history = work.record(bench).await?;
    let check = async |place: &crate::Place, marks: &[_]| judge.check(bench, place, marks).await;
    let mut search = Search::new(bench, most);
    for call in history.rarest() {
        search.left = most;
        let behind = call..=call + 1;
        let found = search.explore(&history, Keeping::Journaled, behind, &check);
        if let Some((crash, end)) = found.await? {
            // No shorter work would come as far.
            return Err(Failure::new(work, crash, history).told(bench, end));
        }
    }
    Ok(())
}

/// What the laws that look at all kinds of work look at: without leases, which a crash ends.
const KINDS: [&str; 3] = ["appends", "beside", "delete"];

async fn g03_a_second_power_loss_takes_nothing_more(bench: &Bench) -> Held {
    if let Some(outcome) = Failure::asked(bench).await? {
        return outcome;
    }
    let budget = bench.options.budget;
    let room = (budget.of(8, 12, 400), budget.of(10, 12, 60));
    for kind in KINDS {
        let steps: Vec<Step> = steps(kind);
        if let Some((failure, end)) = twice(bench, &steps, Keeping::Journaled, room).await? {
            return Err(failure.told(bench, end));
        }
    }
    happened(bench, &[IMAGES, SECOND])
}

async fn g03_names_rest_on_flushes_of_their_folders(bench: &Bench) -> Held {
    if let Some(outcome) = Failure::asked(bench).await? {
        return outcome;
    }
    let most = bench.options.budget.of(60, 150, 10_000);
    for kind in ["appends", "lease", "beside", "delete"] {
        survives(bench, &named(kind), Keeping::Posix, most).await?;
    }
    happened(bench, &[IMAGES, DONE, NOT_DONE])
}

async fn g03_a_flush_left_out_is_noticed(bench: &Bench) -> Held {
    let keeping = match bench.subject.posix_names {
        Capability::Yes => Keeping::Posix,
        Capability::No(_) => Keeping::Journaled,
    };
    let budget = bench.options.budget;
    let (few, most) = (budget.of(24, 40, u64::MAX), budget.of(16, 20, 400));
    let (mut tried, mut needed) = (0, 0);
    for kind in KINDS {
        let flushes = without_each(bench, &named(kind), keeping, (few, most)).await?;
        tried += flushes.tried;
        needed += flushes.needed;
        for idle in flushes.idle {
            bench.hint(format!("nothing was lost without a flush, {kind}: {idle}"));
        }
    }
    bench.sometimes("flushes taken out", tried);
    bench.sometimes("flushes missed", needed);
    if tried == 0 {
        return Err(End::NotMeasured("the store flushes nothing".into()));
    }
    if needed == 0 {
        return Err(End::Broken(format!(
            "{tried} flushes were taken out, one at a time, and no power loss showed it: the suite \
             would not see a flush that is missing"
        )));
    }
    happened(bench, &[IMAGES])
}
