//! What those who race do, each operation written down.

use std::io::{self, BufRead};
use std::time::Duration;

use futures_timer::Delay;
use sessionlog_core::{AppendCondition, Error, ErrorKind, FencingToken, Lease, Result, SessionRef};

use super::check::seen;
use super::clock::Clock;
use super::history::{Got, Pen, What};
use super::meeting::Meeting;
use crate::bench::{Ask, Handle};
use crate::breach::{End, Held, breach};
use crate::kill::{Told, tell};
use crate::make::{at, events, life, number_of, request};
use crate::subject::Erased;
use crate::{Capability, Place};

/// The session that all race on.
pub(super) fn session() -> Held<SessionRef> {
    life("s", 1)
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Appends, some of them at a tail that it saw; heads, and reads of the whole log.
    Writer,
    /// Takes the lease, by force now and then, appends under it, gives it back.
    Driver,
    /// Makes, lists and deletes sessions.
    Keeper,
    /// Takes the lease once, and appends under it whenever it is told to.
    Holder,
}

impl Role {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Writer, "writer"),
        (Self::Driver, "driver"),
        (Self::Keeper, "keeper"),
        (Self::Holder, "holder"),
    ];

    /// The work that a child is asked for: one of so many. The last word says whether it waits to be
    /// killed when it is done.
    pub(super) fn work(self, who: u64, steps: u64, all: u64, waits: bool) -> String {
        let name = Self::ALL.iter().find(|(role, _)| *role == self);
        let name = name.map_or("", |(_, name)| name);
        format!("race {name} {who} {steps} {all} {}", u8::from(waits))
    }
}

/// Somebody who works on a store.
pub(super) struct Worker {
    pub(super) store: Handle,
    pub(super) session: SessionRef,
    pub(super) pen: Pen,
    pub(super) who: u64,
    /// It may take the lease from whoever has it.
    pub(super) forces: bool,
    pub(super) meeting: Meeting,
}

/// The child's side: opens the store, says so, waits for a line, and works.
pub(crate) async fn child(subject: Erased, place: &Place, work: &str) -> Held {
    let broken = || End::Broken(format!("there is no such work: {work}"));
    let words: Vec<&str> = work.split(' ').collect();
    let [_, name, who, steps, all, waits] = words.as_slice() else {
        return Err(broken());
    };
    let role = Role::ALL.iter().find(|(_, known)| known == name);
    let (role, _) = role.ok_or_else(broken)?;
    let number = |word: &str| word.parse::<u64>().map_err(|_| broken());
    let (who, steps) = (number(who)?, number(steps)?);
    let write = |op: &super::Op| tell(&Told::Did(Box::new(op.clone())));
    let mut worker = Worker {
        store: (subject.open)(place).await?,
        session: session()?,
        pen: Pen::new(Clock::of(place.dir())?, who, write),
        who,
        forces: subject.forced_leases == Capability::Yes,
        meeting: Meeting::of_processes(place.dir(), number(all)?)?,
    };
    tell(&Told::Done(0, None));
    if *role == Role::Holder {
        return worker.hold().await;
    }
    line()?;
    worker.run(*role, steps).await?;
    if *waits == "1" {
        tell(&Told::Done(1, None));
        line()?;
    }
    Ok(())
}

/// Whether a line came before the end of the input.
fn line() -> Held<bool> {
    let mut line = String::new();
    Ok(io::stdin().lock().read_line(&mut line)? > 0)
}

/// Asks again as long as nothing happened for want of something else.
pub(super) async fn patiently<T>(mut ask: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    for _ in 0..40 {
        match ask().await {
            Err(error) if *error.kind() == ErrorKind::Unavailable => {
                Delay::new(Duration::from_millis(10)).await;
            }
            answer => return answer,
        }
    }
    ask().await
}

