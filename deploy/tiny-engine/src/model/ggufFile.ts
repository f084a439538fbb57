/** A value of the file's metadata, with the type it is written as. */
export type GgufValue =
  | { type: 'uint32' | 'float32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'strings'; value: readonly string[] }
  | { type: 'int32s'; value: readonly number[] };

/** A matrix or vector; `dimensions` has the length of a row first, then the number of rows. */
export interface GgufTensor {
  name: string;
  dimensions: readonly number[];
  data: Float32Array;
}

const VERSION = 3;
const ALIGNMENT_BYTES = 32;
const F32 = 0;
const TYPE_IDS = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;

/** A whole model file in the format GGUF, version 3, with all numbers as little-endian 32-bit floats. */
export function toGgufFile(metadata: Readonly<Record<string, GgufValue>>, tensors: readonly GgufTensor[]): Buffer {
  const entries = Object.entries(metadata);
  const head = [Buffer.from('GGUF'), uint32(VERSION), uint64(tensors.length), uint64(entries.length)];
  for (const [key, value] of entries) head.push(string(key), ...toValue(value));

  const data: Buffer[] = [];
  let offsetBytes = 0;
  for (const tensor of tensors) {
    head.push(string(tensor.name), uint32(tensor.dimensions.length), ...tensor.dimensions.map(uint64));
    head.push(uint32(F32), uint64(offsetBytes));
    const bytes = padded(toFloatBytes(tensor.data));
    data.push(bytes);
    offsetBytes += bytes.length;
  }
  return Buffer.concat([padded(Buffer.concat(head)), ...data]);
}

function toValue(entry: GgufValue): Buffer[] {
  switch (entry.type) {
    case 'uint32':
      return [uint32(TYPE_IDS.uint32), uint32(entry.value)];
    case 'float32':
      return [uint32(TYPE_IDS.float32), toFloatBytes([entry.value])];
    case 'bool':
      return [uint32(TYPE_IDS.bool), Buffer.from([entry.value ? 1 : 0])];
    case 'string':
      return [uint32(TYPE_IDS.string), string(entry.value)];
    case 'strings':
      return [...arrayHead(TYPE_IDS.string, entry.value), ...entry.value.map(string)];
    case 'int32s':
      return [...arrayHead(TYPE_IDS.int32, entry.value), ...entry.value.map(int32)];
  }
}

const arrayHead = (elementTypeId: number, { length }: readonly unknown[]): Buffer[] => [
  uint32(TYPE_IDS.array),
  uint32(elementTypeId),
  uint64(length),
];

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function toFloatBytes(values: ArrayLike<number>): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (let index = 0; index < values.length; index++) bytes.writeFloatLE(values[index] ?? 0, index * 4);
  return bytes;
}

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((ALIGNMENT_BYTES - (bytes.length % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES)]);
