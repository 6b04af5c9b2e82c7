//! Conditions that follow from an object by rules of the work.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;

use portolan_api::conditions::{LONGEST_MESSAGE, cut_message};
use portolan_api::labels::conditions as types;
use portolan_api::structural::{CONDITION_TYPE, is_condition_type};
use portolan_api::work::{ConditionRule, ConditionRuleType};
use portolan_cel::{Environment, Program, Value as Cel, ValueType};
use portolan_runtime::failure::shortened;
use serde_json::Value;

use super::conditions::{ConditionStatus, NewCondition};
use super::rule_index::{ACTED_UPON, RuleIndexes};
use super::rule_reasons::{EVALUATED, EXPRESSION_ERROR, FAILED, INVALID};
use super::well_known;
use crate::cost::{Cost, MOST_WORDS, Spent};
use crate::work::Target;

/// Type of the condition that names rules for conditions which the agent itself gives.
const RULES_VALID: &str = "ConditionRulesValid";

/// Units that a rule costs beside its expressions: its condition takes room.
const PER_RULE: u64 = 500;
/// Units that it takes to compile an expression, and each byte of it.
const TO_COMPILE: u64 = 300;
const PER_BYTE: u64 = 30;
/// Most types of conditions that the rules of one work give: each is a condition of the work too.
const MOST_TYPES: usize = 256;
/// How much of an expression is shown.
const SHOWN: usize = 200;
/// Units that a rule costs which is passed over because an earlier one gave its condition.
const PER_REPEAT: u64 = 10;

/// The rules of one work: their expressions are compiled once, and what they cost is paid from one budget.
pub(super) struct Rules<'f> {
    rules: Programs<'f>,
    messages: Programs<'f>,
    types: BTreeSet<String>,
    indexes: RuleIndexes<'f>,
    /// Rules that were looked at, repeated ones and those that were left out included.
    #[cfg(test)]
    visited: usize,
}

/// Why a rule is left out.
enum LeftOut {
    /// The budget is spent: every later rule would be left out too.
    Spent(Spent),
    /// The work gives too many types of conditions; a later rule may give a type that there is.
    Types,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Spent(spent) => spent.fmt(formatter),
            LeftOut::Types => write!(
                formatter,
                "the rules of one work give more than {MOST_TYPES} types of conditions; accepted: {MOST_TYPES} or fewer"
            ),
        }
    }
}

