/** A JSON value with every member as often as it is written: parsers differ in which of two they take. */
export type Json =
  | { kind: 'scalar'; value: string | number | boolean | null }
  | { kind: 'list'; items: Json[] }
  | { kind: 'object'; members: { key: string; value: Json }[] };

const TOKEN = /[\t\n\r ]*("[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{},:])/y;

/** Reads a JSON text. Throws what `JSON.parse` throws. */
export function readJson(text: string): Json {
  JSON.parse(text);
  TOKEN.lastIndex = 0;
  const next = (): string => TOKEN.exec(text)?.[1] ?? '';
  const peek = (): string => {
    const at = TOKEN.lastIndex;
    const token = next();
    TOKEN.lastIndex = at;
    return token;
  };
  /** Goes on behind a token, if that is what comes. */
  const skip = (token: string): boolean => {
    if (peek() !== token) return false;
    next();
    return true;
  };
  const read = (): Json => {
    const token = next();
    if (token === '[') {
      const items: Json[] = [];
      while (!skip(']')) {
        items.push(read());
        skip(',');
      }
      return { kind: 'list', items };
    }
    if (token === '{') {
      const members: { key: string; value: Json }[] = [];
      while (!skip('}')) {
        const key = JSON.parse(next()) as string;
        next();
        members.push({ key, value: read() });
        skip(',');
      }
      return { kind: 'object', members };
    }
    return { kind: 'scalar', value: JSON.parse(token) as string | number | boolean | null };
  };
  return read();
}

/** Whether a key stands twice in any object. */
export function hasRepeatedKey(json: Json): boolean {
  if (json.kind === 'scalar') return false;
  if (json.kind === 'list') return json.items.some(hasRepeatedKey);
  const { members } = json;
  return (
    new Set(members.map(({ key }) => key)).size < members.length || members.some(({ value }) => hasRepeatedKey(value))
  );
}
