//! G4: what is read is byte-equal to what was appended.

use std::sync::Arc;

use futures_util::future::join_all;
use sessionlog_core::{Event, Kind, NewEvent, Timestamp};

use crate::Law;
use crate::bench::{Ask, Bench};
use crate::breach::{End, Held, ensure, ensure_eq};
use crate::law::law;
use crate::make::{event, events, noise, with_data};

pub(super) const LAWS: &[Law] = &[
    law!(
        g04_payload_bytes_come_back_untouched,
        "Valid JSON text comes back byte for byte: white space, numbers of any size, duplicate keys, escapes, any nesting."
    ),
    law!(
        g04_payloads_of_any_length_come_back,
        "Payloads of 1 byte to over a mebibyte, side by side, come back byte for byte."
    ),
    law!(
        g04_unknown_kinds_come_back,
        "Kinds that nobody knows come back as they were."
    ),
    law!(
        g04_times_are_data_and_no_order,
        "Times come back to the microsecond, from year 0 to 9999, and order nothing."
    ),
    law!(
        g04_concurrent_appends_are_all_there_once,
        "Of many concurrent appends each is in the log once, its events side by side where it said."
    ),
];

/// Texts that a parser, a printer or a line reader would change.
pub(crate) fn odd_payloads() -> Vec<String> {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    [
        "null",
        " 1 ",
        "{}",
        "-0",
        "0.10",
        "1E2",
        "1e400",
        "-1e-400",
        "9007199254740993",
        "18446744073709551615",
        "123456789012345678901234567890",
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\u0000 \u001f \u007f""#,
        "\"\u{2028}\u{2029}\u{feff}\u{e000}\u{10ffff}\"",
        "\"\u{85}\u{a0}\u{7f}\"",
        r#"{"a":1,"a":2,"":{}}"#,
        r#"{"b":1,"a":2}"#,
        r#""\/\b\f\n\r\t\"\\""#,
        r#""\u00e9""#,
        "\"\u{e9}e\u{301}\"",
        "{\n  \"pretty\": [\n    1,\r\n\t2\n  ]\n}\n",
        "\n\n[]\r\n",
        r#"{"seq":0,"id":"x","sum":"0","data":null}"#,
        r#""},{\"seq\":9}""#,
        &deep,
    ]
    .map(str::to_owned)
    .into()
}

/// Whether a stored event is what was appended, in words.
fn same(stored: &Event, new: &NewEvent) -> Held {
    ensure_eq!(stored.id, new.id, "the id of event {}", stored.seq);
    ensure_eq!(stored.kind, new.kind, "the kind of event {}", stored.seq);
    ensure_eq!(stored.at, new.at, "the time of event {}", stored.seq);
    ensure_eq!(
        String::from_utf8_lossy(stored.data.as_bytes()),
        String::from_utf8_lossy(new.data.as_bytes()),
        "the payload of event {}",
        stored.seq
    );
    ensure!(stored.holds(new), "event {} differs in a byte", stored.seq);
    Ok(())
}

/// Appends a batch and each event alone, and compares after a reopen too.
async fn round_trip(bench: &Bench, all: Vec<NewEvent>) -> Held {
    let (store, session) = bench.session("s").await?;
    let half = all.len() / 2;
    store
        .put_events(&session, all.iter().take(half).cloned().collect())
        .await?;
    for one in all.iter().skip(half) {
        store.put_events(&session, vec![one.clone()]).await?;
    }
    let store = {
        let log = store.log(&session).await?;
        ensure_eq!(log.len(), all.len(), "the number of events");
        log.iter().zip(&all).try_for_each(|(s, n)| same(s, n))?;
        bench.reopen(store).await?
    };
    let log = store.log(&session).await?;
    ensure_eq!(log.len(), all.len(), "the number of events after a reopen");
    log.iter().zip(&all).try_for_each(|(s, n)| same(s, n))
}

