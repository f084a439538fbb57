/** A value of Lua; `nil` is undefined. */
export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction;
/** Every function gives a list of results. */
export type LuaFunction = (...args: LuaValue[]) => LuaValue[];

/** A table: what stands at 1, 2, 3, … and what stands at names. */
export class LuaTable {
  readonly items: LuaValue[];
  readonly fields = new Map<LuaValue, LuaValue>();

  constructor(items: LuaValue[] = []) {
    this.items = items;
  }

  get(key: LuaValue): LuaValue {
    return typeof key === 'number' && key >= 1 && key <= this.items.length ? this.items[key - 1] : this.fields.get(key);
  }

  set(key: LuaValue, value: LuaValue): void {
    if (key === this.items.length + 1) this.items.push(value);
    else if (typeof key === 'number' && key >= 1 && key <= this.items.length) this.items[key - 1] = value;
    else this.fields.set(key, value);
  }

  get length(): number {
    let { length } = this.items;
    while (length > 0 && this.items[length - 1] === undefined) length -= 1;
    return length;
  }
}

export class LuaError extends Error {
  override name = 'LuaError';
}

const typeOf = (value: LuaValue): string =>
  value instanceof LuaTable ? 'table' : value === undefined ? 'nil' : typeof value;

function parseNumber(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(trimmed) ? Number(trimmed) : undefined;
}

export const toNumber = (value: LuaValue): number | undefined =>
  typeof value === 'number' ? value : typeof value === 'string' ? parseNumber(value) : undefined;

/** C's `%.<decimals>f`: a tie goes to the even neighbour, and a negative zero keeps its sign. */
function formatFixed(value: number, decimals: number): string {
  const scaled = Math.abs(value) * 10 ** decimals;
  const floor = Math.floor(scaled);
  const isTie =
    scaled < 2 ** 52 && scaled - floor === 0.5 && new RegExp(`\\.\\d{${decimals}}50*$`).test(value.toFixed(60));
  const magnitude = isTie
    ? ((floor % 2 ? floor + 1 : floor) / 10 ** decimals).toFixed(decimals)
    : Math.abs(value).toFixed(decimals);
  return value < 0 || Object.is(value, -0) ? `-${magnitude}` : magnitude;
}

/** C's `%.<digits>g`, which is how Lua (14 digits) and Redis (17) write numbers. */
export function formatGeneral(value: number, digits: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 10 ** Math.min(digits, 15))
    return Object.is(value, -0) ? '-0' : String(value);
  const text = value.toPrecision(digits);
  const [mantissa = '', exponent] = text.split('e');
  const short = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
  if (exponent === undefined) return short;
  return `${short}e${exponent.startsWith('-') ? '-' : '+'}${exponent.replace(/^[-+]/, '').padStart(2, '0')}`;
}

export const isTrue = (value: LuaValue): boolean => value !== undefined && value !== false;

export function arithmetic(value: LuaValue): number {
  const number = toNumber(value);
  if (number === undefined) throw new LuaError(`attempt to perform arithmetic on a ${typeOf(value)} value`);
  return number;
}

export function isLess(one: LuaValue, other: LuaValue): boolean {
  if (typeof one === 'number' && typeof other === 'number') return one < other;
  if (typeof one === 'string' && typeof other === 'string') return one < other;
  throw new LuaError(`attempt to compare ${typeOf(one)} with ${typeOf(other)}`);
}

export const isAtMost = (one: LuaValue, other: LuaValue): boolean =>
  typeof one === 'number' && typeof other === 'number' ? one <= other : !isLess(other, one);

function text(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatGeneral(value, 14);
  throw new LuaError(`attempt to concatenate a ${typeOf(value)} value`);
}

export const concat = (one: LuaValue, other: LuaValue): string => text(one) + text(other);

export function lengthOf(value: LuaValue): number {
  if (typeof value === 'string' || value instanceof LuaTable) return value.length;
  throw new LuaError(`attempt to get length of a ${typeOf(value)} value`);
}

export function index(table: LuaValue, key: LuaValue): LuaValue {
  if (table instanceof LuaTable) return table.get(key);
  throw new LuaError(`attempt to index a ${typeOf(table)} value`);
}

export function setIndex(table: LuaValue, key: LuaValue, value: LuaValue): void {
  if (!(table instanceof LuaTable)) throw new LuaError(`attempt to index a ${typeOf(table)} value`);
  table.set(key, value);
}

export function call(target: LuaValue, ...args: LuaValue[]): LuaValue[] {
  if (typeof target !== 'function') throw new LuaError(`attempt to call a ${typeOf(target)} value`);
  return target(...args);
}

export function* iterate(table: LuaValue): Generator<LuaValue[]> {
  if (!(table instanceof LuaTable)) throw new LuaError(`bad argument to 'ipairs' (a ${typeOf(table)} value)`);
  for (let at = 1; table.get(at) !== undefined; at += 1) yield [at, table.get(at)];
}

function format(pattern: LuaValue, ...values: LuaValue[]): LuaValue[] {
  let next = 0;
  const written = text(pattern).replace(/%(?:\.(\d+)f|0(\d+)d)/g, (_all, decimals?: string, width?: string) => {
    const value = arithmetic(values[next++]);
    return decimals === undefined
      ? String(Math.trunc(value)).padStart(Number(width), '0')
      : formatFixed(value, Number(decimals));
  });
  if (/%/.test(written) || next !== values.length)
    throw new LuaError(`string.format: '${text(pattern)}' is not known here`);
  return [written];
}

function find(where: LuaValue, what: LuaValue, from: LuaValue, isPlain: LuaValue): LuaValue[] {
  if (!isTrue(isPlain)) throw new LuaError('string.find: patterns are not known here');
  const at = text(where).indexOf(text(what), arithmetic(from) - 1);
  return at === -1 ? [undefined] : [at + 1, at + text(what).length];
}

function sub(whole: LuaValue, first: LuaValue, last: LuaValue): LuaValue[] {
  const { length } = text(whole);
  const [from, to] = [first, last].map(arithmetic).map((at) => (at < 0 ? length + at + 1 : at));
  return [text(whole).slice(Math.max((from ?? 1) - 1, 0), Math.max(to ?? length, 0))];
}

const unpack = (table: LuaValue, first: number, last: number): LuaValue[] =>
  Array.from({ length: last - first + 1 }, (_, nth) => index(table, first + nth));

/** Compares like Lua: the first of two equal values stays, which distinguishes -0 from 0. */
const best =
  (isBetter: (one: number, other: number) => boolean): LuaFunction =>
  (...values) => [values.map(arithmetic).reduce((chosen, value) => (isBetter(value, chosen) ? value : chosen))];

const library = (functions: Record<string, LuaFunction>): LuaTable => {
  const table = new LuaTable();
  for (const [name, each] of Object.entries(functions)) table.set(name, each);
  return table;
};

/** Names that scripts find beside `redis`, `KEYS` and `ARGV`. */
export const LIBRARIES: Record<string, LuaValue> = {
  tonumber: (value) => [toNumber(value)],
  unpack: (table, first, last) => unpack(table, arithmetic(first), arithmetic(last)),
  math: library({
    floor: (value) => [Math.floor(arithmetic(value))],
    ceil: (value) => [Math.ceil(arithmetic(value))],
    max: best((one, other) => one > other),
    min: best((one, other) => one < other),
  }),
  string: library({ format, find, sub }),
};
