/** Returns the id of a reference. Stored objects have ids in place of other objects, and the client's types allow both. */
export function idOf(reference: string | { id: string }): string {
  return typeof reference === 'string' ? reference : reference.id;
}