impl<'f> Rules<'f> {
    pub(super) fn new() -> Rules<'f> {
        let rule = Environment::condition_rules().variable("object", ValueType::DYN);
        Rules {
            messages: Programs::new(rule.clone().variable("result", ValueType::BOOL)),
            rules: Programs::new(rule),
            types: BTreeSet::new(),
            indexes: RuleIndexes::default(),
            #[cfg(test)]
            visited: 0,
        }
    }

    /// The conditions that the rules of the object's settings give. The rules after the one that spends the budget are not looked
    /// at: a work has as many rules and manifests as its writer likes, and their product may be millions.
    pub(super) fn conditions(
        &mut self,
        target: &'f Target,
        object: &Value,
        cost: &mut Cost,
    ) -> Vec<NewCondition> {
        let object = Object::new(target, object);
        let mut said: Vec<NewCondition> = Vec::new();
        // The first rule of a type counts.
        let mut given = BTreeSet::new();
        let mut add = |found: Vec<NewCondition>, given: &mut BTreeSet<String>| {
            let new = found.into_iter().filter(|said| given.insert(said.r#type.clone()));
            said.extend(new);
        };
        let (mut left_out, mut why) = (0, String::new());
        for (position, rule) in target.config.rules.iter().enumerate() {
            #[cfg(test)]
            {
                self.visited += 1;
            }
            let is_repeated = rule.named().is_some_and(|named| given.contains(named));
            let found = match cost.spend(if is_repeated { PER_REPEAT } else { PER_RULE }) {
                Ok(()) if is_repeated => continue,
                Ok(()) => self.one(rule, &object, cost),
                Err(spent) => Err(LeftOut::Spent(spent)),
            };
            match found {
                Ok(found) => add(found, &mut given),
                Err(LeftOut::Types) => {
                    left_out += 1;
                    why = LeftOut::Types.to_string();
                }
                Err(LeftOut::Spent(spent)) => {
                    left_out += target.config.rules.len() - position;
                    why = spent.to_string();
                    add(self.left_out_from(position, target, &why), &mut given);
                    break;
                }
            }
        }
        if left_out > 0 {
            let rules = portolan_api::count::counted(left_out, "rule");
            let why = format!("{rules} not evaluated: {why}");
            add(
                vec![NewCondition::new(
                    RULES_VALID,
                    ConditionStatus::False,
                    INVALID,
                    why,
                )],
                &mut given,
            );
        }
        said
    }

    /// The conditions that others act upon and that the rules from this position on would give.
    fn left_out_from(&mut self, position: usize, target: &'f Target, why: &str) -> Vec<NewCondition> {
        let index = self.indexes.of(&target.config.rules);
        let named = index.named_from(position).map(str::to_owned);
        let usual = match index.has_unnamed_from(position) {
            true => well_known::conditions(&target.id.group, &target.kind, &Value::Null),
            false => Vec::new(),
        };
        let usual = usual.into_iter().map(|said| said.r#type);
        named
            .chain(usual)
            .map(|r#type| no_answer(&r#type, why.to_owned()))
            .collect()
    }

    /// The same for an object that may not be read. What is wrong with a rule is wrong whatever the object is.
    pub(super) fn unknown(&mut self, target: &'f Target, why: &str, cost: &mut Cost) -> Vec<NewCondition> {
        let said = self.conditions(target, &Value::Null, cost).into_iter();
        said.map(|said| match self.is_wrong(target, &said) {
            true => said,
            false => NewCondition::new(&said.r#type, ConditionStatus::Unknown, FAILED, why),
        })
        .collect()
    }

    /// Whether this is about a mistake in a rule, and not about an object.
    fn is_wrong(&mut self, target: &'f Target, said: &NewCondition) -> bool {
        let rules = &target.config.rules;
        let first = self.indexes.of(rules).first(&said.r#type);
        let rule = first.and_then(|position| rules.get(position));
        let mut sources = rule.into_iter().flat_map(|rule| &rule.cel_expressions);
        let is_about = |source: &String| match self.rules.known.get(source.as_str()) {
            Some(Err(error)) => said.message.contains(error.as_str()),
            Some(Ok(_)) | None => false,
        };
        said.reason == INVALID || sources.any(is_about)
    }

    /// What one rule gives, or which limit of the work leaves it out.
    fn one(
        &mut self,
        rule: &'f ConditionRule,
        object: &Object<'_>,
        cost: &mut Cost,
    ) -> Result<Vec<NewCondition>, LeftOut> {
        if let Some(named) = rule.named() {
            if !is_condition_type(named) {
                return Ok(vec![nameless(named)]);
            }
            if is_ours(named) {
                return Ok(vec![ours(named)]);
            }
        }
        if let Some(named) = rule.named()
            && !self.types.contains(named)
        {
            if self.types.len() >= MOST_TYPES && !ACTED_UPON.contains(&named) {
                return Err(LeftOut::Types);
            }
            self.types.insert(named.to_owned());
        }
        match rule.r#type {
            ConditionRuleType::WellKnownConditions => Ok(self.well_known(rule, object, cost)),
            ConditionRuleType::Cel => {
                let said = self.by_cel(rule, object, cost);
                // What was computed with the last of the budget is no answer.
                cost.spend(1).map_err(LeftOut::Spent)?;
                Ok(said.into_iter().collect())
            }
        }
    }

    /// What is usual for the kind; nothing where nothing is. The rule may have words of its own for it.
    fn well_known(
        &mut self,
        rule: &'f ConditionRule,
        object: &Object<'_>,
        cost: &mut Cost,
    ) -> Vec<NewCondition> {
        let usual = object.usual().iter();
        let is_asked_for = |said: &&NewCondition| rule.named().is_none_or(|wanted| said.r#type == wanted);
        let mut found: Vec<NewCondition> = usual.filter(is_asked_for).cloned().collect();
        let has_words = |words: &Option<String>| words.as_deref().is_some_and(|words| !words.is_empty());
        if has_words(&rule.message) || has_words(&rule.message_expression) {
            for said in &mut found {
                said.message = self.message(rule, object, said.truth == ConditionStatus::True, cost);
            }
        }
        found
    }

    fn by_cel(
        &mut self,
        rule: &'f ConditionRule,
        object: &Object<'_>,
        cost: &mut Cost,
    ) -> Option<NewCondition> {
        // The API refuses a rule of this type without a condition.
        let r#type = rule.named()?;
        if rule.cel_expressions.is_empty() {
            let why = "celExpressions is empty; accepted: one expression or more";
            return Some(NewCondition::new(r#type, ConditionStatus::Unknown, INVALID, why));
        }
        let mut holds = true;
        for source in &rule.cel_expressions {
            let answer = self.rules.compiled(source, cost).and_then(|program| {
                let answer = cost.evaluate(|budget| program.run(&[Some(object.cel())], budget))?;
                answer
                    .as_bool()
                    .ok_or_else(|| "it does not give a bool".to_owned())
            });
            match answer {
                Ok(answer) => holds &= answer,
                Err(why) => {
                    let why = format!("the expression {:?}: {why}", shortened(source, SHOWN));
                    return Some(no_answer(r#type, within(why, cost)));
                }
            }
        }
        let message = self.message(rule, object, holds, cost);
        Some(NewCondition::new(
            r#type,
            ConditionStatus::of(holds),
            EVALUATED,
            message,
        ))
    }

    /// The message of the rule: what its expression gives, or else its text.
    fn message(
        &mut self,
        rule: &'f ConditionRule,
        object: &Object<'_>,
        holds: bool,
        cost: &mut Cost,
    ) -> String {
        let plain = || rule.message.clone().unwrap_or_default();
        let Some(source) = rule
            .message_expression
            .as_deref()
            .filter(|source| !source.is_empty())
        else {
            return within(plain(), cost);
        };
        let answer = self.messages.compiled(source, cost).and_then(|program| {
            let variables = [Some(object.cel()), Some(&Cel::bool(holds))];
            cost.evaluate(|budget| program.run(&variables, budget))
        });
        let message = match answer {
            Ok(answer) => answer.as_str().map_or_else(plain, str::to_owned),
            Err(error) if plain().is_empty() => format!("messageExpression: {error}"),
            Err(_) => plain(),
        };
        within(message, cost)
    }
}

/// An object. What several rules ask for is computed once: an object may have thousands of conditions.
struct Object<'o> {
    target: &'o Target,
    json: &'o Value,
    cel: OnceCell<Cel>,
    usual: OnceCell<Vec<NewCondition>>,
}

impl<'o> Object<'o> {
    fn new(target: &'o Target, json: &'o Value) -> Object<'o> {
        Object {
            target,
            json,
            cel: OnceCell::new(),
            usual: OnceCell::new(),
        }
    }

    fn cel(&self) -> &Cel {
        self.cel.get_or_init(|| Cel::from_json(self.json))
    }

    /// What is usual for its kind.
    fn usual(&self) -> &[NewCondition] {
        let (group, kind) = (&self.target.id.group, &self.target.kind);
        self.usual
            .get_or_init(|| well_known::conditions(group, kind, self.json))
    }
}

/// The expressions of a work that were compiled, by their text.
struct Programs<'f> {
    environment: Environment,
    known: HashMap<&'f str, Result<Rc<Program>, String>>,
}

impl<'f> Programs<'f> {
    fn new(environment: Environment) -> Programs<'f> {
        Programs {
            environment,
            known: HashMap::new(),
        }
    }

    fn compiled(&mut self, source: &'f str, cost: &mut Cost) -> Result<Rc<Program>, String> {
        if let Some(known) = self.known.get(source) {
            return known.clone();
        }
        let units = TO_COMPILE + PER_BYTE * source.len() as u64;
        cost.spend(units).map_err(|spent| spent.to_string())?;
        let mut patterns = 0;
        let compiled = Program::compile_counted(&self.environment, source, &mut patterns);
        let compiled = compiled.map(Rc::new).map_err(|error| error.to_string());
        self.known.insert(source, compiled.clone());
        // One expression is compiled beyond what is left, and no other.
        cost.spend(patterns).map_err(|spent| spent.to_string())?;
        compiled
    }
}

/// The message, as far as there is room for it.
fn within(message: String, cost: &mut Cost) -> String {
    let bytes = message.len().min(LONGEST_MESSAGE);
    match cost.has_room(bytes) {
        true => cut_message(message, LONGEST_MESSAGE),
        false => format!("left out: the values and messages of one work have more than {MOST_WORDS} bytes"),
    }
}

/// Whether the agent itself gives every manifest a condition of this type, whatever a rule says.
fn is_ours(r#type: &str) -> bool {
    [types::APPLIED, super::FEEDBACK_SYNCED].contains(&r#type)
}

fn ours(named: &str) -> NewCondition {
    let why =
        format!("a rule gives {named}, which is the agent's to say; accepted: any other type of condition");
    NewCondition::new(RULES_VALID, ConditionStatus::False, INVALID, why)
}

/// A rule for a condition that cannot be written: the hub would refuse the whole status because of its type.
fn nameless(named: &str) -> NewCondition {
    let why = format!(
        "a rule gives {:?}, and no condition can have this type; accepted: {CONDITION_TYPE}",
        shortened(named, SHOWN)
    );
    NewCondition::new(RULES_VALID, ConditionStatus::False, INVALID, why)
}

/// An expression that gives no answer means that the condition does not hold. But where "does not hold" is good news, an error
/// must not pass for it.
fn no_answer(r#type: &str, why: String) -> NewCondition {
    let truth = match r#type {
        types::PROGRESSING | types::DEGRADED => ConditionStatus::Unknown,
        _ => ConditionStatus::False,
    };
    NewCondition::new(r#type, truth, EXPRESSION_ERROR, why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work::{Config, Manifest, ObjectId};

    fn target(rules: Value) -> Target {
        Target {
            id: ObjectId {
                group: "apps".to_owned(),
                ..ObjectId::default()
            },
            version: "v1".to_owned(),
            kind: "Deployment".to_owned(),
            manifest: Manifest::read(&json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" },
            }))
            .unwrap(),
            config: Config {
                rules: serde_json::from_value::<Vec<_>>(rules).unwrap().into(),
                ..Config::default()
            },
        }
    }

    fn said(rules: Value, object: Value) -> Vec<(String, &'static str, String)> {
        let target = target(rules);
        Rules::new()
            .conditions(&target, &object, &mut Cost::of_work())
            .into_iter()
            .map(|said| (said.r#type, said.truth.word(), said.message))
            .collect()
    }

    #[test]
    fn a_wrong_rule_says_what_is_wrong_with_it_also_where_the_object_cannot_be_read() {
        let rule = |name: &str, expression: &str| json!({ "condition": name, "type": "CEL", "celExpressions": [expression] });
        let target = target(json!([
            rule("Available", "object.spec.replicas > 0"),
            rule("Degraded", "object.("),
            rule("not a type", "true"),
        ]));
        let said = Rules::new().unknown(&target, "the executor may not get it", &mut Cost::of_work());
        let of = |r#type: &str| said.iter().find(|said| said.r#type == r#type).unwrap();
        assert_eq!(of("Available").message, "the executor may not get it");
        assert_eq!(of("Available").reason, FAILED);
        let wrong = of("Degraded");
        assert!(
            wrong.message.starts_with("the expression \"object.(\": "),
            "{wrong:?}"
        );
        assert_eq!(wrong.truth, ConditionStatus::Unknown);
        assert!(of(RULES_VALID).message.contains("\"not a type\""));
    }

    /// Rules that give this many conditions by this expression, and those that rollouts look at after them.
    fn many(number: usize, expression: &str) -> Target {
        let names = (0..number).map(|number| format!("C{number}"));
        let names = names.chain(["Progressing", "Degraded", "Complete"].map(str::to_owned));
        target(
            names
                .map(|name| json!({ "condition": name, "type": "CEL", "celExpressions": [expression] }))
                .collect(),
        )
    }

    #[test]
    fn a_rule_for_a_condition_that_no_status_takes_is_named_and_gives_none() {
        let long = "a".repeat(317);
        for named in ["not a type!", long.as_str(), "a/b/c"] {
            for r#type in ["CEL", "WellKnownConditions"] {
                let rule = json!({ "type": r#type, "condition": named, "celExpressions": ["true"] });
                let good = json!({ "type": "CEL", "condition": "Good", "celExpressions": ["true"] });
                let said = said(json!([rule, good]), json!({}));
                let types: Vec<&str> = said.iter().map(|(r#type, ..)| r#type.as_str()).collect();
                assert_eq!(types, [RULES_VALID, "Good"], "{named}");
                let (_, truth, why) = &said[0];
                assert!(*truth == "False" && why.contains(&named[..3]), "{why}");
                assert!(why.contains("accepted: at most 316 characters"), "{why}");
            }
        }
    }

    #[test]
    fn all_rules_of_an_object_share_a_budget_and_those_beyond_it_are_told_so() {
        let items: Vec<u32> = (0..400).collect();
        let object = json!({ "items": items });
        let target = many(200, "object.items.all(a, object.items.all(b, a + b >= 0))");
        let mut cost = Cost::of_work();
        let said = Rules::new().conditions(&target, &object, &mut cost);
        assert_eq!(cost.spent_in_all(), crate::cost::PER_OBJECT);
        let of = |r#type: &str| said.iter().find(|said| said.r#type == r#type).unwrap();
        assert_eq!(of("Progressing").truth, ConditionStatus::Unknown);
        assert_eq!(of("Degraded").truth, ConditionStatus::Unknown);
        assert_eq!(of("Complete").truth, ConditionStatus::False);
        let invalid = of(RULES_VALID);
        assert!(
            invalid
                .message
                .contains("one object cost more than 10000000 units"),
            "{invalid:?}"
        );
        assert!(
            said.iter().all(|said| said.r#type != "C199"),
            "nothing is said of the rest"
        );
    }

    #[test]
    fn rules_are_not_looked_at_any_more_once_the_budget_of_the_work_is_spent() {
        let repeats = |name: &str| json!({ "condition": name, "type": "CEL", "celExpressions": ["true"] });
        let lists: [Value; 3] = [
            // New conditions, one condition again and again, and the same of what is well known.
            (0..2_000).map(|number| repeats(&format!("C{number}"))).collect(),
            (0..2_000).map(|_| repeats("Progressing")).collect(),
            (0..2_000)
                .map(|_| json!({ "type": "WellKnownConditions" }))
                .collect(),
        ];
        for list in lists {
            let mut list = list;
            list.as_array_mut().unwrap().push(repeats("Complete"));
            let target = target(list);
            let (mut rules, mut cost) = (Rules::new(), Cost::of_work());
            let mut last = Vec::new();
            for number in 0..2_000 {
                cost.enter(number);
                last = rules.conditions(&target, &json!({}), &mut cost);
            }
            let most = usize::try_from(crate::cost::PER_WORK / PER_REPEAT).unwrap();
            // One more for each manifest, which finds that nothing is left.
            assert!(rules.visited <= most + 2_000, "{} of 4,002,000", rules.visited);
            assert_eq!(rules.indexes.len(), 1, "all manifests share the list");
            let of = |r#type: &str| last.iter().find(|said| said.r#type == r#type).unwrap();
            assert_eq!(of("Complete").truth, ConditionStatus::False);
            let why = &of(RULES_VALID).message;
            assert!(
                why.starts_with("2001 rules not evaluated: the paths and"),
                "{why}"
            );
            assert_eq!(last.iter().filter(|said| said.r#type == RULES_VALID).count(), 1);
        }
    }

    #[test]
    fn patterns_of_expressions_are_paid_for_where_they_are_refused_too() {
        for pattern in ["pL{9}", "pL{99}"] {
            let rules = (0..3).map(|number| {
                json!({ "type": "CEL", "condition": format!("C{number}"),
                    "celExpressions": [format!(r"'a'.matches('\\{pattern}') || {number} > 9")] })
            });
            let mut cost = Cost::of_work();
            let target = target(rules.collect());
            let _ = Rules::new().conditions(&target, &json!({}), &mut cost);
            assert!(cost.spent_in_all() > 30_000, "{pattern}: {}", cost.spent_in_all());
        }
    }

    #[test]
    fn all_objects_of_a_work_share_a_budget() {
        let object = json!({ "items": (0..400).collect::<Vec<u32>>() });
        let target = many(20, "object.items.all(a, object.items.all(b, a + b >= 0))");
        let (mut rules, mut cost) = (Rules::new(), Cost::of_work());
        let said: Vec<Vec<NewCondition>> = (0..5)
            .map(|number| {
                cost.enter(number);
                rules.conditions(&target, &object, &mut cost)
            })
            .collect();
        assert_eq!(cost.spent_in_all(), crate::cost::PER_WORK);
        let last = said[4].iter().find(|said| said.r#type == RULES_VALID).unwrap();
        assert!(
            last.message.contains("one work cost more than 20000000 units"),
            "{last:?}"
        );
    }

    #[test]
    fn an_expression_is_compiled_once_for_all_rules_and_objects() {
        let target = many(100, "true");
        let (mut rules, mut cost) = (Rules::new(), Cost::of_work());
        for number in 0..10 {
            cost.enter(number);
            let said = rules.conditions(&target, &json!({}), &mut cost);
            assert!(said.iter().all(|said| said.truth == ConditionStatus::True));
        }
        assert_eq!(rules.rules.known.len(), 1);
    }

    #[test]
    fn a_work_has_a_bounded_number_of_conditions_and_of_words() {
        let said = Rules::new().conditions(&many(5_000, "true"), &json!({}), &mut Cost::of_work());
        assert!(said.len() <= MOST_TYPES + ACTED_UPON.len() + 1, "{}", said.len());
        assert!(
            said.iter()
                .any(|said| said.message.contains("more than 256 types"))
        );
        assert!(
            said.iter()
                .any(|said| said.r#type == "Complete" && said.truth == ConditionStatus::True)
        );
        let rules = (0..200).map(|number| {
            json!({ "condition": format!("C{number}"), "type": "CEL", "celExpressions": ["true"],
                    "messageExpression": "object.text" })
        });
        let (target, object) = (target(rules.collect()), json!({ "text": "x".repeat(100_000) }));
        let said = Rules::new().conditions(&target, &object, &mut Cost::of_work());
        let bytes: usize = said.iter().map(|said| said.message.len()).sum();
        assert!(bytes < 2 * MOST_WORDS, "{bytes}");
    }

    #[test]
    fn expressions_must_all_hold_and_the_message_may_be_computed() {
        let rules = json!([{
            "condition": "Progressing", "type": "CEL",
            "celExpressions": ["object.status.a > 0", "object.status.b == 'x'"],
            "messageExpression": "'a is ' + string(object.status.a) + (result ? '' : ', not enough')",
        }]);
        let object = |a: i64| json!({ "status": { "a": a, "b": "x" } });
        assert_eq!(
            said(rules.clone(), object(2)),
            [("Progressing".to_owned(), "True", "a is 2".to_owned())]
        );
        assert_eq!(
            said(rules, object(0)),
            [("Progressing".to_owned(), "False", "a is 0, not enough".to_owned())]
        );
    }

    #[test]
    fn a_rule_without_an_answer_does_not_hold_and_an_error_is_no_good_news() {
        for expression in ["object.status.absent > 0", "object.", "'text'"] {
            for (r#type, truth) in [
                ("Ready", "False"),
                ("Complete", "False"),
                ("Progressing", "Unknown"),
                ("Degraded", "Unknown"),
            ] {
                let rules = json!([{ "condition": r#type, "type": "CEL", "celExpressions": [expression] }]);
                let said = said(rules, json!({ "status": {} }));
                assert_eq!(said[0].1, truth, "{type}: {expression}");
                assert!(said[0].2.contains(expression), "{}", said[0].2);
            }
        }
    }

    #[test]
    fn an_expression_may_ask_whether_there_are_conditions() {
        let rules = json!([{
            "condition": "Ready", "type": "CEL",
            "celExpressions": ["hasConditions(object.status) && object.status.conditions.exists(c, c.type == 'Ready')"],
        }]);
        let truth = |status: Value| said(rules.clone(), json!({ "status": status }))[0].1;
        assert_eq!(truth(json!({ "conditions": [{ "type": "Ready" }] })), "True");
        assert_eq!(truth(json!({ "conditions": [] })), "False");
        assert_eq!(truth(json!({})), "False");
    }

    #[test]
    fn a_rule_has_its_own_words_for_what_is_well_known() {
        let rules = |extra: Value| {
            let mut rule = json!({ "type": "WellKnownConditions", "condition": "Progressing" });
            rule.as_object_mut()
                .unwrap()
                .extend(extra.as_object().unwrap().clone());
            json!([rule])
        };
        let words = |extra: Value| {
            said(rules(extra), json!({ "metadata": { "name": "a" } }))[0]
                .2
                .clone()
        };
        assert_eq!(words(json!({ "message": "not yet" })), "not yet");
        assert_eq!(
            words(json!({ "messageExpression": "object.metadata.name + (result ? ' moves' : '')" })),
            "a moves"
        );
    }

    #[test]
    fn a_rule_for_what_the_agent_says_itself_is_none() {
        for r#type in ["Applied", "StatusFeedbackSynced"] {
            let rules = json!([{ "condition": r#type, "type": "CEL", "celExpressions": ["true"] }]);
            let said = said(rules, json!({}));
            assert_eq!((said[0].0.as_str(), said[0].1), ("ConditionRulesValid", "False"));
            assert!(said[0].2.contains(r#type));
        }
    }

    #[test]
    fn well_known_rules_give_all_conditions_of_the_kind_or_the_one_that_is_asked_for() {
        let types = |rules: Value| -> Vec<String> {
            said(rules, json!({}))
                .into_iter()
                .map(|(r#type, ..)| r#type)
                .collect()
        };
        assert_eq!(
            types(json!([{ "type": "WellKnownConditions" }])),
            ["Progressing", "Degraded"]
        );
        assert_eq!(
            types(json!([{ "type": "WellKnownConditions", "condition": "Degraded" }])),
            ["Degraded"]
        );
        let unknown = said(
            json!([{ "type": "WellKnownConditions", "condition": "Complete" }]),
            json!({}),
        );
        assert_eq!(unknown, [], "nothing is usual about that");
    }
}