async fn g04_payload_bytes_come_back_untouched(bench: &Bench) -> Held {
    let texts = odd_payloads();
    for text in &texts {
        sessionlog_core::Data::from_json(text.clone())
            .map_err(|e| End::Broken(format!("a payload of the suite is not JSON: {e}")))?;
    }
    // Each stands in the batch and alone.
    let all = (0..).zip(texts.iter().chain(&texts));
    round_trip(
        bench,
        all.map(|(n, text)| with_data(n, text.clone())).collect(),
    )
    .await
}

async fn g04_payloads_of_any_length_come_back(bench: &Bench) -> Held {
    let longest = usize::try_from(bench.options.budget.of(300_000, 1 << 20, 10 << 20)).unwrap_or(0);
    let lengths = [
        longest,
        1,
        4095,
        4096,
        4097,
        8191,
        8192,
        8193,
        65_535,
        65_536,
        65_537,
        1,
        longest + 1,
        2,
        // Together they are more than a read may hold at a time.
        longest,
        longest,
        longest,
    ];
    let text = |n: u64, len: usize| {
        if len < 2 {
            return b"7".to_vec();
        }
        let mut text = vec![b'"'];
        text.extend(noise(n, len - 2).iter().map(|b| b'a' + b % 26));
        text.push(b'"');
        text
    };
    let all = (0..)
        .zip(lengths)
        .map(|(n, len)| with_data(n, text(n, len)));
    round_trip(bench, all.collect()).await
}

async fn g04_unknown_kinds_come_back(bench: &Bench) -> Held {
    let long = format!("k{}", "x".repeat(Kind::MAX_LEN - 1));
    let names = [
        "a",
        "message",
        "x9_.y_0.z",
        "repair.lost",
        "seq",
        &long,
        "a.b.c.d.e",
    ];
    let mut all = Vec::new();
    for (n, name) in (0..).zip(names.iter().chain(&names)) {
        let kind = Kind::new(name).map_err(|e| End::Broken(e.to_string()))?;
        all.push(NewEvent { kind, ..event(n) });
    }
    round_trip(bench, all).await
}

async fn g04_times_are_data_and_no_order(bench: &Bench) -> Held {
    let micro = |n| Timestamp::from_micros(n).unwrap_or(Timestamp::EPOCH);
    let times = [
        Timestamp::MAX,
        Timestamp::MIN,
        Timestamp::EPOCH,
        micro(-1),
        micro(1),
        micro(1_700_000_000_000_001),
        micro(1_699_999_400_000_000),
        micro(1_699_999_400_000_000),
        micro(1_700_018_000_999_999),
    ];
    let all = (0..).zip(times.iter().chain(&times));
    let all = all.map(|(n, at)| event(n).with_time(*at)).collect();
    round_trip(bench, all).await
}

async fn g04_concurrent_appends_are_all_there_once(bench: &Bench) -> Held {
    const APPENDS: u64 = 64;
    let (store, session) = bench.session("s").await?;
    let appends = (0..APPENDS).map(|n| {
        let (store, session) = (Arc::clone(&store), session.clone());
        async move {
            let size = 1 + n % 3;
            let range = store
                .put_events(&session, events(n * 10..n * 10 + size))
                .await?;
            Held::Ok((n, size, range))
        }
    });
    let outcomes = join_all(appends).await;
    let log = store.log(&session).await?;
    let mut total = 0;
    for outcome in outcomes {
        let (n, size, range) = outcome?;
        total += size;
        let start = usize::try_from(range.start.get()).unwrap_or(usize::MAX);
        let there = log.iter().skip(start).map(|e| e.id);
        let there: Vec<_> = there.take(usize::try_from(size).unwrap_or(0)).collect();
        let expected: Vec<_> = events(n * 10..n * 10 + size).iter().map(|e| e.id).collect();
        ensure_eq!(
            there,
            expected,
            "the events at {}..{}",
            range.start,
            range.end
        );
        ensure_eq!(
            sessionlog_core::span(&range),
            size,
            "the length of the range"
        );
    }
    ensure_eq!(log.len() as u64, total, "the number of events in the log");
    Ok(())
}
