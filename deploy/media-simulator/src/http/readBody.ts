import type { IncomingMessage } from 'node:http';
import { EngineError } from '../wire/engineError.ts';

export interface UploadedFile {
  name: string;
  contentType: string;
  bytes: Buffer;
}

/** A body that was read: JSON, or the fields and files of a form. A field that stands twice is its last; a list (`name[]`) has commas. */
export type RequestBody =
  | { kind: 'json'; value: unknown; length: number }
  | { kind: 'form'; fields: Record<string, string>; files: Record<string, UploadedFile>; length: number };

/** Engines take bodies of any size; this bound only keeps a mistake from eating the machine. */
const MAX_BODY_BYTES = 1024 * 1024 * 1024;
const FIELD_LOG_CHARACTERS = 200;

/** Reads a body by its media type. Throws what FastAPI answers to one that does not parse. */
export async function readBody(req: IncomingMessage): Promise<RequestBody> {
  const bytes = await readBytes(req);
  const contentType = req.headers['content-type'] ?? '';
  return contentType.startsWith('multipart/form-data') ? readForm(bytes, contentType) : readJson(bytes);
}

function readJson(bytes: Buffer): RequestBody {
  try {
    return { kind: 'json', value: JSON.parse(bytes.toString('utf8')), length: bytes.length };
  } catch {
    const issue = { type: 'json_invalid', loc: ['body', 0], msg: 'JSON decode error', input: {} };
    throw new EngineError(422, 'JSON decode error', { issues: [issue] });
  }
}

async function readForm(bytes: Buffer, contentType: string): Promise<RequestBody> {
  const headers = { 'content-type': contentType };
  const form = await new Response(Uint8Array.from(bytes), { headers }).formData().catch(() => {
    throw new EngineError(400, 'There was an error parsing the body');
  });
  const fields: Record<string, string> = {};
  const files: Record<string, UploadedFile> = {};
  for (const [name, value] of form) {
    if (typeof value === 'string') {
      const before = name.endsWith('[]') ? fields[name] : undefined;
      fields[name] = before === undefined ? value : `${before},${value}`;
    } else files[name] = { name: value.name, contentType: value.type, bytes: Buffer.from(await value.arrayBuffer()) };
  }
  return { kind: 'form', fields, files, length: bytes.length };
}

async function readBytes(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) req.destroy();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A body as the log shows it. */
export function describeBody(body: RequestBody): Record<string, string> {
  if (body.kind === 'json') {
    const { value } = body;
    const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    return Object.fromEntries(
      members.map(([name, member]) => [name, cut(typeof member === 'string' ? member : JSON.stringify(member))]),
    );
  }
  const files = Object.entries(body.files).map(([name, { name: fileName, contentType, bytes }]) => [
    name,
    `${fileName} (${contentType}, ${bytes.length} bytes)`,
  ]);
  const fields = Object.entries(body.fields).map(([name, value]) => [name, cut(value)]);
  return Object.fromEntries([...fields, ...files]);
}

const cut = (text: string): string => text.slice(0, FIELD_LOG_CHARACTERS);
