//! What makes a placement `Misconfigured`, in words that name the field, its value and what to use instead.

use portolan_api::FieldError;
use portolan_api::spelling;
use portolan_api::structural::MAX_ERRORS;
use portolan_cel::CompileError;

use crate::filter::{PREDICATE, TAINT_TOLERATION};
use crate::selector::preview;
use crate::status::Status;

const GROUP_SIZE: &str = "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup";
pub const GROUP_SIZES: &str = "a whole number from 1, or 1% to 100%";

/// One mistake.
#[derive(Clone, Debug)]
pub struct Mistake {
    plugin: &'static str,
    /// The field, its value and what to use instead.
    pub error: Box<FieldError>,
    message: String,
}

impl Mistake {
    fn new(plugin: &'static str, error: FieldError) -> Mistake {
        Mistake {
            plugin,
            message: error.statement(),
            error: Box::new(error),
        }
    }

    /// The status of the placement.
    pub fn status(&self) -> Status {
        Status::misconfigured(self.plugin, self.message.clone())
    }
}

/// The mistakes of a placement, in the order of the pipeline: at least one, and at most as many as the errors about one
/// object. With more of them a placement of bad entries alone would take many times its own size in memory.
#[derive(Clone, Debug)]
pub(crate) struct Mistakes {
    /// The mistake that is the status of the placement.
    pub(crate) first: Mistake,
    others: Vec<Mistake>,
}

impl Mistakes {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mistake> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// With those of a later stage.
    pub(crate) fn and(mut self, later: Option<Mistakes>) -> Mistakes {
        if let Some(Mistakes { first, others }) = later {
            let later = std::iter::once(first).chain(others);
            self.others
                .extend(later.take(MAX_ERRORS.saturating_sub(self.others.len() + 1)));
        }
        self
    }
}

/// Takes values one by one, and keeps the mistakes among them.
#[derive(Debug, Default)]
pub(crate) struct Collector(Vec<Mistake>);

impl Collector {
    /// The value, or nothing where it is a mistake.
    pub(crate) fn take<T>(&mut self, value: Result<T, Mistake>) -> Option<T> {
        value.map_err(|mistake| self.add([mistake])).ok()
    }

    /// The value, or nothing where it has mistakes.
    pub(crate) fn take_all<T>(&mut self, value: Result<T, Mistakes>) -> Option<T> {
        let others = |mistakes: Mistakes| std::iter::once(mistakes.first).chain(mistakes.others);
        value.map_err(|mistakes| self.add(others(mistakes))).ok()
    }

    pub(crate) fn add(&mut self, mistakes: impl IntoIterator<Item = Mistake>) {
        let room = MAX_ERRORS.saturating_sub(self.0.len());
        self.0.extend(mistakes.into_iter().take(room));
    }

    /// The value if there was no mistake.
    pub(crate) fn none_or<T>(self, value: T) -> Result<T, Mistakes> {
        let mut mistakes = self.0.into_iter();
        match mistakes.next() {
            None => Ok(value),
            Some(first) => Err(Mistakes {
                first,
                others: mistakes.collect(),
            }),
        }
    }
}

/// A selector of a predicate.
pub fn predicate(error: FieldError) -> Mistake {
    Mistake::new(PREDICATE, error)
}

/// The selector of a decision group.
pub fn group_selector(error: FieldError) -> Mistake {
    Mistake::new("", error)
}

/// The only variable of an expression of a placement.
const VARIABLE: &str = "managedCluster";

/// An expression that does not compile. The text starts with the compiler's words, as OCM's does.
pub fn expression(path: &str, source: &str, error: &CompileError) -> Mistake {
    let mut message = format!("{error} (in {path}: {:?})", preview(source));
    let meant = match error {
        CompileError::Undeclared { name, .. } => spelling::did_you_mean(name, [VARIABLE]),
        _ => None,
    };
    let accepted = match (source.trim(), meant) {
        ("", _) => format!(
            "an expression that is true or false, such as {VARIABLE}.metadata.labels[\"env\"] == \"prod\", or no entry"
        ),
        (_, Some(meant)) => {
            message.push_str(&format!("; did you mean {meant}?"));
            format!("an expression that compiles; did you mean {meant}?")
        }
        (_, None) => format!("an expression that compiles; its only variable is {VARIABLE}"),
    };
    let error = FieldError::of_text(path, source, error.to_string(), accepted);
    Mistake {
        plugin: PREDICATE,
        error: Box::new(error),
        message,
    }
}

