import { toEngineFault } from '../engines/toEngineFault.ts';
import type { EngineFault } from '../wire/chatFault.ts';

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
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    return this.#bytes <= MAX_BYTES;
  }

  /** What it means for the client. */
  toFault(): EngineFault {
    const text = Buffer.concat(this.#chunks).toString('utf8');
    return toEngineFault(this.#status === 200 ? codeOf(text) : this.#status, text);
  }
}

/** The status an engine put into a body that came with 200. */
function codeOf(text: string): number {
  const code = /"code"\s*:\s*(\d{3})\b/.exec(text)?.[1];
  return code === undefined ? 500 : Number(code);
}
