const ROWS_IN_CHUNK = 1 << 18;
/** A local name, because looking up a global takes long in a test, and this runs for every word of every state. */
const { imul } = Math;

/** Rows of so many words each, each kept once, in the order in which they came. */
export class RowTable {
  readonly #size: number;
  readonly #chunks: Int32Array[] = [];
  /** Open addressing: where a row's number is found by its hash. */
  #slots = new Int32Array(1 << 16).fill(-1);
  count = 0;

  constructor(size: number) {
    this.#size = size;
  }

  row(number: number): Int32Array {
    const start = (number % ROWS_IN_CHUNK) * this.#size;
    const chunk = this.#chunks[Math.floor(number / ROWS_IN_CHUNK)];
    if (!chunk || number >= this.count) throw new Error(`there is no row ${number}`);
    return chunk.subarray(start, start + this.#size);
  }

  /** False where the row is there already. */
  add(row: Int32Array): boolean {
    const slot = this.#findSlot(row);
    if (this.#slots[slot] !== -1) return false;
    this.#slots[slot] = this.count;
    const at = this.count % ROWS_IN_CHUNK;
    if (at === 0) this.#chunks.push(new Int32Array(ROWS_IN_CHUNK * this.#size));
    this.#chunks.at(-1)?.set(row, at * this.#size);
    this.count += 1;
    if (this.count * 2 > this.#slots.length) this.#grow();
    return true;
  }

  /** Returns the slot of the row's number, which may be empty. */
  #findSlot(row: Int32Array): number {
    const slots = this.#slots;
    let slot = hashOf(row) & (slots.length - 1);
    for (let number = slots[slot] ?? -1; number !== -1 && !this.#isAt(number, row); number = slots[slot] ?? -1)
      slot = (slot + 1) & (slots.length - 1);
    return slot;
  }

  #isAt(number: number, row: Int32Array): boolean {
    const chunk = this.#chunks[Math.floor(number / ROWS_IN_CHUNK)];
    const start = (number % ROWS_IN_CHUNK) * this.#size;
    for (let at = 0; at < row.length; at += 1) if (chunk?.[start + at] !== row[at]) return false;
    return true;
  }

  #grow(): void {
    this.#slots = new Int32Array(this.#slots.length * 2).fill(-1);
    for (let number = 0; number < this.count; number += 1) this.#slots[this.#findSlot(this.row(number))] = number;
  }
}

/** FNV-1a by words: what is multiplied moves bits up alone, so each time the upper ones are mixed into the lower. */
function hashOf(row: Int32Array): number {
  let hash = 2_166_136_261;
  for (let at = 0; at < row.length; at += 1) {
    hash = imul(hash ^ (row[at] ?? 0), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  hash = imul(hash, 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
