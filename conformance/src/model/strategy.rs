//! Random commands.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::command::{Change, Command, Show, State, Target};

/// Lists of commands: mostly on present sessions, now and then on what is gone.
pub(crate) fn commands() -> impl Strategy<Value = Vec<Command>> {
    let rest = vec(command(), 4..36);
    // Most lists would do nothing but fail if no session were there.
    rest.prop_map(|mut all| {
        all.insert(0, Command::Create(0));
        all
    })
}

fn target() -> impl Strategy<Value = Target> {
    let name = prop_oneof![6 => Just(0_u8), 2 => Just(1), 1 => Just(2)];
    let old = prop_oneof![9 => Just(false), 1 => Just(true)];
    (name, old).prop_map(|(name, old)| Target { name, old })
}

fn show() -> impl Strategy<Value = Show> {
    prop_oneof![
        5 => Just(Show::Nothing),
        5 => (0..2_u8).prop_map(Show::Of),
        1 => Just(Show::Unknown),
    ]
}

fn state() -> impl Strategy<Value = State> {
    prop_oneof![
        5 => Just(State::Nothing),
        3 => Just(State::Tail(0)),
        2 => (-2..3_i8).prop_map(State::Tail),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Same),
        1 => Just(Change::Payload),
        1 => Just(Change::WithoutLast),
        1 => Just(Change::WithNew),
        1 => Just(Change::Reversed),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let log = prop_oneof![
        3 => (0..3_u8).prop_map(Command::Create),
        8 => (target(), 0..4_u8, any::<bool>(), state(), show()).prop_map(
            |(to, size, low, tail, token)| Command::Append { to, size, low, tail, token }
        ),
        4 => (any::<u8>(), change()).prop_map(|(nth, change)| Command::Again { nth, change }),
        3 => (target(), 0..12_u8, 0..12_u8)
            .prop_map(|(of, from, len)| Command::Read { of, from, len }),
        2 => (0..3_u8).prop_map(Command::Head),
        1 => Just(Command::List),
        2 => (target(), show()).prop_map(|(of, token)| Command::Delete { of, token }),
        1 => (0..3_u8).prop_map(Command::Verify),
        2 => Just(Command::Reopen),
        2 => Just(Command::Switch),
    ];
    let leases = prop_oneof![
        4 => (target(), 0..2_u8, any::<bool>())
            .prop_map(|(of, owner, force)| Command::Acquire { of, owner, force }),
        1 => (target(), 0..2_u8).prop_map(|(of, owner)| Command::Renew { of, owner }),
        2 => (target(), 0..2_u8).prop_map(|(of, owner)| Command::Release { of, owner }),
        1 => (target(), 0..2_u8).prop_map(|(of, owner)| Command::Drop { of, owner }),
        2 => target().prop_map(Command::Probe),
    ];
    let beside = prop_oneof![
        3 => (target(), show()).prop_map(|(of, token)| Command::Save { of, token }),
        2 => (target(), 0..12_u8).prop_map(|(of, bound)| Command::Latest { of, bound }),
        3 => (target(), 0..3_u8, show())
            .prop_map(|(to, content, token)| Command::Put { to, content, token }),
        1 => (target(), 0..3_u8).prop_map(|(of, content)| Command::Get { of, content }),
        1 => target().prop_map(Command::Blobs),
        2 => (target(), 0..3_u8, show())
            .prop_map(|(of, content, token)| Command::Remove { of, content, token }),
    ];
    prop_oneof![6 => log, 2 => leases, 2 => beside]
}
