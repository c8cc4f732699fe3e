//! A check and its cases.

use std::mem;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tabellion_runtime::{ContractSpec, ToolSpec, spec::EffectKind};

use crate::{
    Subject, contracts,
    documents::Document,
    judgement::{Judgement, Stop, missing_tool, not_applicable},
    promises,
    request::{self, Call, With},
    scene::Scene,
    trace::Trace,
};

/// Number of cases to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// For a first verdict.
    Smoke,
    /// For every change.
    Quick,
    /// For a release.
    Full,
}

impl Profile {
    /// All profiles, the shortest first.
    pub const ALL: [Self; 3] = [Self::Smoke, Self::Quick, Self::Full];

    /// Returns the profile's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// Returns the profile's purpose, in a phrase.
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::Smoke => "Some cases of the most telling checks, for a first verdict in a minute",
            Self::Quick => "Some cases of each check, for every change",
            Self::Full => "All cases",
        }
    }
}

/// Requirement level of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// If it fails, a guarantee is broken.
    Must,
    /// If it fails, users are worse off.
    Should,
}

/// A test of one requirement. Its judgement of a case depends on nothing else, so that a case can be replayed.
#[derive(Debug)]
pub struct Check {
    /// Stable id, `family/name`.
    pub id: &'static str,
    /// Requirement level.
    pub severity: Severity,
    /// The contract's guarantees that are broken when it fails.
    pub guarantees: &'static [&'static str],
    /// The requirement, in one sentence.
    pub states: &'static str,
    /// The reason for the check and its method, in a few sentences.
    pub explains: &'static str,
    /// Returns the cases.
    pub cases: fn(&Bench<'_>) -> Result<Vec<Case>, Stop>,
    /// Runs and judges one case.
    pub judge: fn(&Bench<'_>, &Case) -> Judgement,
    /// Returns smaller cases that may also fail, the smallest first.
    pub shrink: fn(&Case) -> Vec<Case>,
}

/// The guarantees of a check that does not say any. A test refuses it.
pub const UNSAID: &[&str] = &["?"];

impl Check {
    /// Returns a check of severity [`Must`](Severity::Must) with one case, which is never made smaller. Each check adds its id, its texts and
    /// its guarantees; these also if it has none, as a check without guarantees is for all contracts.
    pub const fn must(judge: fn(&Bench<'_>, &Case) -> Judgement) -> Self {
        Self {
            id: "",
            severity: Severity::Must,
            guarantees: UNSAID,
            states: "",
            explains: "",
            cases: |_| Ok(Case::only()),
            judge,
            shrink: |_| Vec::new(),
        }
    }

    /// Returns a check as [`must`](Self::must) does, but of severity [`Should`](Severity::Should).
    pub const fn should(judge: fn(&Bench<'_>, &Case) -> Judgement) -> Self {
        Self { severity: Severity::Should, ..Self::must(judge) }
    }

    /// Returns the severity for servers of this contract. A server without a contract may take more than its own schemas
    /// specify.
    pub fn severity_in(&self, contract: &ContractSpec) -> Severity {
        if contracts::is_declared(contract) && self.family() == "schema" {
            Severity::Should
        } else {
            self.severity
        }
    }

    /// Returns the part of the id before the slash.
    pub fn family(&self) -> &'static str {
        self.id.split('/').next().unwrap_or_default()
    }
}

/// Returns a case for each item of a list in the case's data, with that item alone; none if there are fewer than two. `name` gets the number
/// of the item, from 1, and the item.
pub fn each_alone<T: Clone + Serialize + DeserializeOwned, Item>(
    case: &Case,
    list: impl Fn(&mut T) -> &mut Vec<Item>,
    name: impl Fn(usize, &Item) -> String,
) -> Vec<Case> {
    let Ok(mut without) = case.read::<T>() else {
        return Vec::new();
    };
    let items = mem::take(list(&mut without));
    if items.len() < 2 {
        return Vec::new();
    }
    let one = |(number, item): (usize, Item)| {
        let (name, mut data) = (name(number, &item), without.clone());
        list(&mut data).push(item);
        Case::new(name, data)
    };
    (1..).zip(items).map(one).collect()
}

/// As [`each_alone`], for cases that are named by this case and the number of the item.
pub fn one_by_one<T: Clone + Serialize + DeserializeOwned, Item>(
    case: &Case,
    list: impl Fn(&mut T) -> &mut Vec<Item>,
) -> Vec<Case> {
    each_alone(case, list, |number, _| format!("{}, only number {number}", case.name))
}

/// Returns smaller cases of a list of steps: each half, and all but one.
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
    all.filter(|fewer| !fewer.is_empty()).map(|fewer| Case::new(case.name.clone(), fewer)).collect()
}

/// Context in which a check creates and judges its cases: server, profile, seed.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The server under test.
    pub subject: &'a Subject,
    /// Number of cases to run.
    pub profile: Profile,
    /// The seed of all random choices.
    pub seed: u64,
    /// Actions and messages so far; part of the witness.
    pub trace: Trace,
}

