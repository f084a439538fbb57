import type { ServerResponse } from 'node:http';

/** The destination of an answer's bytes. */
export interface ResponseBody {
  /** Returns false if written bytes wait for the reader. Then the caller waits for `onceDrained`. */
  write(text: string): boolean;
  onceDrained(resume: () => void): void;
  end(text: string): void;
}

const PIECE_BYTES = 16;

/**
 * Sends text in many small writes, each after the one before has been sent, so that an event or a character arrives in
 * parts. `split_writes` cuts every 16 bytes, `split_utf8` after the first byte of each character with several bytes.
 */
export class SplitWriter implements ResponseBody {
  readonly #res: ServerResponse;
  readonly #cut: (text: string) => Buffer[];
  #pieces: Buffer[] = [];
  #isWriting = false;
  #isEnding = false;
  #resume: (() => void) | undefined;

  constructor(res: ServerResponse, kind: 'split_writes' | 'split_utf8') {
    this.#res = res;
    this.#cut = kind === 'split_writes' ? cutEverywhere : cutInsideCharacters;
  }

  write(text: string): boolean {
    this.#pieces.push(...this.#cut(text));
    if (!this.#isWriting) this.#next();
    return !this.#isWriting;
  }

  onceDrained(resume: () => void): void {
    this.#resume = resume;
  }

  end(text: string): void {
    this.#isEnding = true;
    if (!this.write(text)) return;
    this.#res.end();
  }

  #next(): void {
    const piece = this.#pieces.shift();
    this.#isWriting = piece !== undefined;
    if (piece) {
      this.#res.write(piece, () => setImmediate(() => this.#next()));
      return;
    }
    if (this.#isEnding) this.#res.end();
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }
}

function cutEverywhere(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const count = Math.ceil(bytes.length / PIECE_BYTES);
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES));
}

function cutInsideCharacters(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const cuts = [...bytes.entries()].filter(([, byte]) => byte >= 0xc0).map(([at]) => at + 1);
  return [0, ...cuts]
    .map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length))
    .filter(({ length }) => length > 0);
}
