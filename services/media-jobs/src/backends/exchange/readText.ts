import type { Answer } from './askBackend.ts';

/** The whole body of an answer. Rejects with what it means that it broke off, or that it is longer than it may be. */
export async function readText({ body, broken }: Answer, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw broken(error);
  } finally {
    body.destroy();
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The JSON of a text; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
