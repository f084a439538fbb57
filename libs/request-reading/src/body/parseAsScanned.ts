/**
 * Parses a JSON text of which it is known from its bytes how many members its objects have. Where the parser does not find
 * as many, either a key stands twice in one object, for which `refuseRepeatedKey` throws, since what is checked would not be
 * what another parser reads; or V8's parser has lost one that has an escaped control character, as it now and then does,
 * depending on what it parsed before. Asked again, it finds that as a rule; undefined if not. Throws what the parser throws.
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
