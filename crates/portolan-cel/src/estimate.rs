//! What an expression may cost at the most, told before it runs.
//!
//! Kubernetes refuses rules whose estimate is over a limit. This estimate is never above that of Kubernetes: it multiplies what
//! loops multiply and counts each operation as one, where Kubernetes also counts how long texts can be. So no rule that
//! Kubernetes takes is refused, and a loop within a loop over lists without limits is.

use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::parse;

/// How large a value can become.
pub trait Extent {
    /// The value of a field.
    fn field(&self, name: &str) -> Option<&dyn Extent>;
    /// The items of a list, or the values of a map.
    fn element(&self) -> Option<&dyn Extent>;
    /// How many items or entries there can be.
    fn most(&self) -> u64;
}

/// The macros that go through a list or a map.
const LOOPS: [&str; 8] = [
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "filter",
    "map",
    "transformList",
    "transformMap",
];

/// What each turn of a loop costs beside its body: to look at the result so far, and to bring it up to date.
const TURN: u64 = 2;

/// What an expression with these variables costs at the most. One that does not parse costs nothing.
pub fn estimate(source: &str, variables: &[(&str, &dyn Extent)]) -> u64 {
    let Ok(expression) = parse(source) else {
        return 0;
    };
    let scope: Vec<_> = variables
        .iter()
        .map(|(name, extent)| (*name, Some(*extent)))
        .collect();
    cost(&expression, &scope).0
}

type Scope<'a> = [(&'a str, Option<&'a dyn Extent>)];

fn cost<'a>(expression: &'a Expr, scope: &Scope<'a>) -> (u64, Option<&'a dyn Extent>) {
    let of = |expression: &'a Expr| cost(expression, scope).0;
    let sum = |costs: &mut dyn Iterator<Item = u64>| costs.fold(1, u64::saturating_add);
    match &*expression.kind {
        ExprKind::Literal(_) => (0, None),
        ExprKind::Ident(name) => {
            let found = scope.iter().rev().find(|(known, _)| known == name);
            (1, found.and_then(|(_, extent)| *extent))
        }
        ExprKind::Select { operand, field, .. } => {
            let (cost, extent) = cost(operand, scope);
            let below = extent.and_then(|extent| extent.field(field).or_else(|| extent.element()));
            (cost.saturating_add(1), below)
        }
        ExprKind::Index { operand, index, .. } => {
            let (cost, extent) = cost(operand, scope);
            let below = extent.and_then(Extent::element);
            (sum(&mut [cost, of(index)].into_iter()), below)
        }
        ExprKind::Call {
            target: Some(target),
            name,
            arguments,
        } if LOOPS.contains(&name.as_str()) => turns(target, arguments, scope),
        ExprKind::Call {
            target, arguments, ..
        } => {
            let parts = target.as_deref().into_iter().chain(arguments);
            (sum(&mut parts.map(of)), None)
        }
        ExprKind::Not(operand) | ExprKind::Negate(operand) => (of(operand).saturating_add(1), None),
        ExprKind::Binary { left, right, .. } => (sum(&mut [of(left), of(right)].into_iter()), None),
        ExprKind::Logic { operands, .. } => (sum(&mut operands.iter().map(of)), None),
        ExprKind::Conditional {
            condition,
            then,
            otherwise,
        } => {
            let branch = of(then).max(of(otherwise));
            (of(condition).saturating_add(branch), None)
        }
        ExprKind::List(elements) => (sum(&mut elements.iter().map(|element| of(&element.value))), None),
        ExprKind::Map(entries) => {
            let costs = entries
                .iter()
                .flat_map(|entry| [of(&entry.key), of(&entry.value)]);
            (sum(&mut costs.into_iter()), None)
        }
    }
}

/// A loop: its variables come first, the last of them stands for the items.
fn turns<'a>(target: &'a Expr, arguments: &'a [Expr], scope: &Scope<'a>) -> (u64, Option<&'a dyn Extent>) {
    let (range, extent) = cost(target, scope);
    let is_name = |argument: &&Expr| matches!(&*argument.kind, ExprKind::Ident(_));
    // The last argument is what is done, also where it is a name.
    let names = arguments.iter().take(arguments.len().saturating_sub(1));
    let names = names.take_while(is_name).count();
    let mut inner = scope.to_vec();
    for (place, argument) in arguments.iter().take(names).enumerate() {
        if let ExprKind::Ident(name) = &*argument.kind {
            let items = extent.and_then(Extent::element).filter(|_| place + 1 == names);
            inner.push((name, items));
        }
    }
    let bodies = arguments.iter().skip(names).map(|body| cost(body, &inner).0);
    let body = bodies.fold(TURN, u64::saturating_add);
    let most = extent.map_or(1, Extent::most);
    (range.saturating_add(most.saturating_mul(body)), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of so many lists of so many texts, or one of the inner lists, or a text.
    struct Lists(Vec<u64>, Option<Box<Lists>>);

    impl Lists {
        fn of(sizes: &[u64]) -> Lists {
            let below = sizes.split_first().map(|(_, rest)| Box::new(Lists::of(rest)));
            Lists(sizes.to_vec(), below)
        }
    }

    impl Extent for Lists {
        fn field(&self, _: &str) -> Option<&dyn Extent> {
            None
        }
        fn element(&self) -> Option<&dyn Extent> {
            self.1.as_deref().map(|below| below as &dyn Extent)
        }
        fn most(&self) -> u64 {
            self.0.first().copied().unwrap_or(1)
        }
    }

    #[test]
    fn loops_multiply_and_the_rest_adds_up() {
        let lists = Lists::of(&[10, 100]);
        let cost = |source: &str| estimate(source, &[("self", &lists)]);
        assert_eq!(cost("true"), 0);
        assert_eq!(cost("self == self"), 3);
        let once = cost("self.all(x, true)");
        assert_eq!(once, 1 + 10 * TURN);
        assert_eq!(
            cost("self.all(x, x.all(y, true))"),
            1 + 10 * (TURN + 1 + 100 * TURN)
        );
        assert_eq!(
            cost("self.all(i, x, x.all(y, true))"),
            1 + 10 * (TURN + 1 + 100 * TURN)
        );
        assert_eq!(cost("self.map(x, x)"), 1 + 10 * (TURN + 1));
        assert_eq!(cost("true ? self.all(x, true) : false"), once);
        assert_eq!(cost("self[0].exists(y, true)"), 1 + 1 + 100 * TURN);
        assert_eq!(cost("[1, 2].all(x, true)"), 1 + TURN, "unknown sizes count once");
        assert_eq!(cost("this is no expression"), 0);
        let endless = Lists::of(&[u64::MAX, u64::MAX]);
        assert_eq!(
            estimate("self.all(x, x.all(y, true))", &[("self", &endless)]),
            u64::MAX
        );
    }
}