impl Worker {
    pub(super) async fn run(&mut self, role: Role, steps: u64) -> Held {
        for step in 0..steps {
            match role {
                Role::Writer => self.write(step).await?,
                Role::Driver => self.drive(step).await?,
                Role::Keeper => self.keep(step).await?,
                Role::Holder => return Err(End::Broken("a holder waits for lines".into())),
            }
        }
        Ok(())
    }

    async fn write(&mut self, step: u64) -> Held {
        match step % 5 {
            2 => {
                // The first time all see the same tail, and append there at once: one can have it.
                let meet = step == 2;
                if meet {
                    self.meeting.all().await?;
                }
                let tail = self.head().await?;
                self.append_with(step, Some(tail), None, meet).await?;
            }
            4 => self.read().await?,
            _ => drop(self.append(step, None, None).await?),
        }
        Ok(())
    }

    async fn drive(&mut self, step: u64) -> Held {
        // The first time all ask at once, and who gets it keeps it until all have their answers.
        let meet = step == 0;
        let forced = self.forces && step % 4 == 3;
        let lease = self.acquire_with(forced, meet).await?;
        if meet {
            self.meeting.all().await?;
        }
        let Some(lease) = lease else {
            Delay::new(Duration::from_millis(2)).await;
            return Ok(());
        };
        self.append(step, None, Some(lease.token)).await?;
        // Held for a moment, so that others find it held.
        Delay::new(Duration::from_millis(2)).await;
        let token = lease.token.get();
        let op = self.pen.begin(What::Release { token })?;
        let given = patiently(async || self.store.release(&lease).await).await;
        self.pen.end(op, What::Release { token })?;
        Ok(given?)
    }

    /// Takes the lease, and appends at each line that comes.
    async fn hold(&mut self) -> Held {
        let lease = self.acquire(false).await?;
        let lease = lease.ok_or_else(|| breach("the lease of a new session is held"))?;
        tell(&Told::Done(1, Some(lease.token.get())));
        let mut step = 0;
        while line()? {
            let got = self.append(step, None, Some(lease.token)).await?;
            step += 1;
            // What a stopped holder does before it learns that it is one: read, and try again.
            if matches!(got, Got::Fenced(_)) {
                self.read().await?;
            }
            tell(&Told::Seen(step));
        }
        Ok(())
    }

    pub(super) async fn append(
        &mut self,
        step: u64,
        tail: Option<u64>,
        token: Option<FencingToken>,
    ) -> Held<Got> {
        self.append_with(step, tail, token, false).await
    }

    /// An append; all others may come to it before it is done.
    async fn append_with(
        &mut self,
        step: u64,
        tail: Option<u64>,
        token: Option<FencingToken>,
        meet: bool,
    ) -> Held<Got> {
        let (first, count) = (self.who * 1_000_000 + step * 4, 1 + step % 3);
        let what = |got| What::Append {
            first,
            count,
            tail,
            token: token.map(FencingToken::get),
            got,
        };
        let op = self.pen.begin(what(Got::Unknown))?;
        if meet {
            self.meeting.all().await?;
        }
        let mut condition = AppendCondition::NONE;
        condition.tail = tail.map(at);
        condition.token = token;
        let batch = events(first..first + count);
        let (store, session) = (&self.store, &self.session);
        let put = patiently(async || store.append(session, batch.clone(), condition).await).await;
        let got = match put {
            Ok(range) => Got::Range(range.start.get(), range.end.get()),
            Err(error) => refused(&error)?,
        };
        self.pen.end(op, what(got))?;
        Ok(got)
    }

    async fn head(&mut self) -> Held<u64> {
        let op = self.pen.begin(What::Head { tail: None })?;
        let head = patiently(async || self.store.end(&self.session).await).await?;
        let tail = head.tail.get();
        self.pen.end(op, What::Head { tail: Some(tail) })?;
        Ok(tail)
    }

    pub(super) async fn read(&mut self) -> Held {
        let op = self.pen.begin(What::Read { seen: None })?;
        let numbers = numbers(&self.store, &self.session).await?;
        let seen = Some(seen(&numbers));
        self.pen.end(op, What::Read { seen })
    }

