import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { ApiError } from '@turnpike/public-api/apiError';
import type { BodyFault } from '@turnpike/request-reading/faults/bodyFault';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { toParam } from '@turnpike/request-reading/fields/fieldReader';
import type { FormFault } from '../../api/mediaFault.ts';
import type { Upload } from '../../terms/mediaRequest.ts';
import type { CallCapacity } from '../uploads/callCapacity.ts';

/** A form: its texts in their order, and its files on the disk. */
export interface Form {
  texts: { name: string; value: string }[];
  /** Files by name. A name that came as text or not at all is absent. */
  files: ReadonlyMap<string, Upload>;
}

export interface FormLimits {
  maxBytes: number;
  /** Most bytes of all texts together. */
  maxTextBytes: number;
  /**
   * The parts that may be files, one of each. A part that is always a file needs no file name, because its bytes show
   * its kind.
   */
  fileParts: ReadonlyMap<string, 'file' | 'file or text'>;
  /** Returns the error of a body above the limit. `sentBytes` is its announced length, if that was above the limit. */
  tooLarge: (sentBytes: number | undefined) => FormFault | BodyFault;
  /** Longest wait for more of an incomplete form. */
  silenceMs?: number;
  /** Longest wait for the complete form. */
  wholeMs?: number;
  /**
   * Longest wait for the parser and the disk after the last byte. With some malformed forms the parser never reports an
   * end.
   */
  settleMs?: number;
}

/** Request and response. A form that is refused midway closes its connection with the response. */
export interface Exchange {
  req: IncomingMessage;
  res: Pick<ServerResponse, 'shouldKeepAlive'>;
}

const SILENCE_MS = 30_000;
/** Below the listener's own timeout for a request, so that the refusal has this service's error body. */
const WHOLE_MS = 120_000;
const SETTLE_MS = 10_000;
const MAX_PARTS = 64;
const MAX_PART_HEADERS = 16;
const MAX_PART_HEADER_BYTES = 8_192;
/** Buffer size in the parser, on the way to the disk, and in the socket. */
const BUFFER_BYTES = 65_536;
/** Most memory of an upload in progress, with buffers that wait to be freed. */
export const MEMORY_OF_UPLOAD = 1_048_576;
const FORM_TYPE = /^multipart\/form-data\s*(?:;|$)/i;

const refuse = (fault: FormFault | BodyFault): ApiError => new ApiError(fault);

/** Returns whether a request announces a form. */
export const isForm = ({ headers }: IncomingMessage): boolean => FORM_TYPE.test(headers['content-type'] ?? '');

/**
 * Reads a form: its texts into memory, its files to the disk as they arrive, with parts in any order. Throws a
 * `FormFault` or `BodyFault` if it cannot be read. Throws `invalid_request` for a part that must not be a file, or is a
 * file twice. Its use of `capacity` lasts until the capacity is closed, except for the memory of reading. The caller
 * discards the files.
 */
export async function readForm({ req, res }: Exchange, limits: FormLimits, capacity: CallCapacity): Promise<Form> {
  const { maxBytes, tooLarge } = limits;
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw refuse({ kind: 'body_compressed' });
  if (!isForm(req)) throw refuse({ kind: 'form_not_form_type' });
  const parser = createParser(req);
  const sentBytes = Number(req.headers['content-length'] ?? 0);
  if (sentBytes > maxBytes) {
    res.shouldKeepAlive = false;
    throw refuse(tooLarge(sentBytes));
  }
  if (!capacity.memory.take(MEMORY_OF_UPLOAD)) {
    res.shouldKeepAlive = false;
    throw capacity.memory.refusal();
  }
  const parts = collectParts(limits, capacity);
  try {
    await receive(req, parser, { ...limits, parts, capacity });
    return { texts: parts.texts, files: parts.files };
  } catch (error) {
    res.shouldKeepAlive = false;
    parser.destroy();
    await parts.discard();
    throw error;
  } finally {
    capacity.memory.giveBack(MEMORY_OF_UPLOAD);
  }
}

function createParser(req: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': req.headers['content-type'] ?? '' },
      highWaterMark: BUFFER_BYTES,
      fileHwm: BUFFER_BYTES,
      // Each part is read as bytes, because text is checked here.
      isPartAFile: () => true,
      limits: {
        parts: MAX_PARTS,
        files: MAX_PARTS,
        headerPairs: MAX_PART_HEADERS,
        headerSize: MAX_PART_HEADER_BYTES,
      },
    });
  } catch {
    throw refuse({ kind: 'form_not_form_type' });
  }
}

/** The parts of one form. */
interface Parts {
  texts: Form['texts'];
  files: Map<string, Upload>;
  /** Adds a part. Throws the reason for which the form is refused. */
  add(name: string | undefined, fileName: string | undefined, stream: Readable): Promise<void>;
  discard(): Promise<void>;
}

