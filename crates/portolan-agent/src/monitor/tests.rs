//! What an agent says about itself.

use super::*;

#[test]
fn it_is_ready_when_all_works_are_known_and_the_hub_answers() {
    let monitor = Monitor::new();
    for kind in WorkKind::ALL {
        monitor.keeps_records(kind, true);
    }
    assert_eq!(monitor.why_not_ready().len(), 2);
    monitor.lacks(BTreeSet::new());
    assert!(monitor.why_not_ready().is_empty());
    monitor.asked_hub::<()>(&Err(Problem::Unanswered("gone".to_owned())));
    assert_eq!(monitor.why_not_ready().len(), 1);
    let refused = Err(Problem::Refused("no".to_owned()));
    monitor.asked_hub::<()>(&refused);
    assert!(monitor.why_not_ready().is_empty(), "the hub refused one work");
    monitor.renewed::<()>(&refused);
    monitor.asked_hub(&Ok(()));
    assert_eq!(monitor.why_not_ready().len(), 1, "the hub took one work");
    monitor.renewed(&Ok(()));
    assert!(monitor.why_not_ready().is_empty());
    assert!(monitor.text().contains("portolan_agent_ready 1"));
}

#[test]
fn it_is_not_ready_before_hub_and_member_serve_the_definitions_that_it_needs() {
    let monitor = Monitor::new();
    monitor.lacks(BTreeSet::new());
    for kind in WorkKind::ALL {
        monitor.keeps_records(kind, false);
    }
    let reasons = monitor.why_not_ready().join("\n");
    assert!(
        reasons.contains("does not serve appliedmanifestworks"),
        "{reasons}"
    );
    assert!(reasons.contains("--install-crds"), "{reasons}");
    assert!(!monitor.is_ready_at_last());
    // A member cluster of another project may have one of them, and no work of the other kind.
    monitor.keeps_records(WorkKind::ManifestWork, true);
    assert_eq!(monitor.why_not_ready(), [""; 0]);
    assert!(monitor.is_ready_at_last());
    assert!(!monitor.is_ready_at_last(), "it was said");
    for kind in WorkKind::ALL {
        monitor.serves_works(kind, false);
    }
    let reasons = monitor.why_not_ready().join("\n");
    assert!(
        reasons.contains("the hub serves neither manifestworks"),
        "{reasons}"
    );
    assert!(
        reasons.contains("portolan crds | kubectl apply -f -"),
        "{reasons}"
    );
}

#[test]
fn an_agent_of_a_cluster_that_the_hub_does_not_have_says_so() {
    let monitor = Monitor::new();
    monitor.lacks(BTreeSet::new());
    for kind in WorkKind::ALL {
        monitor.keeps_records(kind, true);
    }
    monitor.found_cluster("east", None);
    assert!(
        monitor.why_not_ready().is_empty(),
        "its Lease may be all there is"
    );
    let notes = monitor.notes().join("\n");
    assert!(notes.contains("the hub has no ManagedCluster east"), "{notes}");
    assert!(notes.contains("`portolan join east` makes"), "{notes}");
    assert!(
        !notes.contains("renews the Lease"),
        "its namespace may be missing: {notes}"
    );
    let missing = Problem::NotFound("404 NotFound: namespaces \"east\" not found".to_owned());
    monitor.renewed::<()>(&Err(missing));
    let reasons = monitor.why_not_ready().join("\n");
    assert!(reasons.contains("namespaces \"east\" not found"), "{reasons}");
    monitor.found_cluster("east", Some(&ManagedCluster::default()));
    monitor.renewed(&Ok(()));
    assert!(monitor.why_not_ready().is_empty() && monitor.notes().is_empty());
}
