//! Who is connected. Whoever has not sent the token yet is a stranger: strangers have little time,
//! and no place that a guest could need. A new connection takes the place of the oldest stranger of
//! its address, or of the address with the most strangers, so that no number of silent connections
//! keeps a client out, which says its token at once.

use parking_lot::Mutex;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// How many connections there may be, and how long they may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections at once: a client has 16 of them, and each is a thread.
    pub(super) connections: usize,
    /// Strangers of one address at once.
    pub(super) strangers: usize,
    /// How long a stranger may take to send the token, and anyone to send the head of a request,
    /// whatever the pauses between its bytes.
    pub(super) head_time: Duration,
    /// A connection that is silent between requests, or takes no bytes, for so long is closed.
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
    /// Connections that have sent the token.
    known: usize,
    /// The others, the oldest one first.
    strangers: Vec<Stranger>,
    /// The number of the next one.
    next: u64,
}

#[derive(Debug)]
struct Stranger {
    number: u64,
    address: IpAddr,
    stream: Arc<TcpStream>,
}

/// The place of a connection, until it is dropped.
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

    /// A place for a new connection; none if all are taken by clients that know the token.
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

    /// The address with the most strangers.
    fn largest_crowd(&self) -> Option<IpAddr> {
        let addresses = self.strangers.iter().map(|stranger| stranger.address);
        addresses.max_by_key(|&address| self.strangers_of(address))
    }

    /// Closes the oldest stranger's connection. Its thread ends a moment later.
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
    /// Whether it has sent the token.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    pub(super) fn limits(&self) -> &Limits {
        self.guests.limits()
    }

    /// It has sent the token. False if another connection has taken its place before.
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

/// What shares the places of an address: of IPv6, all that one host can have.
fn share_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address => address,
    }
}
