import { createHash } from 'node:crypto';

/** Parameter of a statement. An object travels as text, so that the caller decides how it is written as JSON. */
export type Value = string | number | bigint | boolean | Date | Uint8Array | null | readonly Value[];

/**
 * A statement, or a fragment of one, with its parameters. Its text holds a placeholder for each parameter and no value. `Row` is the type
 * of the rows that it returns. A Prisma client takes a `Sql` in `$queryRaw` and `$executeRaw`, in place of a `Prisma.Sql`.
 */
export class Sql<Row = unknown> {
  /** Exists only for the compiler. */
  declare readonly row?: Row;
  readonly strings: string[] = [];
  readonly values: Value[] = [];
  readonly text: string;
  /** Name under which each connection prepares the statement once. */
  readonly name: string;

  constructor(strings: readonly string[], values: readonly (Value | Sql)[]) {
    let last = strings[0] ?? '';
    for (const [index, value] of values.entries()) {
      const after = strings[index + 1] ?? '';
      if (value instanceof Sql) {
        const [first = '', ...others] = value.strings;
        this.strings.push(...[last + first, ...others].slice(0, -1));
        last = (others.at(-1) ?? last + first) + after;
        this.values.push(...value.values);
      } else {
        this.strings.push(last);
        this.values.push(value);
        last = after;
      }
    }
    this.strings.push(last);
    this.text = this.strings.reduce((text, string, index) => `${text}$${index}${string}`);
    this.name = nameOf(this.text);
  }

  get sql(): string {
    return this.text;
  }

  get statement(): string {
    return this.text;
  }

  inspect(): { sql: string; statement: string; text: string; values: Value[] } {
    const { text, values } = this;
    return { sql: text, statement: text, text, values };
  }
}

/** The names of texts. A program has a fixed number of them, because no value becomes part of a text. */
const names = new Map<string, string>();

function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('hex').slice(0, 32);
  names.set(text, name);
  return name;
}

/** Returns the name of a statement that the tag has made; undefined for any other text. */
export const preparedNameOf = (text: string): string | undefined => names.get(text);

/** Makes a statement of a template. A value becomes a parameter, and a `Sql` becomes a part of the statement. */
export const sql = <Row = unknown>(strings: TemplateStringsArray, ...values: (Value | Sql)[]): Sql<Row> =>
  new Sql(strings, values);
