//! Anthropic messages.

use serde_json::value::RawValue;

use super::draft::{Draft, Piece, fresh, message, untouched};
use super::ids::Ids;
use super::part::{self, Part};
use super::text::{array, block};
use super::{Lost, OPENING, Rendered, image};
use crate::SeqNum;
use crate::transcript::conversation::{Conversation, INTERRUPTED, Made, Reply, Step};
use crate::transcript::fields::quote;
use crate::transcript::native::{Block, Native, Shape, What, says_something};
use crate::transcript::tree::Entry;
use crate::transcript::{Role, text_of};

struct Render<'a> {
    out: Rendered,
    /// Results that may be followed by the rest of their message.
    results: Option<Draft<'a>>,
    ids: Ids,
}

pub(super) fn render(conversation: &Conversation<'_>) -> Rendered {
    let mut render = Render {
        out: Rendered::default(),
        results: None,
        ids: Ids::new(false, |id| {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            id.bytes().all(plain)
        }),
    };
    for step in &conversation.steps {
        match step {
            Step::Checkpoint { entry, words } => {
                render.user(entry.seq, vec![fresh(block(&quote(words)))]);
            }
            Step::Say { entry, rest } => render.say(entry, *rest),
            Step::Reply(reply) => render.reply(reply),
        }
    }
    render.flush();
    render.out
}

impl<'a> Render<'a> {
    fn say(&mut self, entry: &'a Entry, rest: bool) {
        let Some(raw) = entry.native() else {
            return self.out.lose(entry.seq, Lost::Empty);
        };
        if matches!(entry.role, Role::System | Role::Developer) {
            return self.instruct(entry.seq, raw);
        }
        let native = Native::of(raw);
        let blocks = native.blocks.iter().enumerate();
        let blocks = blocks.filter(|(_, b)| !matches!(b.what, What::Result { .. }));
        let mut pieces = Vec::new();
        for (nth, block) in blocks {
            match block.what {
                What::Call { .. } => self.out.lose(entry.seq, Lost::Call),
                What::Thought => self.out.lose(entry.seq, Lost::Thought),
                _ => pieces.extend(self.piece(raw, &native, nth, block, entry.seq)),
            }
        }
        if rest {
            if let Some(results) = self.results.as_mut().filter(|r| r.seq == entry.seq) {
                return results.pieces.extend(pieces);
            }
        } else if pieces.is_empty() {
            self.out.lose(entry.seq, Lost::Empty);
        }
        self.user(entry.seq, pieces);
    }

    /// Instructions: outside the messages as long as there are none.
    fn instruct(&mut self, seq: SeqNum, raw: &RawValue) {
        let words = text_of(raw);
        if words.trim().is_empty() {
            self.out.lose(seq, Lost::Empty);
        } else if self.out.messages.is_empty() && self.results.is_none() {
            let (json, changed) = super::text::well_formed(block(&quote(&words)));
            if changed {
                self.out.lose(seq, Lost::Surrogate);
            }
            self.out.system.extend(RawValue::from_string(json));
        } else {
            self.out.lose(seq, Lost::Role);
            self.user(seq, vec![fresh(block(&quote(&words)))]);
        }
    }

    fn reply(&mut self, reply: &Reply<'a>) {
        let ids = self.ids.of(reply, &mut self.out);
        let mut pieces = Vec::new();
        let parts = part::parts(reply);
        for part in &parts {
            self.part(part, &ids, reply, &mut pieces);
        }
        let seq = reply.parts.first().map_or(SeqNum::ZERO, |part| part.seq);
        while pieces.last().is_some_and(|piece: &Piece<'_>| piece.thought) {
            pieces.pop();
            self.out.lose(seq, Lost::Thought);
        }
        if pieces.is_empty() {
            return self.out.lose(seq, Lost::Empty);
        }
        self.flush();
        if self.out.messages.is_empty() {
            self.out.lose(seq, Lost::Opening);
            self.user(seq, vec![fresh(block(&quote(OPENING)))]);
        }
        self.write(&Draft {
            role: "assistant",
            seq,
            pieces,
        });
        for at in part::order(&parts) {
            if let (Some(made), Some(id)) = (reply.calls.get(at), ids.get(at)) {
                self.result(made, id, seq);
            }
        }
    }

    fn part(
        &mut self,
        part: &Part<'a>,
        ids: &[String],
        reply: &Reply<'a>,
        pieces: &mut Vec<Piece<'a>>,
    ) {
        let mut calls = part.calls.iter();
        if let (Some(native), Some(raw)) = (&part.native, part.raw) {
            for (nth, block) in native.blocks.iter().enumerate() {
                let What::Call { id, name, input } = &block.what else {
                    match &block.what {
                        What::Result { .. } => self.out.lose(part.seq, Lost::Block),
                        What::Image(_) => self.out.lose(part.seq, Lost::Image),
                        _ => pieces.extend(self.piece(raw, native, nth, block, part.seq)),
                    }
                    continue;
                };
                let Some(new) = calls.next().copied().flatten().and_then(|at| ids.get(at)) else {
                    self.out.lose(part.seq, Lost::Call);
                    continue;
                };
                let is_object = input.is_some_and(|input| input.get().starts_with('{'));
                let same = *id == **new && is_object && !name.is_empty();
                if same && native.owns(block, Shape::Anthropic) {
                    pieces.push(untouched(raw, nth, native, block));
                } else {
                    let name = part::tool_name(name, part.seq, &mut self.out);
                    let input = part::object(*input, part.seq, &mut self.out);
                    pieces.push(fresh(call(new, &name, &input)));
                }
            }
        }
        for at in &part.bare {
            if let (Some(made), Some(id)) = (reply.calls.get(*at), ids.get(*at)) {
                let name = part::tool_name(&made.call.name, part.seq, &mut self.out);
                pieces.push(fresh(call(id, &name, "{}")));
            }
        }
    }

