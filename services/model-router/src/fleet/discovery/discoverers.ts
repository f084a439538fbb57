/** One address that stands behind an entry now. */
export interface FoundAddress {
  /** Tells the engine from the others of its entry, alike on every router, without telling its address. */
  name: string;
  /** Scheme, host and port. */
  origin: string;
  /** It takes nothing new and finishes what it has. */
  isDraining: boolean;
}

/** An origin of a bare IP address. */
export const toOrigin = (address: string, port: number): string =>
  `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
