//! Operand types of the operators.

use crate::syntax::ast::Operator;
use crate::types::{Bindings, Kind, Shape, Type};

const INT: Shape = Shape::Is(Kind::Int);
const UINT: Shape = Shape::Is(Kind::Uint);
const DOUBLE: Shape = Shape::Is(Kind::Double);
const STRING: Shape = Shape::Is(Kind::String);
const BYTES: Shape = Shape::Is(Kind::Bytes);
const BOOL: Shape = Shape::Is(Kind::Bool);
const TIMESTAMP: Shape = Shape::Is(Kind::Timestamp);
const DURATION: Shape = Shape::Is(Kind::Duration);
const LIST: Shape = Shape::List(&Shape::A);

/// Left, right, result.
type Signature = (Shape, Shape, Shape);

const ADD: &[Signature] = &[
    (INT, INT, INT),
    (UINT, UINT, UINT),
    (DOUBLE, DOUBLE, DOUBLE),
    (STRING, STRING, STRING),
    (BYTES, BYTES, BYTES),
    (LIST, LIST, LIST),
    (TIMESTAMP, DURATION, TIMESTAMP),
    (DURATION, TIMESTAMP, TIMESTAMP),
    (DURATION, DURATION, DURATION),
];

const SUBTRACT: &[Signature] = &[
    (INT, INT, INT),
    (UINT, UINT, UINT),
    (DOUBLE, DOUBLE, DOUBLE),
    (TIMESTAMP, TIMESTAMP, DURATION),
    (TIMESTAMP, DURATION, TIMESTAMP),
    (DURATION, DURATION, DURATION),
];

const MULTIPLY: &[Signature] = &[(INT, INT, INT), (UINT, UINT, UINT), (DOUBLE, DOUBLE, DOUBLE)];

const MODULO: &[Signature] = &[(INT, INT, INT), (UINT, UINT, UINT)];

const EQUAL: &[Signature] = &[(Shape::A, Shape::A, BOOL)];

/// Numbers have an order across their types; `==` between known, different number types is refused as in cel-go.
const ORDER: &[Signature] = &[
    (BOOL, BOOL, BOOL),
    (INT, INT, BOOL),
    (INT, UINT, BOOL),
    (INT, DOUBLE, BOOL),
    (UINT, UINT, BOOL),
    (UINT, INT, BOOL),
    (UINT, DOUBLE, BOOL),
    (DOUBLE, DOUBLE, BOOL),
    (DOUBLE, INT, BOOL),
    (DOUBLE, UINT, BOOL),
    (STRING, STRING, BOOL),
    (BYTES, BYTES, BOOL),
    (TIMESTAMP, TIMESTAMP, BOOL),
    (DURATION, DURATION, BOOL),
];

const IN: &[Signature] = &[
    (Shape::A, Shape::List(&Shape::A), BOOL),
    (Shape::A, Shape::Map(&Shape::A, &Shape::B), BOOL),
];

/// The type of the result, or `None` when no such operation exists for these operands.
pub(super) fn result_type(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    let signatures = match operator {
        Operator::Add => ADD,
        Operator::Subtract => SUBTRACT,
        Operator::Multiply | Operator::Divide => MULTIPLY,
        Operator::Modulo => MODULO,
        Operator::Equal | Operator::NotEqual => EQUAL,
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => ORDER,
        Operator::In => IN,
    };
    let mut results = signatures.iter().filter_map(|(first, second, result)| {
        let mut bindings = Bindings::default();
        let fits = bindings.accept(first, left) && bindings.accept(second, right);
        fits.then(|| bindings.instantiate(result))
    });
    let first = results.next()?;
    Some(results.fold(first, |common, result| common.join(&result)))
}
