import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import {
  CONVERTER_MEMORY_BYTES,
  DECODER_MEMORY_BYTES,
  SERVICE_MEMORY_BYTES,
  toDecoderCapacity,
} from './decoderCapacity.ts';

const GIB = 1_024 ** 3;
const WORKLOAD = new URL('../../../../k8s/base/media-jobs/workload.yaml', import.meta.url);

it('a pod’s tools and its service fit the limit of its manifest, on a node of any size', async () => {
  const [, limit] = /limits: \{ memory: (\d+)Gi,/.exec(await readFile(WORKLOAD, 'utf8')) ?? [];
  const memoryBytes = Number(limit) * GIB;
  const rooms = [2, 4, 64].map((cores) => toDecoderCapacity({ cores, memoryBytes }));
  expect(rooms.map(({ slots }) => slots)).toEqual([2, 3, 3]);
  for (const { slots, conversions } of rooms) {
    const tools = slots * DECODER_MEMORY_BYTES + conversions * CONVERTER_MEMORY_BYTES;
    expect(SERVICE_MEMORY_BYTES + tools).toBeLessThanOrEqual(memoryBytes);
  }
});

it('one core is left for everything else where memory does not matter, and one key never has all slots', () => {
  const slotsOf = (cores: number, memoryBytes: number) => toDecoderCapacity({ cores, memoryBytes }).slots;
  expect([slotsOf(16, 64 * GIB), slotsOf(1, 64 * GIB), slotsOf(16, GIB)]).toEqual([15, 2, 2]);
});