function collectParts({ fileParts, maxTextBytes }: FormLimits, capacity: CallCapacity): Parts {
  const texts: Form['texts'] = [];
  const files = new Map<string, Upload>();
  const opened: Promise<{ close(): Promise<void> }>[] = [];
  const names = new Set<string>();
  let textBytes = 0;

  async function readText(stream: AsyncIterable<Buffer>): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) {
      textBytes += chunk.length;
      if (textBytes > maxTextBytes) throw refuse({ kind: 'form_too_large', maxParts: MAX_PARTS, maxTextBytes });
      if (!capacity.memory.take(chunk.length)) throw capacity.memory.refusal();
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  async function readFile(stream: AsyncIterable<Buffer>): Promise<Upload> {
    const opening = capacity.folder.create();
    opened.push(opening);
    const file = await opening;
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of stream) {
      if (!capacity.disk.take(chunk.length)) throw capacity.disk.refusal();
      bytes += chunk.length;
      hash.update(chunk);
      await file.write(chunk).catch(refuseFullDisk);
    }
    return { path: file.path, bytes, sha256: hash.digest('hex'), discard: () => file.close() };
  }

  return {
    texts,
    files,
    async add(name, fileName, stream) {
      if (name === undefined || name === '') throw refuse({ kind: 'form_malformed' });
      const param = toParam([name]);
      if (fileName === undefined && fileParts.get(name) !== 'file') {
        texts.push({ name, value: decode(await readText(stream), { param, mayBeFile: fileParts.has(name) }) });
        return;
      }
      if (!fileParts.has(name)) throw invalidRequest(param, `${param ?? 'A part'} may not be a file`);
      if (names.has(name)) throw invalidRequest(param, `${param ?? 'A part'} is given more than once`);
      names.add(name);
      const file = await readFile(stream);
      // Browsers send such a part for an empty file input.
      if (file.bytes === 0 && !fileName) await file.discard();
      else files.set(name, file);
    },
    async discard() {
      for (const opening of opened)
        await opening.then(
          (file) => file.close(),
          () => undefined,
        );
    },
  };
}

/** Resolves when the form has been read completely. After a refusal nothing more is read. */
function receive(
  req: IncomingMessage,
  parser: BusboyInstance,
  {
    maxBytes,
    maxTextBytes,
    tooLarge,
    silenceMs = SILENCE_MS,
    wholeMs = WHOLE_MS,
    settleMs = SETTLE_MS,
    parts,
    capacity,
  }: FormLimits & { parts: Parts; capacity: CallCapacity },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const underWay: Promise<void>[] = [];
    const streams: Readable[] = [];
    let size = 0;
    let isOver = false;
    let isParsed = false;
    let settling: NodeJS.Timeout | undefined;
    const end = (outcome: () => void): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(silence);
      clearTimeout(deadline);
      clearTimeout(settling);
      uploaded();
      outcome();
    };
    const giveUp = (error: unknown): void =>
      end(() => {
        req.unpipe(parser);
        req.pause();
        for (const stream of streams) stream.destroy();
        // No file is discarded while it is still being written.
        void Promise.allSettled(underWay).then(() => reject(error));
      });
    let partsUnderWay = 0;
    /** A parser that takes no more data, without a part in progress, cannot read the form. */
    const isParserLost = (): boolean => parser.writableNeedDrain && partsUnderWay === 0;
    const silence = setTimeout(
      () => giveUp(refuse(isParserLost() ? { kind: 'form_malformed' } : { kind: 'body_too_slow', silenceMs })),
      silenceMs,
    );
    const deadline = setTimeout(() => giveUp(refuse({ kind: 'body_unfinished', wholeMs })), wholeMs);
    const uploaded = capacity.disk.beginUpload(giveUp);

    parser.on('error', () => giveUp(refuse({ kind: 'form_malformed' })));
    for (const limit of ['partsLimit', 'filesLimit'] as const)
      parser.on(limit, () => giveUp(refuse({ kind: 'form_too_large', maxParts: MAX_PARTS, maxTextBytes })));
    parser.on('file', (name: string | undefined, stream: BusboyFileStream, fileName: string | undefined) => {
      // A stream may fail before it is read.
      stream.on('error', () => giveUp(refuse({ kind: 'form_malformed' })));
      streams.push(stream);
      const added = parts.add(name, fileName, stream);
      underWay.push(added);
      partsUnderWay += 1;
      added.then(() => {
        partsUnderWay -= 1;
      }, giveUp);
    });
    // Bytes after the last part count toward the limit as well.
    const endIfWhole = (): void => {
      if (isParsed && req.complete && req.readableEnded) Promise.all(underWay).then(() => end(resolve), giveUp);
    };
    parser.on('finish', () => {
      isParsed = true;
      endIfWhole();
    });

    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      silence.refresh();
      if (size > maxBytes) giveUp(refuse(tooLarge(undefined)));
    });
    req.on('end', () => {
      clearTimeout(silence);
      settling = setTimeout(() => giveUp(refuse({ kind: 'form_malformed' })), settleMs);
      endIfWhole();
    });
    req.on('error', () => giveUp(refuse({ kind: 'body_aborted' })));
    req.on('close', () => {
      if (!req.complete) giveUp(refuse({ kind: 'body_aborted' }));
    });
    // A client that left during authentication sends no further event.
    if (req.destroyed) giveUp(refuse({ kind: 'body_aborted' }));
    else req.pipe(parser);
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer, { param, mayBeFile }: { param: string | null; mayBeFile: boolean }): string {
  try {
    return utf8.decode(bytes);
  } catch {
    const reason = mayBeFile ? 'has no file name, which a file needs here' : 'is not valid UTF-8';
    throw invalidRequest(param, `${param ?? 'A part'} ${reason}`);
  }
}

function refuseFullDisk(error: NodeJS.ErrnoException): never {
  throw error.code === 'ENOSPC' || error.code === 'EDQUOT' ? refuse({ kind: 'no_room_for_body' }) : error;
}
