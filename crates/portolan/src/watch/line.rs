//! A turn as a line for people, or as one JSON object for each cluster.

use std::ops::RangeInclusive;

use jiff::Timestamp;
use portolan_api::count::counted;
use serde::Serialize;

use super::diff::{Change, Shown, Turn};
use crate::clock;
use crate::decided::Group;
use crate::output::table::{Tone, shortened_name};

/// Clusters named in one line. The rest is counted.
const NAMED: usize = 4;
/// Columns for the name of a placement. A longer name moves its own line alone, and is shortened where its line has no room
/// left for the name of a cluster.
const WIDEST_NAME: usize = 30;
/// The same on a terminal that is too narrow for that.
const NARROWEST_NAME: usize = 14;

/// How wide the name of a placement and its number of clusters are in every line. They only grow, so that lines that follow
/// each other stay aligned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    placement: usize,
    number: usize,
}

impl Default for Columns {
    /// A hundred clusters fit.
    fn default() -> Columns {
        Columns {
            placement: 0,
            number: "100 clusters".len(),
        }
    }
}

impl Columns {
    /// No more than a line needs.
    const NARROW: Columns = Columns {
        placement: 0,
        number: 0,
    };

    /// Makes room for these.
    pub(crate) fn widen(&mut self, turns: &[Turn]) {
        for turn in turns {
            let name = turn.placement.to_string().chars().count();
            if name <= WIDEST_NAME {
                self.placement = self.placement.max(name);
            }
            self.number = self.number.max(number_of(turn).len());
        }
    }
}

/// One line: time, placement, how many clusters there are now, what changed. `at_start` names what is there already. With
/// a number of columns for the terminal the line fits into them: it names fewer clusters and counts the rest. Names of
/// clusters are never cut; a long name of a placement is, where the line would name no cluster otherwise.
pub(crate) fn text(
    turn: &Turn,
    time: Timestamp,
    at_start: bool,
    room: Option<usize>,
    columns: &Columns,
) -> String {
    let fits = |line: &String| {
        let width = anstream::adapter::strip_str(line).to_string().chars().count();
        room.is_none_or(|room| width <= room)
    };
    let whole = turn.placement.to_string();
    let short = shortened_name(&whole, WIDEST_NAME);
    let shortest = shortened_name(&whole, NARROWEST_NAME);
    let named = |name, clusters: RangeInclusive<usize>, advice| {
        let lines = clusters.rev();
        lines.map(move |named| line(turn, name, time, at_start, Parts { named, advice }, columns))
    };
    let mut lines = named(&whole, 1..=NAMED, Advice::CommandInput)
        .chain(named(&short, 1..=NAMED, Advice::CommandInput))
        .chain(named(&whole, 1..=NAMED, Advice::LeftOut))
        .chain(named(&short, 1..=NAMED, Advice::LeftOut))
        .chain(named(&whole, 0..=0, Advice::LeftOut))
        .chain(named(&short, 0..=0, Advice::LeftOut));
    let fitting = lines.find(fits);
    let least = Parts {
        named: 0,
        advice: Advice::LeftOut,
    };
    fitting.unwrap_or_else(|| line(turn, &shortest, time, at_start, least, &Columns::NARROW))
}

/// What a line has room for.
#[derive(Clone, Copy)]
struct Parts {
    /// Clusters by name.
    named: usize,
    advice: Advice,
}

/// Whether a line says where the reasons for no cluster are. Names of clusters come first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Advice {
    CommandInput,
    LeftOut,
}

