/** What must never be seen, seen. */
export class Violation extends Error {
  override name = 'Violation';
}
