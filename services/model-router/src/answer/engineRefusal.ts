import type { EngineFault } from '../api/inferenceFault.ts';
import type { Dialect, EngineCallFields } from '../engines/terms/dialect.ts';
import { parseEngineJson } from '../engines/terms/engineJson.ts';
import { isObject, statusOf } from './fields/answerFields.ts';

/** A refusal is a short text; what is longer is not read. */
const MAX_BYTES = 65_536;

/** An engine's answer that is no stream: a status of its own, or one JSON body where a stream was asked for. */
export class EngineRefusal {
  readonly #status: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(status: number) {
    this.#status = status;
  }

  /** Keeps a part of the body. False when that is enough: no more need be read. */
  push(chunk: Buffer): boolean {
    this.#chunks.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    return this.#bytes <= MAX_BYTES;
  }

  /** Returns the meaning for the client. A response with status 200 is a refusal only if its body is an error that says so. */
  toFault(dialect: Pick<Dialect, 'toFault'>, sent: Pick<EngineCallFields, 'cacheSalt'>): EngineFault {
    const bytes = Buffer.concat(this.#chunks);
    const status = this.#status === 200 ? statusIn(parseEngineJson(bytes)) : this.#status;
    return dialect.toFault(status, bytes, sent);
  }
}

/** The status an engine put into a body that came with 200. */
const statusIn = (body: unknown): number => (isObject(body) && isObject(body.error) ? statusOf(body.error) : 500);
