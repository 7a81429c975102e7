//! Who is connected. When there is no room for a connection, the one that has been without a request for longest makes room:
//! of the same address if that has too many, otherwise of all. A connection with a request under way keeps its place.

use cardwire_model::limits;
use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::Notify;

/// How many connections there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    in_all: usize,
    of_address: usize,
}

impl Room {
    /// What fits into so many open files. One address may have three quarters of it: behind a proxy all clients share one.
    pub fn within(open_files: u64) -> Self {
        let files = usize::try_from(open_files).unwrap_or(usize::MAX);
        let spare = files.saturating_sub(limits::OWN_FILES).max(files / 2);
        let in_all = spare.clamp(1, limits::CONNECTIONS);
        Self { in_all, of_address: (in_all / 4 * 3).max(1) }
    }
}

/// One connection.
pub(super) struct Guest {
    id: u64,
    address: IpAddr,
    guests: Arc<Guests>,
    /// Rises with each request and each write.
    moves: AtomicU64,
    leave: Arc<Notify>,
}

impl Guest {
    /// A request begins.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.moved();
        self.guests.book().begin(self.id);
        Busy(Arc::clone(self))
    }

    /// How often something happened on this connection.
    pub(super) fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    pub(super) fn moved(&self) {
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether no request is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.guests.book().is_idle(self.id)
    }

    /// Completes when the place is needed for another connection.
    pub(super) async fn told_to_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.guests.book().remove(self.id);
    }
}

/// A request that is under way.
pub(super) struct Busy(Arc<Guest>);

impl Busy {
    pub(super) fn address(&self) -> IpAddr {
        self.0.address
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.moved();
        self.0.guests.book().end(self.0.id);
    }
}

/// All connections of a server.
pub(super) struct Guests {
    room: Room,
    book: Mutex<Book>,
}

impl Guests {
    pub(super) fn new(room: Room) -> Self {
        Self { room, book: Mutex::default() }
    }

