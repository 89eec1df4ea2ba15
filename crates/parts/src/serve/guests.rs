//! The connections. A client that has not sent the token yet is a stranger: strangers have little
//! time, and don't keep a place that another client needs. A new connection takes the place of the
//! oldest stranger of its address, or of the address with the most strangers. So no number of
//! silent connections can keep out a client, which sends its token at once.

use parking_lot::Mutex;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Limits on the number of connections and their times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum number of connections: a client has 16 of them, and each is a thread.
    pub(super) connections: usize,
    /// Maximum number of strangers per address.
    pub(super) strangers: usize,
    /// Time limit for a stranger to send the token, and for any client to send the head of a
    /// request, whatever the pauses between its bytes.
    pub(super) head_time: Duration,
    /// Time after which a connection is closed that is silent between requests, or accepts no
    /// bytes.
    pub(super) silence: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let (head_time, silence) = (Duration::from_secs(10), Duration::from_secs(120));
        Limits { connections: 1024, strangers: 64, head_time, silence }
    }
}

/// All connections.
#[derive(Debug)]
pub(super) struct Guests {
    limits: Limits,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    /// Number of connections that have sent the token.
    known: usize,
    /// The other connections, the oldest first.
    strangers: Vec<Stranger>,
    /// The number of the next connection.
    next: u64,
}

#[derive(Debug)]
struct Stranger {
    number: u64,
    address: IpAddr,
    stream: Arc<TcpStream>,
}

/// A connection's place, which is freed on drop.
#[derive(Debug)]
pub(super) struct Guest {
    guests: Arc<Guests>,
    number: u64,
    is_known: bool,
}

impl Guests {
    pub(super) fn new(limits: Limits) -> Guests {
        Guests { limits, places: Mutex::default() }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns a place for a new connection; `None` if all are taken by clients that have sent the
    /// token.
    pub(super) fn admit(
        self: &Arc<Guests>,
        stream: &Arc<TcpStream>,
        peer: IpAddr,
    ) -> Option<Guest> {
        let mut places = self.places.lock();
        let address = share_of(peer);
        if places.strangers_of(address) >= self.limits.strangers {
            places.close_oldest(address);
        }
        if places.known + places.strangers.len() >= self.limits.connections {
            let crowd = places.largest_crowd()?;
            places.close_oldest(crowd);
        }
        let number = places.next;
        places.next += 1;
        places.strangers.push(Stranger { number, address, stream: Arc::clone(stream) });
        Some(Guest { guests: Arc::clone(self), number, is_known: false })
    }
}

impl Places {
    fn strangers_of(&self, address: IpAddr) -> usize {
        self.strangers.iter().filter(|stranger| stranger.address == address).count()
    }

    /// Returns the address with the most strangers.
    fn largest_crowd(&self) -> Option<IpAddr> {
        let addresses = self.strangers.iter().map(|stranger| stranger.address);
        addresses.max_by_key(|&address| self.strangers_of(address))
    }

    /// Closes the connection of the address's oldest stranger. Its thread ends a moment later.
    fn close_oldest(&mut self, address: IpAddr) {
        let oldest = self.strangers.iter().position(|stranger| stranger.address == address);
        if let Some(oldest) = oldest {
            self.strangers.remove(oldest).stream.shutdown(Shutdown::Both).ok();
        }
    }

    fn remove(&mut self, number: u64) -> bool {
        let place = self.strangers.iter().position(|stranger| stranger.number == number);
        place.map(|place| self.strangers.remove(place)).is_some()
    }
}

impl Guest {
    /// Returns whether it has sent the token.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    pub(super) fn limits(&self) -> &Limits {
        self.guests.limits()
    }

    /// Records that it has sent the token. Returns false if another connection has taken its place.
    pub(super) fn introduce(&mut self) -> bool {
        if self.is_known {
            return true;
        }
        let mut places = self.guests.places.lock();
        self.is_known = places.remove(self.number);
        places.known += usize::from(self.is_known);
        self.is_known
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut places = self.guests.places.lock();
        if self.is_known {
            places.known -= 1;
        } else {
            places.remove(self.number);
        }
    }
}

/// Returns the address that stands for a host: for IPv6, the network that one host can have.
fn share_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address => address,
    }
}
