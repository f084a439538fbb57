import type { EngineFault } from '../api/inferenceFault.ts';
import type { Dialect, EngineCallFields } from '../engines/terms/dialect.ts';
import { parseEngineJson } from '../engines/terms/engineJson.ts';
import { isObject, statusOf } from './fields/answerFields.ts';

/** Most bytes of a refusal that are read, because refusals are short. */
const MAX_BYTES = 65_536;

/** An engine's answer instead of a stream: an error status, or one JSON body. */
export class EngineRefusal {
  readonly #status: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(status: number) {
    this.#status = status;
  }

  /** Keeps a part of the body. Returns false once no more has to be read. */
  push(chunk: Buffer): boolean {
    this.#chunks.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    return this.#bytes <= MAX_BYTES;
  }

  /** Returns the meaning for the client. A response with status 200 is a refusal only if its body is an error. */
  toFault(dialect: Pick<Dialect, 'toFault'>, sent: Pick<EngineCallFields, 'cacheSalt'>): EngineFault {
    const bytes = Buffer.concat(this.#chunks);
    const status = this.#status === 200 ? statusIn(parseEngineJson(bytes)) : this.#status;
    return dialect.toFault(status, bytes, sent);
  }
}

/** Returns the status in a body that came with HTTP 200. */
const statusIn = (body: unknown): number => (isObject(body) && isObject(body.error) ? statusOf(body.error) : 500);
