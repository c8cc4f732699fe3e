//! Second pass: the views of an authored schema, which are the runtime's. The third view, for typify, is in `types`.

pub(crate) use tabellion_runtime::schema::views::*;
