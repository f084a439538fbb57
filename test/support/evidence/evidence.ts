/** Bytes that a stack has kept or handed out, and where they were found. */
export interface Evidence {
  place: string;
  bytes: Buffer;
}

/** Texts that were found, each with the forms in which it was searched. */
export type Found = Map<string, string[]>;

/**
 * Searches all evidence for each text, in every form: plain, hexadecimal, base64 at any alignment, escaped for JSON or for a
 * URL. Returns the places of each text, possibly none.
 */
export async function findTexts(evidence: AsyncIterable<Evidence>, texts: string[]): Promise<Found> {
  const searched = texts.map((text) => ({ text, forms: formsOf(text), places: new Set<string>() }));
  for await (const { place, bytes } of evidence) {
    for (const { forms, places } of searched) if (forms.some((form) => bytes.includes(form))) places.add(place);
  }
  return new Map(searched.map(({ text, places }) => [text, [...places]]));
}

function formsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const json = JSON.stringify(text).slice(1, -1);
  const forms = [text, bytes.toString('hex'), json, toAsciiJson(json), encodeURIComponent(text)];
  return [...new Set([...forms, ...[0, 1, 2].map((shift) => toBase64(bytes, shift))])].map((form) => Buffer.from(form));
}

const toAsciiJson = (json: string): string =>
  json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The base64 of bytes that stand `shift` bytes after a group's beginning: only the characters that they alone decide. */
function toBase64(bytes: Buffer, shift: number): string {
  const shifted = Buffer.concat([Buffer.alloc(shift), bytes]);
  return shifted.toString('base64').slice(Math.ceil((shift * 8) / 6), Math.floor((shifted.length * 8) / 6));
}
