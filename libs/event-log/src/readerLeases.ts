/** The readers of a topic, and how far it is read, in one instant of the handler's database. */
export interface Readership {
  /** The ids of all whose lease runs, the one that asks among them, in an order that is the same for all. */
  readers: string[];
  /** The offset to read next of each partition of which anything was read. */
  positions: Map<number, bigint>;
}

/**
 * Leases of the readers of a topic, by which they share its partitions. The leases are in the handler's database and
 * run by its clock.
 */
export interface ReaderLeases {
  /** Extends this reader's lease by some seconds from now. */
  renew(readerId: string): Promise<Readership>;
  /** Ends this reader's lease: the others share without it as soon as they ask. */
  giveBack(readerId: string): Promise<void>;
}
