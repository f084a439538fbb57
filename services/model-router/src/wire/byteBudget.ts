/** Bytes that one call has taken of a budget. */
export interface TakenBytes {
  /** Takes more, or nothing and says false when there are not so many left. */
  take(bytes: number): boolean;
  /** Whether so many more would be there if nobody else had any: if not, it is no use to come again. */
  couldTake(bytes: number): boolean;
  /** Gives all of them back. */
  close(): void;
}

/** A number of bytes that all calls of this process share, so that many large bodies cannot exhaust its memory. */
export function createByteBudget(limit: number): { open(): TakenBytes } {
  let taken = 0;
  return {
    open() {
      let own = 0;
      return {
        take(bytes) {
          if (taken + bytes > limit) return false;
          taken += bytes;
          own += bytes;
          return true;
        },
        couldTake: (bytes) => own + bytes <= limit,
        close() {
          taken -= own;
          own = 0;
        },
      };
    },
  };
}
