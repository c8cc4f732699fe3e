//! Random metadata and contents.

use chrono::DateTime;
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{Agent, Link, Metadata};

/// Texts with syntax of YAML and Markdown; never blank, without blanks at their ends.
pub(crate) fn words() -> impl Strategy<Value = String> {
    "[a-zA-Zé猫#:'\"-][a-zA-Z0-9 é猫#:,'\"\\[\\]{}-]{0,20}[a-z0-9.]"
}

fn uuid() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn json_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        words().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        vec(words(), 1..3).prop_map(Value::from),
    ]
}

fn others() -> impl Strategy<Value = Map<String, Value>> {
    vec(("x[a-z]{1,6}", json_value()), 0..3).prop_map(|members| members.into_iter().collect())
}

pub(crate) fn link() -> impl Strategy<Value = Link> {
    let time =
        option::of((0..4_000_000_000_i64).prop_map(|seconds| DateTime::from_timestamp(seconds, 0).unwrap()));
    let by = (option::of(words()), option::of(uuid()));
    (option::of(uuid()), uuid(), words(), time, by, others()).prop_map(
        |(id, to, relation, created_at, (by, by_id), metadata)| Link {
            id,
            to,
            relation,
            created_at,
            by,
            by_id,
            metadata,
            others: Map::new(),
        },
    )
}

pub(crate) fn metadata() -> impl Strategy<Value = Metadata> {
    let texts = vec(option::of(words()), 6);
    let tags = vec("[a-zé/-]{1,9}", 0..4);
    let agent = option::of((words(), option::of(words())));
    let time = option::of(0..4_000_000_000_i64);
    let rest = (option::of(1..u64::from(u32::MAX)), any::<bool>(), vec(link(), 0..3), others());
    (option::of(uuid()), texts, tags, agent, time, rest).prop_map(
        |(id, texts, tags, agent, time, (version, sensitive, links, others))| {
            let mut texts = texts.into_iter();
            let mut text = || texts.next().unwrap();
            let (read, _) = Metadata::from_members(Map::from_iter([("tags".into(), json!(tags))]));
            Metadata {
                id,
                title: text(),
                note_type: text(),
                tags: read.tags,
                source: text(),
                version,
                created_at: time.map(|seconds| DateTime::from_timestamp(seconds, 0).unwrap()),
                created_by: text(),
                agent: agent.map(|(name, version)| Agent { name, version }),
                ai_justification: text(),
                reviewed_by: text(),
                sensitive,
                links,
                others,
            }
        },
    )
}

/// Contents of several sections, with text that resembles front matter.
pub(crate) fn content() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => words(),
        1 => words().prop_map(|words| format!("# {words}")),
        1 => words().prop_map(|words| format!("### {words}")),
        1 => Just("---".to_owned()),
        1 => Just("```".to_owned()),
        2 => Just(String::new()),
    ];
    vec(line, 0..30).prop_map(|lines| {
        ["x"].into_iter().chain(lines.iter().map(String::as_str)).collect::<Vec<_>>().join("\n")
    })
}
