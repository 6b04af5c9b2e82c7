//! How much of something each client may have at a time, and all of them together: connections, requests, watches, bytes.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is taken and what may be. Clones count together.
#[derive(Debug, Clone)]
pub(crate) struct Quota<Owner: Eq + Hash> {
    in_all: u64,
    per_owner: u64,
    taken: Arc<Mutex<Taken<Owner>>>,
}

#[derive(Debug)]
struct Taken<Owner> {
    in_all: u64,
    owners: HashMap<Owner, u64>,
}

/// What one owner has taken; it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct Share<Owner: Eq + Hash> {
    owner: Owner,
    amount: u64,
    taken: Arc<Mutex<Taken<Owner>>>,
}

/// Which limit would be exceeded, and how much is taken already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exceeded {
    InAll { limit: u64, taken: u64 },
    Owner { limit: u64, taken: u64 },
}

impl<Owner: Clone + Eq + Hash> Quota<Owner> {
    pub(crate) fn new(in_all: u64, per_owner: u64) -> Self {
        let taken = Taken {
            in_all: 0,
            owners: HashMap::new(),
        };
        Self {
            in_all,
            per_owner,
            taken: Arc::new(Mutex::new(taken)),
        }
    }

    /// Takes one of something that is counted.
    pub(crate) fn take_one(&self, owner: &Owner) -> Result<Share<Owner>, Exceeded> {
        let mut taken = lock(&self.taken);
        let own = taken.of(owner);
        if own >= self.per_owner {
            return Err(self.owner_exceeded(own));
        }
        if taken.in_all >= self.in_all {
            return Err(self.in_all_exceeded(taken.in_all));
        }
        Ok(self.share(&mut taken, owner, 1))
    }

    /// Takes as much as is needed. An amount that is larger than the limit is given to an owner that has nothing else, and
    /// when nothing else is taken: waiting would not make it smaller.
    pub(crate) fn take(&self, owner: &Owner, amount: u64) -> Result<Share<Owner>, Exceeded> {
        let mut taken = lock(&self.taken);
        let own = taken.of(owner);
        if own > 0 && own.saturating_add(amount) > self.per_owner {
            return Err(self.owner_exceeded(own));
        }
        if taken.in_all > 0 && taken.in_all.saturating_add(amount) > self.in_all {
            return Err(self.in_all_exceeded(taken.in_all));
        }
        Ok(self.share(&mut taken, owner, amount))
    }

    /// Takes as much as is needed although it may be beyond the limit.
    pub(crate) fn take_anyway(&self, owner: &Owner, amount: u64) -> Share<Owner> {
        self.share(&mut lock(&self.taken), owner, amount)
    }

    /// Whether an owner can take anything at all.
    pub(crate) fn check(&self, owner: &Owner) -> Result<(), Exceeded> {
        let taken = lock(&self.taken);
        let own = taken.of(owner);
        match () {
            () if own >= self.per_owner => Err(self.owner_exceeded(own)),
            () if taken.in_all >= self.in_all => Err(self.in_all_exceeded(taken.in_all)),
            () => Ok(()),
        }
    }

    fn share(&self, taken: &mut Taken<Owner>, owner: &Owner, amount: u64) -> Share<Owner> {
        // Amounts are of things in memory, so that their sum is far below the largest number.
        taken.in_all = taken.in_all.saturating_add(amount);
        let own = taken.owners.entry(owner.clone()).or_default();
        *own = own.saturating_add(amount);
        Share {
            owner: owner.clone(),
            amount,
            taken: self.taken.clone(),
        }
    }

    fn owner_exceeded(&self, taken: u64) -> Exceeded {
        let limit = self.per_owner;
        Exceeded::Owner { limit, taken }
    }

    fn in_all_exceeded(&self, taken: u64) -> Exceeded {
        let limit = self.in_all;
        Exceeded::InAll { limit, taken }
    }
}

impl<Owner: Eq + Hash> Taken<Owner> {
    fn of(&self, owner: &Owner) -> u64 {
        self.owners.get(owner).copied().unwrap_or_default()
    }
}

impl<Owner: Eq + Hash> Share<Owner> {
    /// Both as one, which is of the same owner.
    pub(crate) fn merge(&mut self, mut other: Self) {
        debug_assert!(self.owner == other.owner && Arc::ptr_eq(&self.taken, &other.taken));
        self.amount = self.amount.saturating_add(std::mem::take(&mut other.amount));
    }
}

impl<Owner: Eq + Hash> Drop for Share<Owner> {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.in_all = taken.in_all.saturating_sub(self.amount);
        if let Some(own) = taken.owners.get_mut(&self.owner) {
            *own = own.saturating_sub(self.amount);
            if *own == 0 {
                taken.owners.remove(&self.owner);
            }
        }
    }
}

/// A poisoned lock is safe to reuse: no code panics between two changes of the numbers.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_cannot_take_what_others_need() {
        let quota = Quota::new(3, 2);
        let first = quota.take_one(&"ann").unwrap();
        let _second = quota.take_one(&"ann").unwrap();
        assert_eq!(
            quota.take_one(&"ann").unwrap_err(),
            Exceeded::Owner { limit: 2, taken: 2 }
        );
        let _third = quota.take_one(&"bob").unwrap();
        assert_eq!(
            quota.take_one(&"cid").unwrap_err(),
            Exceeded::InAll { limit: 3, taken: 3 }
        );
        drop(first);
        assert!(quota.take_one(&"cid").is_ok());
    }

    #[test]
    fn an_amount_above_the_limit_is_given_when_nothing_else_is_taken() {
        let quota = Quota::new(100, 50);
        let large = quota.take(&"ann", 1000).unwrap();
        assert!(matches!(quota.take(&"ann", 1), Err(Exceeded::Owner { .. })));
        assert!(matches!(quota.take(&"bob", 1), Err(Exceeded::InAll { .. })));
        assert!(quota.check(&"ann").is_err());
        drop(large);
        let _small = quota.take(&"bob", 1).unwrap();
        assert!(matches!(quota.take(&"bob", 50), Err(Exceeded::Owner { .. })));
        assert!(quota.take(&"bob", 49).is_ok());
    }

    #[test]
    fn an_amount_beyond_the_limit_counts() {
        let quota = Quota::new(10, 10);
        let beyond = quota.take_anyway(&"ann", 20);
        assert!(quota.check(&"bob").is_err());
        drop(beyond);
        assert!(quota.check(&"bob").is_ok());
        assert!(lock(&quota.taken).owners.is_empty(), "nothing is remembered");
    }
}
