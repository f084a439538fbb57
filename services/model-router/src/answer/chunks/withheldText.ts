/** Text withheld at most. It is more than any model says in one answer. */
const MAX_HELD_LENGTH = 1_048_576;

interface HeldChunk {
  choices: { delta: Record<string, string | null> }[];
}

/**
 * What an engine said before it called the tool that it has to call: withheld, so that an answer without a call can still
 * be a refusal (decisions, Streams). The chunks are put together to one, as they reach the client at once: a model may
 * think for thousands of tokens first, each of which would take as much memory as fifty in one chunk.
 */
export class WithheldText {
  #chunk: HeldChunk | undefined;
  #length = 0;

  /** More was withheld than is kept: the tool will not be called. */
  get isFull(): boolean {
    return this.#length > MAX_HELD_LENGTH;
  }

  /** Holds back a client's event, which has a delta of text alone. */
  hold(event: Buffer): void {
    const chunk = JSON.parse(event.toString('utf8').slice('data: '.length)) as HeldChunk;
    const delta = chunk.choices[0]?.delta ?? {};
    for (const text of Object.values(delta)) this.#length += text?.length ?? 0;
    const held = this.#chunk?.choices[0]?.delta;
    if (held) join(held, delta);
    else this.#chunk = chunk;
  }

  /** One event with all that was withheld, if anything was. */
  release(): Buffer[] {
    return this.#chunk ? [Buffer.from(`data: ${JSON.stringify(this.#chunk)}\n\n`)] : [];
  }
}

/** Adds the texts of a later delta to those of an earlier one. */
function join(held: Record<string, string | null>, delta: Record<string, string | null>): void {
  for (const [key, text] of Object.entries(delta)) {
    const before = held[key];
    held[key] = typeof before === 'string' ? before + (text ?? '') : text;
  }
}