/// Expressions that cost more over all clusters than one placement may take. The placement is not wrong by itself: with
/// fewer clusters it can be evaluated. No count is named, since it changes with the fleet.
pub fn expressions_beyond_budget(limit: u64) -> Status {
    let message = format!(
        "spec.predicates: the CEL expressions of all predicates together cost more than {limit} units over the clusters that \
         they are evaluated for; use fewer or cheaper expressions, or label selectors, claim selectors or spec.clusterSets \
         that leave fewer clusters to evaluate"
    );
    Status::error(PREDICATE, message)
}

/// A toleration without a key that asks for a value.
pub fn toleration_without_key(index: usize, operator: &str) -> Mistake {
    let path = format!("spec.tolerations[{index}].operator");
    let accepted = "Exists, or set the key";
    let error = match operator {
        "" => FieldError::missing(path, accepted),
        operator => FieldError::of_text(path, operator, "", accepted),
    };
    let error = FieldError {
        problem: "the key is empty".to_owned(),
        ..error
    };
    Mistake::new(TAINT_TOLERATION, error)
}

/// A toleration of every value that names one.
pub fn toleration_with_value(index: usize, value: &str) -> Mistake {
    let path = format!("spec.tolerations[{index}].value");
    let error = FieldError::of_text(
        path,
        value,
        "the operator is Exists",
        "no value, or the operator Equal",
    );
    Mistake::new(TAINT_TOLERATION, error)
}

/// An operator of a toleration that does not exist.
pub fn toleration_operator(index: usize, operator: &str) -> Mistake {
    let path = format!("spec.tolerations[{index}].operator");
    let accepted = spelling::accepted_operator(operator, &path);
    Mistake::new(
        TAINT_TOLERATION,
        FieldError::of_text(path, operator, "", accepted),
    )
}

/// A mode of the prioritizer policy that does not exist.
pub fn mode(mode: &str) -> Mistake {
    let accepted = match spelling::did_you_mean(mode, ["Additive", "Exact"]) {
        Some(meant) => format!("Additive or Exact; did you mean {meant}?"),
        None => "Additive or Exact".to_owned(),
    };
    let error = FieldError::of_text("spec.prioritizerPolicy.mode", mode, "", accepted);
    Mistake::new("", error)
}

/// A configuration of the prioritizer policy without a coordinate.
pub fn no_coordinate(index: usize) -> Mistake {
    let error = FieldError::missing(
        coordinate(index),
        "a scoreCoordinate of type BuiltIn, AddOn or Property",
    );
    Mistake::new("", error)
}

/// A built-in prioritizer that does not exist, and those that do.
pub fn built_in(index: usize, name: &str, accepted: &str) -> Mistake {
    let path = format!("{}.builtIn", coordinate(index));
    let error = match name {
        "" => FieldError::missing(path, accepted),
        name => {
            let names = accepted
                .split([',', ' '])
                .filter(|word| !["", "or"].contains(word));
            let accepted = match spelling::did_you_mean(name, names) {
                Some(meant) => format!("{accepted}; did you mean {meant}?"),
                None => accepted.to_owned(),
            };
            FieldError::of_text(path, name, "", accepted)
        }
    };
    Mistake::new("", error)
}

/// A coordinate of type AddOn without its add-on.
pub fn no_add_on(index: usize) -> Mistake {
    let path = format!("{}.addOn", coordinate(index));
    let error = FieldError::missing(path, "a resourceName and a scoreName");
    Mistake::new("", error)
}

/// A coordinate of type Property without its property.
pub fn no_property(index: usize) -> Mistake {
    let path = format!("{}.property", coordinate(index));
    let error = FieldError::missing(path, "the name of a claim or property");
    Mistake::new("", error)
}

fn coordinate(index: usize) -> String {
    format!("spec.prioritizerPolicy.configurations[{index}].scoreCoordinate")
}

/// A list with more entries than one placement may have.
pub fn too_many(path: &str, number: usize, most: usize) -> Mistake {
    let value = format!("{number} entries");
    let accepted = format!("at most {most} entries");
    Mistake::new(
        "",
        FieldError::of_text(path, &value, "too many for one placement", accepted),
    )
}

/// A group size that is no number and no percentage.
pub fn group_size(size: &str) -> Mistake {
    Mistake::new("", FieldError::of_text(GROUP_SIZE, size, "", GROUP_SIZES))
}

/// What is wrong with a group size of 0 or less.
pub fn group_size_out_of_range(size: i64) -> FieldError {
    let problem = "every cluster is in one group";
    FieldError::new(GROUP_SIZE, &size.into(), problem, GROUP_SIZES)
}

/// A negative number of clusters.
pub fn number_of_clusters(number: i32) -> Mistake {
    let error = FieldError::new("spec.numberOfClusters", &number.into(), "", "0 or more");
    Mistake::new("", error)
}
