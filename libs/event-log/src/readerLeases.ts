/** The readers of a topic, and how far it is read, in one instant of the handler's database. */
export interface Readership {
  /** The ids of all whose lease runs, the one that asks among them, in an order that is the same for all. */
  readers: string[];
  /** The offset to read next of each partition of which anything was read. */
  positions: Map<number, bigint>;
}

/** What the readers of a topic share its partitions by: each has a lease in the handler's database, whose clock it runs by. */
export interface ReaderLeases {
  /** Has this reader's lease run for some seconds from now. */
  renew(readerId: string): Promise<Readership>;
  /** Ends this reader's lease: the others share without it as soon as they ask. */
  giveBack(readerId: string): Promise<void>;
}
