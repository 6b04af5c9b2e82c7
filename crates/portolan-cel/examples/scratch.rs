//! scratch
use portolan_cel::*; use std::time::Instant;
fn main() {
    let numbers: Vec<i64> = (0..1000).collect();
    let c = Value::from(serde_json::json!({"numbers": numbers, "text": "a".repeat(100_000), "ab": "aab".repeat(33_000), "word": "abc", "js": format!("[{}]", vec!["[]"; 30000].join(","))}));
    let e = ["managedCluster.numbers.all(a, managedCluster.ab.matches('[ab]*a[ab]{25}[cd]') || true)","managedCluster.numbers.all(a, managedCluster.ab.matches('[ab]*a[ab]{20}[cd]') || true)","managedCluster.numbers.all(a, managedCluster.ab.substring(0,5000).matches('[ab]*a[ab]{300}[cd]') || true)","managedCluster.numbers.all(a, managedCluster.ab.substring(0,2000).matches('[ab]*a[ab]{1500}[cd]') || true)","managedCluster.ab.substring(0,5000).findAll('[ab]*[cd]|a').size()==1",
     "managedCluster.numbers.all(a, 'a'.matches(string(a) + '\\pL{6}') || true)"];
    for e in e { let p = Program::compile(e).unwrap(); let mut b = Budget::per_cluster(); let t = Instant::now(); let r = p.evaluate(&c, &NoScores, &mut b); println!("{:>6} ms spent {:>8} {:?} {e}", t.elapsed().as_millis(), b.spent(), r.map_err(|e| e.to_string())); }
}
