//! Work by dice.

use crate::kill::work::{Step, Who};
use crate::talk::Dice;

/// So many steps as a seed decides: each is possible when its turn comes.
pub(crate) fn steps(seed: u64, len: usize) -> Vec<Step> {
    let mut world = World {
        dice: Dice::new(seed),
        lives: 0,
        event: 0,
        s: Session::gone("s"),
        other: Session::gone("other"),
    };
    (0..len).map(|_| world.next()).collect()
}

struct World {
    dice: Dice,
    lives: u64,
    event: u64,
    s: Session,
    other: Session,
}

struct Session {
    name: &'static str,
    life: Option<u64>,
    tail: u64,
    led: bool,
    blobs: Vec<(u64, usize)>,
}

impl Session {
    const fn gone(name: &'static str) -> Self {
        Self {
            name,
            life: None,
            tail: 0,
            led: false,
            blobs: Vec::new(),
        }
    }
}

impl World {
    fn next(&mut self) -> Step {
        let second = self.s.life.is_some() && self.dice.below(4) == 0;
        let session = if second { &mut self.other } else { &mut self.s };
        let Some(life) = session.life else {
            self.lives += 1;
            session.life = Some(self.lives);
            return Step::Create(Who(session.name, self.lives));
        };
        let who = Who(session.name, life);
        match self.dice.below(20) {
            0..3 if session.tail > 0 => Step::Save(who, 1 + self.dice.below(session.tail)),
            3..6 => {
                let len = [1, 700, 5_000, 40_000];
                let len = len.get(usize::try_from(self.dice.below(4)).unwrap_or(0));
                let blob = (self.dice.below(1_000), len.copied().unwrap_or(1));
                session.blobs.push(blob);
                Step::Put(who, blob.0, blob.1)
            }
            6 => match session.blobs.pop() {
                Some((seed, len)) => Step::Remove(who, seed, len),
                None => self.append(second),
            },
            // One session has leases: the grants of one life are told apart from no other's.
            7 if !second && !session.led => {
                session.led = true;
                Step::Acquire(who)
            }
            7 | 8 if session.led => {
                session.led = false;
                Step::Release(who)
            }
            9 if !session.led => {
                *session = Session::gone(session.name);
                Step::Delete(who)
            }
            _ => self.append(second),
        }
    }

    fn append(&mut self, second: bool) -> Step {
        let session = if second { &mut self.other } else { &mut self.s };
        let len = match self.dice.below(8) {
            0..4 => 1,
            4..7 => 2 + self.dice.below(4),
            _ => 20 + self.dice.below(20),
        };
        let from = self.event;
        self.event += len;
        session.tail += len;
        let who = Who(session.name, session.life.unwrap_or(0));
        if session.led && self.dice.below(2) == 0 {
            return Step::Drive(who, from, self.event);
        }
        Step::Append(who, from, self.event)
    }
}
