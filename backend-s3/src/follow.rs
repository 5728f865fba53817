//! Waiting for more, at a bounded cost.

use futures_timer::Delay;
use futures_util::future::{Either, select};
use sessionlog_core::{Result, SeqNum, SessionRef};

use std::sync::Arc;

use crate::head::Decoded;
use crate::moment::Moment;
use crate::seat::Seat;
use crate::view::View;

/// Every so many looks the heads are listed: those right behind the one that was seen may have been
/// collected.
const LIST_EVERY: u32 = 16;

impl Seat {
    /// Waits until the log may reach beyond `tail`. Cost: 1 GET for each look, every sixteenth 1
    /// LIST. Looks come ever more seldom while nothing comes.
    pub(crate) async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        let options = &self.env.objects.options;
        let mut pause = options.poll;
        let mut looks = 0;
        loop {
            let rung = self.bell.listen();
            let view = match self.view() {
                Some(view) if looks % LIST_EVERY != LIST_EVERY - 1 => self.look(view).await?,
                _ => self.load().await?.0,
            };
            looks += 1;
            view.is(session)?;
            if view.state.end.tail > tail {
                return Ok(());
            }
            match select(rung, Delay::new(pause)).await {
                Either::Left(_) => pause = options.poll,
                Either::Right(_) => pause = (pause * 3 / 2).min(options.longest_poll),
            }
        }
    }

    /// The head in the slot behind one, if there is one; else that one. Cost: 1 GET; 1 LIST and 1
    /// GET more where somebody took over, who may have come too late: then there are newer ones.
    async fn look(&self, view: Arc<View>) -> Result<Arc<View>> {
        let looked = Moment::now();
        let Some(Decoded { state, held }) = self.peek(view.state.slot + 1).await? else {
            return Ok(view);
        };
        if state.epoch != view.state.epoch {
            return Ok(self.load().await?.0);
        }
        let next = Arc::new(View::new(state, held, false).seen_at(looked));
        self.adopt(Some(&view), &next);
        Ok(next)
    }
}
