//! What may be left when all was calm for days and garbage was collected.

use std::collections::HashSet;

use super::Held;
use crate::Bucket;
use crate::gc::Garbage;
use crate::head::decode;
use crate::key::{Named, Part, dir_of};

/// Objects that are not needed are gone.
pub(super) async fn check(bucket: &Bucket) -> Held {
    let told = |error| format!("{error:?}");
    let found = bucket.gc(true, |_, _| ()).await.map_err(told)?;
    if found != Garbage::default() {
        return Err(format!("another collection finds {found:?}"));
    }
    let (env, dir) = (&bucket.env, dir_of(&"s".parse().unwrap()));
    let all = env.objects.list(None).await.map_err(told)?;
    let named = all.iter().map(|object| env.keys.named(&object.key));
    let named: Vec<Named> = named.collect::<Option<_>>().ok_or("a foreign object")?;
    let head = |named: &Named| match named {
        Named::Of(_, Part::Head(slot)) => Some(*slot),
        _ => None,
    };
    let Some(newest) = named.iter().filter_map(head).max() else {
        return match named.is_empty() {
            true => Ok(()),
            false => Err("objects of a session that has no head".to_owned()),
        };
    };
    let bytes = env.objects.get(&env.keys.head(&dir, newest)).await;
    let bytes = bytes.map_err(told)?.ok_or("no newest head")?;
    let state = decode(&bytes, "", &dir, newest).map_err(told)?.state;
    let life = state.lives().then_some(state.incarnation);
    let mut once = HashSet::new();
    for named in named {
        let needed = match &named {
            Named::Of(_, Part::Head(0)) => true,
            Named::Of(_, Part::Head(slot)) => {
                *slot == newest
                    || life.is_some() && (slot + 2 >= newest || *slot == state.tail.slot)
            }
            Named::Of(_, Part::Chunk(of, first, name)) => {
                let mut chunks = state.chunks.iter();
                Some(*of) == life && chunks.any(|c| (c.first.get(), c.name) == (*first, *name))
            }
            // One copy of each.
            Named::Of(_, Part::Blob(of, id)) => Some(*of) == life && once.insert(*id),
            Named::Of(_, Part::Snapshot(of)) => Some(*of) == life,
            Named::Of(_, Part::Doubt(..)) => false,
            Named::Marker(session) => Some(session.incarnation) == life,
            Named::Notice(..) | Named::Probe => false,
        };
        if !needed {
            return Err(format!(
                "nobody needs {named:?}, behind head {newest} of {life:?}"
            ));
        }
    }
    Ok(())
}