/// The line with at most these parts.
fn line(turn: &Turn, name: &str, time: Timestamp, at_start: bool, parts: Parts, columns: &Columns) -> String {
    let Columns { placement, number } = *columns;
    let Parts { named, advice } = parts;
    let word = |change: &(String, Change)| word(change, at_start);
    let (scored, others): (Vec<_>, Vec<_>) = turn
        .changes
        .iter()
        .partition(|(_, change)| matches!(change, Change::Scored { .. }));
    let mut words: Vec<String> = others.iter().take(named).map(|change| word(change)).collect();
    let room = named - words.len();
    if scored.len() <= room {
        words.extend(scored.iter().map(|change| word(change)));
    }
    let left_out = others.len().saturating_sub(named);
    if named == 0 {
        words.extend(counts(&others, at_start));
    } else if left_out > 0 {
        words.push(rest(&others, named, counts(&others[named..], at_start)));
    }
    if scored.len() > room {
        words.push(counted(scored.len(), "new score"));
    }
    // The decisions do not say why.
    if turn.clusters == Some(0) && advice == Advice::CommandInput {
        words.push(format!("`portolan explain {}` says why", turn.placement));
    }
    let clusters = number_of(turn);
    let line = format!(
        "{}  {:<placement$}  {:<number$}  {}",
        Tone::Faint.paint(&clock::of_day(time)),
        name,
        clusters,
        words.join("  ")
    );
    line.trim_end().to_owned()
}

/// How many clusters the placement has now.
fn number_of(turn: &Turn) -> String {
    match turn.clusters {
        Some(clusters) => counted(clusters, "cluster"),
        None => "no decision".to_owned(),
    }
}

/// How many changes a line does not name. Where they are not what the named ones are, it says what they are: a line that names
/// one cluster that went must not look as if two hundred did.
fn rest(changes: &[&(String, Change)], named: usize, counts: Option<String>) -> String {
    let (shown, left_out) = changes.split_at(named);
    let kind = |change: &&(String, Change)| std::mem::discriminant(&change.1);
    let is_alike = shown
        .iter()
        .chain(left_out)
        .map(kind)
        .all(|of| Some(of) == shown.first().map(kind));
    match counts.filter(|_| !is_alike) {
        Some(counts) => format!("and {counts}"),
        None => format!("and {} more", left_out.len()),
    }
}

