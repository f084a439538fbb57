/** Something that passes a call on to the engine. */
export interface Target {
  name: string;
  port: number;
  /** Keys that calls come with in turn; any other text where nobody looks. */
  apiKeys: string[];
  /** Further headers of each call. */
  headers?: Record<string, string>;
  /** The processes whose time counts, by what they are. */
  parts: Record<string, number>;
  /** Resolves when what calls leave behind is done too. */
  settled(): Promise<void>;
  /** Ends the processes and starts them again, where that can be done: they then have no memory of any call. */
  renew?(): Promise<void>;
}

/** A target that asks for no key, and leaves nothing behind. */
export const toBaseline = (name: string, port: number, parts: Record<string, number>): Target => ({
  name,
  port,
  parts,
  apiKeys: ['none'],
  settled: async () => undefined,
});
