use super::*;

fn plain(table: &Table, width: Option<usize>) -> String {
    anstream::adapter::strip_str(&table.render(width)).to_string()
}

fn fleet() -> Table {
    let mut table = Table::new([
        Column::name("CLUSTER"),
        Column::new("RANK"),
        Column::new("STAGE").drop(2),
        Column::new("AGE").drop(1),
        Column::text("REASON", 10),
    ]);
    table.row([
        "production-europe-west-1-001".into(),
        1.into(),
        "Predicate".into(),
        "3d".into(),
        "label tier wants gold, the cluster has silver".into(),
    ]);
    table.row(["x".into(), "".into()]);
    table
}

#[test]
fn columns_are_aligned_and_nothing_trails() {
    let mut table = Table::new([Column::new("NAME"), Column::new("N")]);
    table.row(["long-name".into(), 1.into()]);
    table.row(["x".into(), "".into()]);
    assert_eq!(plain(&table, None), "NAME        N\nlong-name   1\nx\n");
    assert_eq!(plain(&table, Some(80)), plain(&table, None));
}

#[test]
fn control_characters_of_the_input_do_not_reach_the_terminal() {
    let mut table = Table::new([Column::new("NAME")]);
    table.row(["a\u{1b}[31mb\nc".into()]);
    assert_eq!(plain(&table, None), "NAME\na [31mb c\n");
}

#[test]
fn text_is_shortened_before_a_column_is_left_out() {
    assert_eq!(
        plain(&fleet(), Some(80)),
        "CLUSTER                       RANK  STAGE      AGE  REASON\n\
         production-europe-west-1-001  1     Predicate  3d   label tier wants gold, the…\n\
         x\n"
    );
}

#[test]
fn columns_are_left_out_in_their_order_and_the_header_says_so() {
    assert_eq!(
        plain(&fleet(), Some(60)),
        "CLUSTER                       RANK  STAGE      REASON      …\n\
         production-europe-west-1-001  1     Predicate  label tie…\n\
         x\n"
    );
    assert_eq!(
        plain(&fleet(), Some(58)),
        "CLUSTER                       RANK  REASON               …\n\
         production-europe-west-1-001  1     label tier wants g…\n\
         x\n"
    );
}

#[test]
fn a_name_is_shortened_only_when_nothing_else_can_be_left_out() {
    assert_eq!(
        plain(&fleet(), Some(36)),
        "CLUSTER          RANK  REASON      …\n\
         product…t-1-001  1     label tie…\n\
         x\n"
    );
}

#[test]
fn no_line_is_wider_than_the_terminal_however_narrow() {
    for width in 1..200 {
        for line in plain(&fleet().indented(2), Some(width)).lines() {
            assert!(line.width() <= width.max(2), "{width}: {line:?}");
        }
    }
}

#[test]
fn a_character_of_two_columns_counts_twice() {
    let mut table = Table::new([Column::text("名前", 4)]);
    table.row(["東京大阪京都".into()]);
    for width in 1..14 {
        assert!(
            plain(&table, Some(width))
                .lines()
                .all(|line| line.width() <= width),
            "{width}"
        );
    }
}

#[test]
fn a_number_at_the_end_of_a_sentence_takes_the_word_before_it_along() {
    let mut table = Table::new([Column::prose("REASON", 10)]);
    table.row(["the cluster has rank 3".into()]);
    assert_eq!(plain(&table, Some(21)), "REASON\nthe cluster has\nrank 3\n");
}

#[test]
fn a_cell_with_a_short_text_uses_it_where_there_is_too_little_room() {
    let mut table = Table::new([Column::text("REASON", 10)]);
    table.row([Cell::from("spec.tolerations does not tolerate the taint").or("taint x")]);
    assert_eq!(plain(&table, Some(20)), "REASON\ntaint x\n");
}

#[test]
fn prose_goes_on_below_in_its_own_column() {
    let mut table = Table::new([Column::name("CLUSTER"), Column::prose("REASON", 10)]);
    table.row([
        "east-1".into(),
        "taint example.com/maintenance-window:NoSelect".into(),
    ]);
    table.row(["west-1".into(), "rank 3".into()]);
    assert_eq!(
        plain(&table, Some(30)),
        "CLUSTER  REASON\n\
         east-1   taint\n\
         \x20        example.com/\n\
         \x20        maintenance-window:\n\
         \x20        NoSelect\n\
         west-1   rank 3\n"
    );
    for width in 1..60 {
        for line in plain(&table, Some(width)).lines() {
            assert!(line.width() <= width.max(2), "{width}: {line:?}");
        }
    }
}

#[test]
fn a_long_text_that_a_row_before_has_is_shown_once() {
    let mut table = Table::new([Column::name("CLUSTER"), Column::prose("REASON", 10).told_once()]);
    for cluster in ["east-1", "east-2", "east-3"] {
        table.row([cluster.into(), "the cluster is in no set of the namespace".into()]);
    }
    table.row(["west-1".into(), "rank 3".into()]);
    table.row(["west-2".into(), "rank 3".into()]);
    assert_eq!(
        plain(&table, Some(36)),
        "CLUSTER  REASON\n\
         east-1   the cluster is in no set of\n\
         \x20        the namespace\n\
         east-2   as east-1\n\
         east-3   as east-1\n\
         west-1   rank 3\n\
         west-2   rank 3\n"
    );
    assert_eq!(plain(&table, None).matches("in no set").count(), 3);
}

#[test]
fn a_row_is_referred_to_by_its_name_as_the_table_shows_it() {
    let mut table = Table::new([Column::name("CLUSTER"), Column::prose("REASON", 25).told_once()]);
    for number in 1..=2 {
        let name = format!("cluster-{}-{number}", "long-".repeat(30));
        table.row([name.into(), "the cluster is in no set of the namespace".into()]);
    }
    let text = plain(&table, Some(50));
    let last = text.lines().last().unwrap();
    assert!(last.contains('…') && last.contains("  as cluster-"), "{text}");
    assert_eq!(text.lines().count(), 4, "{text}");
}
