//! Asks on the terminal for approval of a change.

use tabellion_runtime::{Approver, BoxFuture, Decision, Proposal, ProposedEffect};
use tabellion_upkeep::{
    console,
    page::{Output, Page, When},
};

/// The person at the terminal.
#[derive(Debug)]
pub(super) struct AtTerminal {
    /// Grants without asking.
    pub(super) yes: bool,
    /// When to use colours.
    pub(super) colour: When,
}

impl Approver for AtTerminal {
    fn decide<'a>(&'a self, proposal: &'a Proposal) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            if self.yes {
                return Decision::Granted;
            }
            console::say_in_colour(&self.shown(proposal));
            let verb = match proposal.effect {
                ProposedEffect::Create => "Create",
                ProposedEffect::Change => "Change",
                ProposedEffect::Delete => "Delete",
            };
            match console::ask(format_args!("{verb} `{}`?", proposal.path)) {
                Some(true) => Decision::Granted,
                Some(false) => Decision::Declined("you declined it".into()),
                None => Decision::Declined(
                    "a person must approve this call, and there is no terminal to ask on; approve it with `--yes`".into(),
                ),
            }
        })
    }
}

impl AtTerminal {
    /// Returns the proposed change as text. It is shown on standard error's terminal.
    fn shown(&self, proposal: &Proposal) -> String {
        let colour = if self.colour == When::Never { When::Never } else { When::Always };
        let mut page = Page::on_terminal(Output { json: false, colour, pager: false });
        page.diff_or_text(&proposal.shown);
        page.into_text()
    }
}