    /// Lets a connection in, in another's place if there is no room. None if every place has a request under way.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Arc<Guest>> {
        let mut book = self.book();
        if let Some(in_the_way) = book.in_the_way(self.room, address) {
            book.send_away(in_the_way?);
        }
        let leave = Arc::new(Notify::new());
        let id = book.open(address, Arc::clone(&leave));
        Some(Arc::new(Guest { id, address, guests: Arc::clone(self), moves: AtomicU64::new(0), leave }))
    }

    /// Closes the connection that has been without a request for longest.
    pub(super) fn close_oldest(&self) {
        let mut book = self.book();
        if let Some(id) = book.oldest(None) {
            book.send_away(id);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.book().places.len()
    }

    /// Whether the next connection takes another's place.
    pub(super) fn is_full(&self) -> bool {
        self.count() >= self.room.in_all
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which connections are there, and since when each is without a request. Numbers rise: a smaller one is older.
#[derive(Default)]
struct Book {
    next: u64,
    places: HashMap<u64, Place>,
    /// Connections without a request, by the number they got when their last request ended.
    idle: BTreeMap<u64, u64>,
    addresses: HashMap<IpAddr, OfAddress>,
}

struct Place {
    address: IpAddr,
    requests: u32,
    idle_since: u64,
    leave: Arc<Notify>,
}

/// The connections of one address.
#[derive(Default)]
struct OfAddress {
    open: usize,
    idle: BTreeMap<u64, u64>,
}

impl Book {
    fn open(&mut self, address: IpAddr, leave: Arc<Notify>) -> u64 {
        let id = self.number();
        self.places.insert(id, Place { address, requests: 0, idle_since: id, leave });
        self.addresses.entry(address).or_default().open += 1;
        self.rest(id);
        id
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Which connection has to leave before another of this address comes: none, one, or one that does not exist.
    fn in_the_way(&self, room: Room, address: IpAddr) -> Option<Option<u64>> {
        let of_address = self.addresses.get(&address).map_or(0, |of_address| of_address.open);
        if of_address >= room.of_address {
            Some(self.oldest(Some(address)))
        } else {
            (self.places.len() >= room.in_all).then(|| self.oldest(None))
        }
    }

    /// The connection that has been without a request for longest.
    fn oldest(&self, of: Option<IpAddr>) -> Option<u64> {
        let idle = match of {
            None => &self.idle,
            Some(address) => &self.addresses.get(&address)?.idle,
        };
        idle.first_key_value().map(|(_, id)| *id)
    }

    fn send_away(&mut self, id: u64) {
        if let Some(place) = self.places.get(&id) {
            place.leave.notify_one();
        }
        self.remove(id);
    }

    fn remove(&mut self, id: u64) {
        self.wake(id);
        let Some(place) = self.places.remove(&id) else { return };
        if let Some(of_address) = self.addresses.get_mut(&place.address) {
            of_address.open -= 1;
            if of_address.open == 0 {
                self.addresses.remove(&place.address);
            }
        }
    }

    fn begin(&mut self, id: u64) {
        self.wake(id);
        if let Some(place) = self.places.get_mut(&id) {
            place.requests += 1;
        }
    }

    fn end(&mut self, id: u64) {
        let now = self.number();
        let Some(place) = self.places.get_mut(&id) else { return };
        place.requests -= 1;
        if place.requests == 0 {
            place.idle_since = now;
            self.rest(id);
        }
    }

    /// A connection that was sent away is idle, too: nothing keeps it.
    fn is_idle(&self, id: u64) -> bool {
        self.places.get(&id).is_none_or(|place| place.requests == 0)
    }

    fn rest(&mut self, id: u64) {
        let Some(place) = self.places.get(&id) else { return };
        self.idle.insert(place.idle_since, id);
        self.addresses.entry(place.address).or_default().idle.insert(place.idle_since, id);
    }

    fn wake(&mut self, id: u64) {
        let Some(place) = self.places.get(&id) else { return };
        self.idle.remove(&place.idle_since);
        if let Some(of_address) = self.addresses.get_mut(&place.address) {
            of_address.idle.remove(&place.idle_since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { in_all: 3, of_address: 2 };

    fn guests() -> Arc<Guests> {
        Arc::new(Guests::new(ROOM))
    }

    fn address(number: u8) -> IpAddr {
        [10, 0, 0, number].into()
    }

    /// Whether the connection has been told to leave.
    async fn leaves(guest: &Guest) -> bool {
        tokio::time::timeout(std::time::Duration::ZERO, guest.told_to_leave()).await.is_ok()
    }

    /// F-37, SEC-07
    #[tokio::test]
    async fn the_oldest_without_a_request_makes_room_for_a_new_connection() {
        let guests = guests();
        let [first, second, third] = [1, 2, 3].map(|number| guests.admit(address(number)).unwrap());
        assert!(guests.is_full());
        drop(first.begin());
        let fourth = guests.admit(address(4)).unwrap();
        assert!(leaves(&second).await, "the first had a request after the second came");
        assert!(!leaves(&first).await && !leaves(&third).await);
        assert_eq!(guests.count(), 3);
        drop((second, fourth));
        assert_eq!(guests.count(), 2, "a connection that made room is counted once");
    }

    /// F-37, SEC-07
    #[tokio::test]
    async fn an_address_with_too_many_connections_makes_room_itself() {
        let guests = guests();
        let other = guests.admit(address(2)).unwrap();
        let flood = [1, 1].map(|number| guests.admit(address(number)).unwrap());
        let newest = guests.admit(address(1)).unwrap();
        assert!(leaves(&flood[0]).await);
        assert!(!leaves(&other).await && !leaves(&flood[1]).await && !leaves(&newest).await);
    }

    /// F-37
    #[tokio::test]
    async fn a_request_under_way_keeps_its_place() {
        let guests = guests();
        let mine = [1, 1].map(|number| guests.admit(address(number)).unwrap());
        let under_way: Vec<_> = mine.iter().map(Guest::begin).collect();
        assert!(guests.admit(address(1)).is_none());
        assert!(mine.iter().all(|guest| !guest.is_idle()));
        drop(under_way);
        assert!(guests.admit(address(1)).is_some());
        assert!(leaves(&mine[0]).await);
    }

    #[test]
    fn connections_fit_into_the_open_files() {
        let room = |files| Room::within(files);
        assert_eq!(room(1024), Room { in_all: 768, of_address: 576 });
        assert_eq!(room(u64::MAX), Room { in_all: limits::CONNECTIONS, of_address: 7_500 });
        assert_eq!(room(100).in_all, 50, "few files are shared");
        assert_eq!(room(1), Room { in_all: 1, of_address: 1 });
    }
}
