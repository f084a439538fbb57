/** A problem that keeps a stack from running. Its message says the problem and the remedy. */
export class StackError extends Error {
  override name = 'StackError';
}