    pub(super) async fn acquire(&mut self, forced: bool) -> Held<Option<Lease>> {
        self.acquire_with(forced, false).await
    }

    async fn acquire_with(&mut self, forced: bool, meet: bool) -> Held<Option<Lease>> {
        let what = |token| What::Acquire { forced, token };
        let op = self.pen.begin(what(None))?;
        if meet {
            self.meeting.all().await?;
        }
        let mut wanted = request(&format!("worker {}", self.who))?;
        if forced {
            wanted = wanted.forced();
        }
        let (store, session) = (&self.store, &self.session);
        let lease = match patiently(async || store.acquire(session, wanted.clone()).await).await {
            Ok(lease) => Some(lease),
            Err(error) if matches!(error.kind(), ErrorKind::LeaseHeld { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let token = lease.as_ref().map(|lease| lease.token.get());
        self.pen.end(op, what(token))?;
        Ok(lease)
    }

    /// A session of its own, and one whose name all want; lists; and the one before is deleted.
    async fn keep(&mut self, step: u64) -> Held {
        let own = |step: u64| format!("own-{}-{step}", self.who);
        let (now, before) = (own(step), step.checked_sub(1).map(own));
        self.create(&now, step, false).await?;
        self.create(&format!("shared-{step}"), step, step == 0)
            .await?;
        self.list().await?;
        if let Some(before) = before {
            self.delete(&before, step - 1).await?;
            self.list().await?;
        }
        Ok(())
    }

    fn life(&self, name: &str, step: u64) -> Held<(u64, SessionRef)> {
        let number = self.who * 1_000_000 + step;
        Ok((number, life(name, number)?))
    }

    async fn create(&mut self, name: &str, step: u64, meet: bool) -> Held {
        let (number, session) = self.life(name, step)?;
        let what = |made| What::Create {
            name: name.to_owned(),
            life: number,
            made,
        };
        let op = self.pen.begin(what(None))?;
        if meet {
            self.meeting.all().await?;
        }
        let made = match patiently(async || self.store.create(&session).await).await {
            Ok(()) => true,
            Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        self.pen.end(op, what(Some(made)))?;
        if made {
            let (store, batch) = (&self.store, events(0..2));
            patiently(async || store.put_events(&session, batch.clone()).await).await?;
        }
        Ok(())
    }

    async fn delete(&mut self, name: &str, step: u64) -> Held {
        let (number, session) = self.life(name, step)?;
        let what = |gone| What::Delete {
            name: name.to_owned(),
            life: number,
            gone,
        };
        let op = self.pen.begin(what(None))?;
        patiently(async || self.store.delete(&session, None).await).await?;
        self.pen.end(op, what(Some(true)))
    }

    async fn list(&mut self) -> Held<usize> {
        let op = self.pen.begin(What::List { names: None })?;
        let ids = patiently(async || self.store.ids().await).await?;
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let len = names.len();
        // The session that all race on is no part of it.
        let names = Some(names.into_iter().filter(|name| name != "s").collect());
        self.pen.end(op, What::List { names })?;
        Ok(len)
    }
}

/// The numbers of the events of a log.
pub(super) async fn numbers(store: &Handle, session: &SessionRef) -> Held<Vec<u64>> {
    let log = patiently(async || store.log(session).await).await?;
    let numbers: Option<Vec<u64>> = log.iter().map(|event| number_of(event.id)).collect();
    numbers.ok_or_else(|| breach("the log has an event that nobody appended"))
}

/// What a refused append came to.
fn refused(error: &Error) -> Held<Got> {
    Ok(match error.kind() {
        ErrorKind::Conflict { tail } => Got::Conflict(tail.get()),
        ErrorKind::Fenced { token } => Got::Fenced(token.get()),
        ErrorKind::Indeterminate => Got::Unknown,
        ErrorKind::Unavailable => Got::Nothing,
        _ => return Err(error.clone().into()),
    })
}
