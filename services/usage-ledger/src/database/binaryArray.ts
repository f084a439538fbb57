/** How a type of Postgres travels: its object id, which never changes, the most bytes of a value, and how one is written. */
interface Type<Value> {
  oid: number;
  mostBytes(value: Value): number;
  /** Writes a value at a place and gives how many bytes it took. */
  write(array: Buffer, value: Value, at: number): number;
}

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
const MOST_UTF8_BYTES = 3;
/** 2000-01-01, from which Postgres counts microseconds. */
const POSTGRES_EPOCH_MS = 946_684_800_000;

const fixed = <Value>(oid: number, bytes: number, put: (array: Buffer, value: Value, at: number) => unknown) => ({
  oid,
  mostBytes: () => bytes,
  write: (array: Buffer, value: Value, at: number) => {
    put(array, value, at);
    return bytes;
  },
});

/**
 * Returns a column of rows as an array in Postgres' binary format, for a parameter whose type is in the statement:
 * `${…}::INT[]`. The driver passes a buffer on unchanged. Client and server together take less than half the time of
 * rows as JSON.
 */
export const binaryArray = {
  boolean: toArrays(fixed<boolean>(16, 1, (array, value, at) => array.writeUInt8(Number(value), at))),
  int: toArrays(fixed<number>(23, 4, (array, value, at) => array.writeInt32BE(value, at))),
  bigint: toArrays(fixed<bigint>(20, 8, (array, value, at) => array.writeBigInt64BE(value, at))),
  /** Arrays of instants, as whole milliseconds of Unix. */
  timestamptz: toArrays(
    fixed<number>(1184, 8, (array, ms, at) => array.writeBigInt64BE(BigInt(ms - POSTGRES_EPOCH_MS) * 1_000n, at)),
  ),
  /** Arrays of UUIDs, as text. */
  uuid: toArrays(fixed<string>(2950, 16, (array, value, at) => array.write(value.replaceAll('-', ''), at, 'hex'))),
  text: toArrays<string>({
    oid: 25,
    mostBytes: ({ length }) => length * MOST_UTF8_BYTES,
    write: (array, value, at) => array.write(value, at),
  }),
};

function toArrays<Value>({ oid, mostBytes, write }: Type<Value>) {
  return <Row>(rows: Row[], read: (row: Row) => Value | null): Buffer => {
    let most = HEADER_BYTES;
    for (const row of rows) {
      const value = read(row);
      most += LENGTH_BYTES + (value === null ? 0 : mostBytes(value));
    }
    const array = Buffer.allocUnsafe(most);
    const dimensions = rows.length === 0 ? 0 : 1;
    const mayHoldNull = 1;
    const firstIndex = 1;
    let at = 0;
    for (const field of [dimensions, mayHoldNull, oid, rows.length, firstIndex]) at = array.writeInt32BE(field, at);
    for (const row of rows) {
      const value = read(row);
      const bytes = value === null ? NULL_LENGTH : write(array, value, at + LENGTH_BYTES);
      array.writeInt32BE(bytes, at);
      at += LENGTH_BYTES + Math.max(0, bytes);
    }
    return array.subarray(0, rows.length === 0 ? HEADER_BYTES - 8 : at);
  };
}
