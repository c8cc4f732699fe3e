//! A check and its cases.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Subject,
    judgement::{Judgement, Stop},
    scene::Scene,
    trace::Trace,
};

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Some cases of each check, for every change.
    Quick,
    /// All cases.
    Full,
}

/// Whether a server has to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// A guarantee is broken where it fails.
    Must,
    /// Users are worse off where it fails.
    Should,
}

/// One thing that is checked. Its judgement of a case depends on nothing else, so that a case can be played again.
#[derive(Debug)]
pub struct Check {
    /// Stable id, `family/name`.
    pub id: &'static str,
    /// Whether a server has to pass.
    pub severity: Severity,
    /// The contract's guarantees that are broken when it fails.
    pub guarantees: &'static [&'static str],
    /// What must hold, in one sentence.
    pub states: &'static str,
    /// Why it matters and how it is tried, in a few sentences.
    pub explains: &'static str,
    /// What is to be tried.
    pub cases: fn(&Bench<'_>) -> Result<Vec<Case>, Stop>,
    /// Tries one.
    pub judge: fn(&Bench<'_>, &Case) -> Judgement,
    /// Smaller cases that may fail as well, the smallest first.
    pub shrink: fn(&Case) -> Vec<Case>,
}

impl Check {
    /// The part of the id before the slash.
    pub fn family(&self) -> &'static str {
        self.id.split('/').next().unwrap_or_default()
    }
}

/// Whether `pattern` is the id of a check, or of its family: `family` or `family/*`.
pub fn covers(pattern: &str, id: &str) -> bool {
    let family = pattern.strip_suffix("/*").unwrap_or(pattern);
    let below = id.strip_prefix(family).and_then(|rest| rest.strip_prefix('/'));
    pattern == id || below.is_some()
}

/// For checks whose cases are as small as can be.
pub fn as_small_as_can_be(_: &Case) -> Vec<Case> {
    Vec::new()
}

/// For checks whose cases are lists of steps: a half, or all but one.
pub fn fewer_steps<Step: Clone + Serialize + DeserializeOwned>(case: &Case) -> Vec<Case> {
    let Ok(steps) = case.read::<Vec<Step>>() else {
        return Vec::new();
    };
    let half = steps.len() / 2;
    let halves = [steps[..half].to_vec(), steps[half..].to_vec()];
    let without = (0..steps.len()).map(|gone| {
        let mut fewer = steps.clone();
        fewer.remove(gone);
        fewer
    });
    let all = halves.into_iter().filter(|_| half > 1).chain(without);
    all.filter(|fewer| !fewer.is_empty())
        .map(|fewer| Case::new(case.name.clone(), fewer))
        .collect()
}

/// What a check needs to make its cases and to judge one.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The server under test.
    pub subject: &'a Subject,
    /// How much is to be tried.
    pub profile: Profile,
    /// Where all that is chosen at random comes from.
    pub seed: u64,
    /// What has been done; part of the witness.
    pub trace: Trace,
}

impl<'a> Bench<'a> {
    /// A library of `documents`, with nothing done to it yet.
    ///
    /// # Errors
    /// When the disk or git fails.
    pub fn scene(&self, documents: &[(&str, impl AsRef<[u8]>)]) -> Result<Scene<'a>, Stop> {
        Scene::new(self.subject, &self.trace, documents)
    }

    /// A source of random choices that is the same in every run with the same seed; `what` tells it from others.
    pub fn dice(&self, what: &str) -> fastrand::Rng {
        let mixed = what
            .bytes()
            .fold(self.seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        fastrand::Rng::with_seed(mixed)
    }

    /// The first of both in the quick profile, else the second.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        match self.profile {
            Profile::Quick => quick,
            Profile::Full => full,
        }
    }
}

/// One thing to try, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// What it is, for people; unique among a check's cases.
    pub name: String,
    /// Everything that the check needs to try it.
    pub data: Value,
}

impl Case {
    /// A case from data of the check's own type.
    ///
    /// # Panics
    /// When `data` can't be written as JSON, which is a defect of the check.
    pub fn new(name: impl Into<String>, data: impl Serialize) -> Self {
        Self {
            name: name.into(),
            data: serde_json::to_value(data).expect("cases are JSON"),
        }
    }

    /// The only case of a check that has but one.
    pub fn only() -> Vec<Self> {
        vec![Self::new("the only case", Value::Null)]
    }

    /// The data, as the check's own type.
    ///
    /// # Errors
    /// When a saved case is of another version of the check.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Stop> {
        Ok(serde_json::from_value(self.data.clone())?)
    }
}
