/** A problem that keeps a stack from running. Its message has the problem and the remedy. */
export class StackError extends Error {
  override name = 'StackError';
}
