/** What keeps a stack from running, in words worth printing as they stand: what is wrong and what to do about it. */
export class StackError extends Error {
  override name = 'StackError';
}