impl<'a> Bench<'a> {
    /// Creates a library of `documents`.
    pub fn scene(&self, documents: &[(&str, impl AsRef<[u8]>)]) -> Result<Scene<'a>, Stop> {
        Scene::new(self.subject, &self.trace, documents)
    }

    /// Returns a request that has an effect of this kind on the document that `with` names.
    ///
    /// # Errors
    /// If the server has no tool for it.
    pub fn request(&self, kind: EffectKind, with: With<'_>) -> Result<Call, Stop> {
        self.subject.request(kind, with).ok_or_else(missing_tool)
    }

    /// Returns the contract's tool or operation with this label.
    ///
    /// # Errors
    /// "Not applicable", if there is none: a saved case may be of another contract.
    pub fn tool(&self, label: &str) -> Result<&'static ToolSpec, Stop> {
        let tool = self.subject.contract.operation(label);
        tool.ok_or_else(|| not_applicable(format!("the contract has no tool `{label}`")))
    }

    /// Returns the contract's operation with this label, and its first valid example.
    ///
    /// # Errors
    /// "Not applicable", if there is none.
    pub fn example(&self, label: &str) -> Result<(&'static ToolSpec, Value), Stop> {
        let tool = self.subject.contract.operation(label);
        let example = tool.and_then(|tool| Some((tool, request::examples(tool).next()?)));
        example.ok_or_else(|| not_applicable(format!("`{label}` has no example")))
    }

    /// Returns true if the server must leave the rest of this document unchanged: if it is plain, or if the server promises to keep texts.
    pub fn owes(&self, document: &Document) -> bool {
        document.is_plain() || promises::are_texts_kept(self.subject.contract)
    }

    /// Returns a random number generator that depends on the seed and `what` only.
    pub fn dice(&self, what: &str) -> fastrand::Rng {
        let mixed = what.bytes().fold(self.seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        fastrand::Rng::with_seed(mixed)
    }

    /// Returns the value for the current profile.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        match self.profile {
            Profile::Smoke | Profile::Quick => quick,
            Profile::Full => full,
        }
    }
}

/// Returns a number with its noun, as in the names of cases: `1 server`, `2 servers`.
pub fn counted(many: usize, noun: &str) -> String {
    let s = if many == 1 { "" } else { "s" };
    format!("{many} {noun}{s}")
}

/// The data of one attempt of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Name for people; unique among the check's cases.
    pub name: String,
    /// Everything that the check needs to run the case.
    pub data: Value,
}

impl Case {
    /// Creates a case from data of the check's own type.
    ///
    /// # Panics
    /// If `data` can't be written as JSON, which is a defect of the check.
    pub fn new(name: impl Into<String>, data: impl Serialize) -> Self {
        Self { name: name.into(), data: serde_json::to_value(data).expect("cases are JSON") }
    }

    /// Returns the case of a check that has only one.
    pub fn only() -> Vec<Self> {
        vec![Self::new("the only case", Value::Null)]
    }

    /// Returns the data as the check's own type.
    ///
    /// # Errors
    /// If a saved case is of another version of the check.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Stop> {
        Ok(serde_json::from_value(self.data.clone())?)
    }
}