    /// A block that is neither a call nor a result.
    fn piece(
        &mut self,
        raw: &'a RawValue,
        native: &Native<'a>,
        nth: usize,
        it: &Block<'a>,
        seq: SeqNum,
    ) -> Option<Piece<'a>> {
        // A string among blocks is none of them.
        let string = native
            .fields
            .get("content")
            .is_some_and(|c| c.get().starts_with('"'));
        let own = native.owns(it, Shape::Anthropic) && (string || !it.is_loose());
        let lost = match &it.what {
            What::Text(text) if !says_something(text) => Lost::Empty,
            What::Text(_) if own => return Some(untouched(raw, nth, native, it)),
            What::Text(text) => return Some(fresh(block(text.get()))),
            What::Junk => Lost::Block,
            _ if own => {
                return Some(Piece {
                    thought: matches!(it.what, What::Thought),
                    ..untouched(raw, nth, native, it)
                });
            }
            What::Image(image) => match image::anthropic(image) {
                Some(json) => return Some(fresh(json)),
                None => Lost::Image,
            },
            What::Thought => Lost::Thought,
            _ => Lost::Block,
        };
        self.out.lose(seq, lost);
        None
    }

    fn result(&mut self, made: &Made<'a>, id: &str, caller: SeqNum) {
        let piece = match made.answer {
            None => fresh(result(id, Some(&quote(INTERRUPTED)), true)),
            Some((entry, nth)) => self.given(entry, nth, id),
        };
        let seq = made.answer.map_or(caller, |(entry, _)| entry.seq);
        let draft = self.results.get_or_insert(Draft {
            role: "user",
            seq,
            pieces: Vec::new(),
        });
        draft.pieces.push(piece);
        draft.seq = seq;
    }

    fn given(&mut self, entry: &'a Entry, nth: usize, id: &str) -> Piece<'a> {
        let failed = entry.results.get(nth).is_some_and(|result| result.error);
        let Some((it, native)) = part::result_block(entry, nth) else {
            let content = failed.then(|| quote("(no output)"));
            return fresh(result(id, content.as_deref(), failed));
        };
        let What::Result {
            id: own,
            content,
            error,
        } = &it.what
        else {
            return fresh(result(id, None, failed));
        };
        let parts = part::content(*content);
        let says = |what: &What<'_>| !matches!(what, What::Text(text) if !says_something(text));
        let all = parts.iter().all(says);
        let string = content.is_some_and(|content| content.get().starts_with('"'));
        let list = content.is_none_or(|content| content.get().starts_with('['));
        let fits = if *error {
            all && !parts.is_empty()
        } else {
            string || (list && all)
        };
        if native.owns(&it, Shape::Anthropic) && *own == *id && fits {
            let raw = entry.native();
            let at = native
                .blocks
                .iter()
                .position(|b| std::ptr::eq(b.raw, it.raw));
            if let (Some(raw), Some(at)) = (raw, at) {
                return untouched(raw, at, &native, &it);
            }
        }
        let failed = failed || *error;
        let json = self.content(*content, &parts, entry.seq, failed);
        fresh(result(id, json.as_deref(), failed))
    }

    /// The content of a result, said anew.
    fn content(
        &mut self,
        content: Option<&RawValue>,
        parts: &[What<'_>],
        seq: SeqNum,
        failed: bool,
    ) -> Option<String> {
        if let [What::Text(text)] = parts
            && (says_something(text) || !failed)
        {
            return Some(text.get().to_owned());
        }
        let mut blocks = Vec::new();
        for what in parts {
            match what {
                What::Text(text) if says_something(text) => blocks.push(block(text.get())),
                What::Text(_) => {}
                What::Image(image) => match image::anthropic(image) {
                    Some(json) => blocks.push(json),
                    None => self.out.lose(seq, Lost::Image),
                },
                _ => self.out.lose(seq, Lost::Block),
            }
        }
        if !blocks.is_empty() {
            return Some(array(blocks.iter().map(String::as_str)));
        }
        match content.filter(|content| parts.is_empty() && content.get() != "null") {
            Some(odd) if odd.get() != "[]" => Some(quote(odd.get())),
            _ => failed.then(|| quote("(no output)")),
        }
    }

    /// Adds a message of the user.
    fn user(&mut self, seq: SeqNum, pieces: Vec<Piece<'a>>) {
        self.flush();
        if !pieces.is_empty() {
            self.write(&Draft {
                role: "user",
                seq,
                pieces,
            });
        }
    }

    fn flush(&mut self) {
        if let Some(draft) = self.results.take() {
            self.write(&draft);
        }
    }

    fn write(&mut self, draft: &Draft<'a>) {
        match draft.untouched() {
            Some((native, true)) => self.out.push_raw(draft.seq, native),
            Some((content, false)) => {
                let json = message(draft.role, content.get());
                self.out.push(draft.seq, json);
            }
            None => {
                let blocks = draft.pieces.iter().map(|piece| &*piece.json);
                let json = message(draft.role, &array(blocks));
                self.out.push(draft.seq, json);
            }
        }
    }
}

fn call(id: &str, name: &str, input: &str) -> String {
    let (id, name) = (quote(id), quote(name));
    format!("{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}")
}

fn result(id: &str, content: Option<&str>, error: bool) -> String {
    let mut out = format!("{{\"type\":\"tool_result\",\"tool_use_id\":{}", quote(id));
    if let Some(content) = content {
        out.push_str(",\"content\":");
        out.push_str(content);
    }
    if error {
        out.push_str(",\"is_error\":true");
    }
    out.push('}');
    out
}
