/**
 * Parses a JSON text whose number of members is known from its bytes. If the parser finds fewer, there are two causes.
 * - A key is twice in one object. `refuseRepeatedKey` throws for it, because another parser may read another value than
 * was checked.
 * - V8's parser has lost a member whose key has an escaped control character, depending on what it parsed before.
 * A second parse usually finds such a member. Returns undefined if it does not. Rethrows errors of the parser.
 */
export function parseAsScanned(
  text: string,
  { memberCount, refuseRepeatedKey }: { memberCount: number; refuseRepeatedKey: () => void },
  parse: (text: string) => unknown = JSON.parse,
): { value: unknown } | undefined {
  const value = parse(text);
  if (countMembers(value) === memberCount) return { value };
  refuseRepeatedKey();
  const again = parse(text);
  return countMembers(again) === memberCount ? { value: again } : undefined;
}

/** The members of all objects in a parsed value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === 'object') count += countMembers(element);
    return count;
  }
  // `for … in` takes twice as long where keys are numbers.
  for (const key of Object.keys(value)) {
    const member = value[key as keyof typeof value] as unknown;
    count += typeof member === 'object' ? 1 + countMembers(member) : 1;
  }
  return count;
}