/// How many clusters came, went and moved, for a line without room for a name.
fn counts(changes: &[&(String, Change)], at_start: bool) -> Option<String> {
    let count = |is: fn(&Change) -> bool| changes.iter().filter(|(_, change)| is(change)).count();
    // What is there at the start is what the number of clusters says.
    let added = match at_start {
        true => 0,
        false => count(|change| matches!(change, Change::Added(_))),
    };
    let parts = [
        (added, "added"),
        (count(|change| matches!(change, Change::Removed)), "removed"),
        (count(|change| matches!(change, Change::Moved { .. })), "moved"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn word((cluster, change): &(String, Change), at_start: bool) -> String {
    let score = |shown: &Shown| match shown.score {
        Some(score) if score != 0 => format!(" ({score})"),
        _ => String::new(),
    };
    match change {
        Change::Added(shown) if at_start => format!("{cluster}{}", score(shown)),
        Change::Added(shown) => Tone::Good.paint(&format!("+{cluster}{}", score(shown))),
        Change::Removed => Tone::Bad.paint(&format!("-{cluster}")),
        Change::Moved { from, to } => {
            let to = to.group.as_ref().map(ToString::to_string).unwrap_or_default();
            Tone::Doubtful.paint(&format!("{cluster} group {from}→{to}"))
        }
        Change::Scored { from, to } => format!("{cluster} {from}→{}", to.score.unwrap_or_default()),
    }
}

/// What programs read: one object for each cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record<'a> {
    time: Timestamp,
    namespace: &'a str,
    placement: &'a str,
    cluster: &'a str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a Group>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_group: Option<&'a Group>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_score: Option<i64>,
}

/// The changes of a turn for programs. `at_start` marks what was there before anything was followed.
pub(crate) fn records(turn: &Turn, time: Timestamp, at_start: bool) -> impl Iterator<Item = Record<'_>> {
    turn.changes.iter().map(move |(cluster, change)| {
        let (word, to) = match change {
            Change::Added(to) if at_start => ("present", Some(to)),
            Change::Added(to) => ("added", Some(to)),
            Change::Removed => ("removed", None),
            Change::Moved { to, .. } => ("moved", Some(to)),
            Change::Scored { to, .. } => ("scored", Some(to)),
        };
        Record {
            time,
            namespace: &turn.placement.namespace,
            placement: &turn.placement.name,
            cluster,
            change: word,
            group: to.and_then(|to| to.group.as_ref()),
            from_group: match change {
                Change::Moved { from, .. } => Some(from),
                _ => None,
            },
            score: to.and_then(|to| to.score),
            from_score: match change {
                Change::Scored { from, .. } => Some(*from),
                _ => None,
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use portolan_engine::placement::PlacementKey;

    use super::*;

    fn turn(changes: Vec<(String, Change)>) -> Turn {
        Turn {
            placement: PlacementKey::new("ml", "training"),
            clusters: Some(changes.len()),
            changes,
        }
    }

    fn shown(group: u32, score: i64) -> Shown {
        Shown {
            group: Some(Group {
                index: group,
                name: String::new(),
            }),
            score: Some(score),
        }
    }

    /// The line in columns that were made for it.
    fn fitted(turn: &Turn, at_start: bool, room: Option<usize>) -> String {
        let mut columns = Columns::default();
        columns.widen(std::slice::from_ref(turn));
        let line = text(turn, Timestamp::UNIX_EPOCH, at_start, room, &columns);
        anstream::adapter::strip_str(&line).to_string()
    }

    fn plain(turn: &Turn, at_start: bool) -> String {
        let line = fitted(turn, at_start, None);
        line.split_once("  ").unwrap().1.to_owned()
    }

    #[test]
    fn a_line_without_clusters_says_where_the_reason_is_if_there_is_room() {
        let none = turn(Vec::new());
        let whole = "ml/training  0 clusters    `portolan explain ml/training` says why";
        assert_eq!(plain(&none, false), whole);
        assert_eq!(fitted(&none, true, Some(40)), "00:00:00  ml/training  0 clusters");
    }

    #[test]
    fn the_last_cluster_that_goes_is_named_before_a_line_says_where_the_reason_is() {
        let mut last = turn(vec![("production-eu-west-1".to_owned(), Change::Removed)]);
        last.clusters = Some(0);
        assert_eq!(
            fitted(&last, false, Some(60)),
            "00:00:00  ml/training  0 clusters    -production-eu-west-1"
        );
    }

    #[test]
    fn a_line_names_the_placement_and_what_became_of_each_cluster() {
        let moved = Change::Moved {
            from: Group {
                index: 0,
                name: String::new(),
            },
            to: shown(1, 0),
        };
        let scored = Change::Scored {
            from: 7,
            to: shown(0, 9),
        };
        let turn = turn(vec![
            ("a".to_owned(), Change::Added(shown(0, 80))),
            ("b".to_owned(), Change::Removed),
            ("c".to_owned(), moved),
            ("d".to_owned(), scored),
        ]);
        assert_eq!(
            plain(&turn, false),
            "ml/training  4 clusters    +a (80)  -b  c group 0→1  d 7→9"
        );
    }

    #[test]
    fn what_is_there_at_the_start_has_not_come() {
        let turn = turn(vec![("a".to_owned(), Change::Added(shown(0, 80)))]);
        assert_eq!(plain(&turn, true), "ml/training  1 cluster     a (80)");
    }

    #[test]
    fn a_long_line_counts_what_it_does_not_name() {
        let added = |number: usize| (format!("c{number}"), Change::Added(shown(0, 0)));
        let mut changes: Vec<_> = (0..250).map(added).collect();
        changes.push((
            "s".to_owned(),
            Change::Scored {
                from: 1,
                to: shown(0, 2),
            },
        ));
        let line = plain(&turn(changes), false);
        assert!(line.ends_with("+c3  and 246 more  1 new score"), "{line}");
    }

    #[test]
    fn a_line_that_names_one_that_went_says_that_the_others_came() {
        let mut changes = vec![("a".to_owned(), Change::Removed)];
        changes.extend((0..250).map(|number| (format!("c{number}"), Change::Added(shown(0, 0)))));
        changes.push(("z".to_owned(), Change::Removed));
        let line = plain(&turn(changes), false);
        assert!(
            line.ends_with("-a  +c0  +c1  +c2  and 247 added, 1 removed"),
            "{line}"
        );
    }

    #[test]
    fn a_line_fits_the_terminal_and_every_name_in_it_is_whole() {
        let name = |number: usize| format!("prod-eu-central-1-{number:04}");
        let added = |number: usize| (name(number), Change::Added(shown(0, 100)));
        let turn = turn((0..9).map(added).collect());
        let at = |columns: usize| fitted(&turn, false, Some(columns));
        assert_eq!(
            at(80),
            "00:00:00  ml/training  9 clusters    +prod-eu-central-1-0000 (100)  and 8 more"
        );
        assert!(
            at(140).ends_with("  +prod-eu-central-1-0002 (100)  and 6 more"),
            "{}",
            at(140)
        );
        for columns in 45..200 {
            let line = at(columns);
            assert!(line.chars().count() <= columns, "{columns}: {line}");
            for word in line.split("  ").filter(|word| word.starts_with("+prod")) {
                assert!(word.ends_with(" (100)"), "{columns}: {line}");
            }
        }
    }

    #[test]
    fn a_long_name_of_a_placement_leaves_room_for_the_cluster_that_changed() {
        let turn = Turn {
            placement: PlacementKey::new("payments-production", "ledger-writer-primary-and-standby-sites"),
            clusters: Some(4),
            changes: vec![("prod-eu-central-1-0007".to_owned(), Change::Added(shown(0, 0)))],
        };
        assert_eq!(
            fitted(&turn, false, Some(80)),
            "00:00:00  payments-produc…-standby-sites  4 clusters    +prod-eu-central-1-0007"
        );
        assert!(fitted(&turn, false, None).contains("ledger-writer-primary-and-standby-sites"));
        for columns in 50..200 {
            let line = fitted(&turn, false, Some(columns));
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }

    #[test]
    fn lines_that_follow_each_other_have_the_same_columns() {
        let moved = |cluster: &str| {
            let from = Group {
                index: 2,
                name: String::new(),
            };
            (
                cluster.to_owned(),
                Change::Moved {
                    from,
                    to: shown(1, 0),
                },
            )
        };
        let of = |name: &str, clusters: usize, changes: Vec<(String, Change)>| Turn {
            placement: PlacementKey::new("shop", name),
            changes,
            clusters: Some(clusters),
        };
        let turns = [
            of("web", 1, vec![("af-south-1-099".to_owned(), Change::Removed)]),
            of(
                "frontend",
                60,
                (0..11).map(|_| moved("ap-northeast-1-045")).collect(),
            ),
            of(&"n".repeat(40), 1500, Vec::new()),
            of(
                "frontend-of-a-team",
                1500,
                vec![("c".to_owned(), Change::Removed)],
            ),
        ];
        let mut columns = Columns::default();
        columns.widen(&turns);
        let lines = turns.each_ref().map(|turn| {
            let line = text(turn, Timestamp::UNIX_EPOCH, false, Some(80), &columns);
            anstream::adapter::strip_str(&line).to_string()
        });
        assert_eq!(
            lines.each_ref().map(String::as_str),
            [
                "00:00:00  shop/web                 1 cluster      -af-south-1-099",
                "00:00:00  shop/frontend            60 clusters    11 moved",
                "00:00:00  shop/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn  1500 clusters",
                "00:00:00  shop/frontend-of-a-team  1500 clusters  -c",
            ]
        );
    }

    #[test]
    fn a_line_without_room_for_a_name_says_how_many_came_and_went() {
        let mut turn = turn(vec![
            ("a".repeat(40), Change::Added(shown(0, 0))),
            ("b".repeat(40), Change::Added(shown(0, 0))),
            ("c".repeat(40), Change::Removed),
        ]);
        turn.clusters = Some(7);
        let line = |at_start| fitted(&turn, at_start, Some(70));
        assert!(
            line(false).ends_with("7 clusters    2 added, 1 removed"),
            "{}",
            line(false)
        );
        assert!(line(true).ends_with("7 clusters    1 removed"), "{}", line(true));
    }

    #[test]
    fn programs_read_one_object_for_each_cluster() {
        let turn = turn(vec![("a".to_owned(), Change::Added(shown(1, 5)))]);
        let json = |at_start| {
            let record = records(&turn, Timestamp::UNIX_EPOCH, at_start).next();
            serde_json::to_string(&record).unwrap()
        };
        assert_eq!(
            json(false),
            r#"{"time":"1970-01-01T00:00:00Z","namespace":"ml","placement":"training","cluster":"a","change":"added","group":{"index":1},"score":5}"#
        );
        assert!(json(true).contains(r#""change":"present""#));
    }
}
