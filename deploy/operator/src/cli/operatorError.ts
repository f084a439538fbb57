/** Something was not done, and why, in one line that says what to do. Ends the process with 1. */
export class RefusedError extends Error {
  override name = 'RefusedError';
}

/** The command line itself is wrong: one line that says how it would be right. Ends the process with 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
