//! The names that nearly every check uses: cases as data, the library and its client, and judgements.

pub use serde::{Deserialize, Serialize};
pub use serde_json::{Map, Value, json};
pub use tabellion_runtime::{ToolSpec, spec::EffectKind};

pub use crate::{
    Subject,
    check::{Bench, Case, Check},
    client::Client,
    judgement::{Judgement, Stop, ensure, ensure_none, fail, nonempty, not_applicable, not_shown, refused},
    moment::Moment,
    named,
    reply::{Refusal, Reply},
    request::{Call, With},
    scene::Scene,
    talk::Talk,
};
