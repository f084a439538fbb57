import fc from 'fast-check';

/** One change of a body's bytes. `at` counts from the start and comes round at the end. */
export type ByteChange =
  | { kind: 'truncate'; at: number }
  | { kind: 'append'; text: string }
  | { kind: 'prepend'; bytes: readonly number[] }
  | { kind: 'insert'; at: number; bytes: readonly number[] }
  | { kind: 'flip'; at: number; bit: number }
  | { kind: 'utf16'; order: 'le' | 'be' }
  | { kind: 'latin1' };

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Bytes that no UTF-8 has: a lone continuation, an overlong slash, a surrogate, beyond Unicode, a cut sequence; and a NUL. */
const INVALID = [[0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe6, 0xbc], [0xff, 0xfe], [0]];

const kind = <Kind extends string>(name: Kind) => fc.constant(name);
const at = fc.nat(4_000);

export const byteChange: fc.Arbitrary<ByteChange> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: kind('truncate'), at }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: kind('append'),
      text: fc.constantFrom('}', ']', '{}', ',', 'x', '\0', '\n\n', ' // end', '/* end */', '{"model":"a"}', '\u001a'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: kind('prepend'),
      bytes: fc.constantFrom(BYTE_ORDER_MARK, [0x0b], [0xa0], [0x1e], [0x20, 0x0a], [0x2f, 0x2f, 0x0a], [0xfe, 0xff]),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: kind('insert'), at, bytes: fc.constantFrom(...INVALID) }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('flip'), at, bit: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('utf16'), order: fc.constantFrom('le' as const, 'be' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('latin1') }) },
);

export function changeBytes(bytes: Buffer, change: ByteChange): Buffer {
  const place = 'at' in change ? change.at % (bytes.length + 1) : 0;
  switch (change.kind) {
    case 'truncate':
      return bytes.subarray(0, place);
    case 'append':
      return Buffer.concat([bytes, Buffer.from(change.text)]);
    case 'prepend':
      return Buffer.concat([Buffer.from(change.bytes), bytes]);
    case 'insert':
      return Buffer.concat([bytes.subarray(0, place), Buffer.from(change.bytes), bytes.subarray(place)]);
    case 'flip': {
      const flipped = Buffer.from(bytes);
      const byte = flipped[place];
      if (byte !== undefined) flipped[place] = byte ^ (1 << change.bit);
      return flipped;
    }
    case 'utf16': {
      const wide = Buffer.from(bytes.toString('utf8'), 'utf16le');
      return change.order === 'le' ? wide : wide.swap16();
    }
    case 'latin1':
      return Buffer.from(bytes.toString('utf8'), 'latin1');
  }
}
