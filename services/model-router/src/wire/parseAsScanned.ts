/** A parser that loses a key now and then is asked so often. */
const ATTEMPTS = 2;

/**
 * Parses the JSON text of an object whose outermost keys are known from its bytes. Undefined if the parser does not find
 * the same keys: V8's now and then loses one that has an escaped control character, depending on what it parsed before, and
 * what is checked has to be what the engine reads. Asked again, it finds them as a rule. Throws what the parser throws.
 */
export function parseAsScanned(
  text: string,
  keys: readonly string[],
  parse: (text: string) => unknown = JSON.parse,
): { value: unknown } | undefined {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const value = parse(text);
    const isObject = typeof value === 'object' && value !== null;
    if (!isObject || keys.every((key) => Object.hasOwn(value, key))) return { value };
  }
  return undefined;
}
