//! Time per evaluation of typical selectors against one cluster. Prints nanoseconds; gates nothing.
#![expect(clippy::disallowed_methods, reason = "a bench is where time is measured")]

use std::hint::black_box;
use std::time::Instant;

use portolan_cel::{Budget, NoScores, Program, Value};

const ROUNDS: u32 = 200_000;

const EXPRESSIONS: [&str; 6] = [
    r#"managedCluster.metadata.labels["env"] == "prod""#,
    r#"managedCluster.metadata.labels["missing"] == "prod""#,
    r#"managedCluster.metadata.labels["version"].matches("^1\\.3[0-9]\\.")"#,
    r#"managedCluster.status.clusterClaims.exists(c, c.name == "nodes" && int(c.value) > 10)"#,
    r#"semver(managedCluster.metadata.labels.version).isGreaterThan(semver("1.30.0"))"#,
    r#"quantity(managedCluster.status.allocatable.memory).isGreaterThan(quantity("16Gi"))"#,
];

fn main() {
    let json: serde_json::Value =
        serde_json::from_str(include_str!("../tests/cluster.json")).expect("the fixture is valid JSON");
    let cluster = Value::from(&json);
    report("build the value", || {
        drop(black_box(Value::from(black_box(&json))))
    });
    for expression in EXPRESSIONS {
        let program = Program::compile(expression).expect("the expressions compile");
        report(expression, || {
            let _ = black_box(program.evaluate(black_box(&cluster), &NoScores, &mut Budget::per_cluster()));
        });
    }
    report("compile", || {
        drop(black_box(Program::compile(black_box(EXPRESSIONS[3]))))
    });
}

fn report(name: &str, mut work: impl FnMut()) {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        work();
    }
    println!(
        "{:>8} ns  {name}",
        start.elapsed().as_nanos() / u128::from(ROUNDS)
    );
}
