interface Row {
  readonly bytes: Uint8Array;
  readonly at: number;
}

/** One byte of a row, as a property of a view. */
export interface Field<T> {
  describe(offset: number): { get(this: Row): T; set(this: Row, value: T): void };
}

export const number: Field<number> = {
  describe: (offset) => ({
    get() {
      return this.bytes[this.at + offset] ?? 0;
    },
    set(value) {
      this.bytes[this.at + offset] = value;
    },
  }),
};

export const flag: Field<boolean> = {
  describe: (offset) => ({
    get() {
      return this.bytes[this.at + offset] === 1;
    },
    set(value) {
      this.bytes[this.at + offset] = value ? 1 : 0;
    },
  }),
};

/** One of a few words; a row of zeros has the first. */
export const oneOf = <const Word extends string>(...words: readonly [Word, ...Word[]]): Field<Word> => ({
  describe: (offset) => ({
    get() {
      return words[this.bytes[this.at + offset] ?? 0] ?? words[0];
    },
    set(value) {
      this.bytes[this.at + offset] = words.indexOf(value);
    },
  }),
});

export type Fields = Record<string, Field<unknown>>;

export type View<F extends Fields> = { -readonly [Name in keyof F]: F[Name] extends Field<infer T> ? T : never } & {
  /** Which of its kind it is. */
  readonly index: number;
  /** Back to a row of zeros. */
  clear(): void;
};

export interface ViewClass<F extends Fields> {
  /** In bytes. */
  readonly size: number;
  new (bytes: Uint8Array, at: number, index: number): View<F>;
}

/**
 * A class whose objects show a part of a row of bytes by name. A state is one row, so that millions can be kept and
 * compared; it is read and changed through such views.
 */
export function viewOf<F extends Fields>(fields: F): ViewClass<F> {
  const size = Object.keys(fields).length;
  class ViewOfRow implements Row {
    static readonly size = size;
    readonly bytes: Uint8Array;
    readonly at: number;
    readonly index: number;

    constructor(bytes: Uint8Array, at: number, index: number) {
      this.bytes = bytes;
      this.at = at;
      this.index = index;
    }

    clear(): void {
      this.bytes.fill(0, this.at, this.at + size);
    }
  }
  for (const [offset, [name, field]] of Object.entries(fields).entries())
    Object.defineProperty(ViewOfRow.prototype, name, field.describe(offset));
  return ViewOfRow as unknown as ViewClass<F>;
}
