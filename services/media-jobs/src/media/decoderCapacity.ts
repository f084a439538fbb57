import { availableParallelism, totalmem } from 'node:os';

const MIB = 1_048_576;

/** Memory that the kernel grants to one decoding tool: several times the need of honest files. */
export const DECODER_MEMORY_BYTES = 256 * MIB;
/** Memory that the kernel grants to one conversion of speech. */
export const CONVERTER_MEMORY_BYTES = 48 * MIB;
/** Conversions for each slot. They mostly wait for an engine. */
const CONVERSIONS_PER_SLOT = 6;
/** Memory of the service itself: its heap, request bodies, and images that it decodes. */
export const SERVICE_MEMORY_BYTES = 1_280 * MIB;
/** Least slots, so that one key never has all of them. */
const LEAST_SLOTS = 2;

export interface DecoderCapacity {
  slots: number;
  conversions: number;
}

/**
 * Returns how much may be decoded and converted at once. One core stays free for other work, and all tools together
 * with the service fit into the memory.
 */
export function toDecoderCapacity({ cores, memoryBytes }: { cores: number; memoryBytes: number }): DecoderCapacity {
  const slotBytes = DECODER_MEMORY_BYTES + CONVERSIONS_PER_SLOT * CONVERTER_MEMORY_BYTES;
  const fitting = Math.floor((memoryBytes - SERVICE_MEMORY_BYTES) / slotBytes);
  const slots = Math.max(Math.min(cores - 1, fitting), LEAST_SLOTS);
  return { slots, conversions: CONVERSIONS_PER_SLOT * slots };
}

/** Returns the cores and memory of the machine, or of this process' container. */
export const readMachine = (): { cores: number; memoryBytes: number } => ({
  cores: availableParallelism(),
  memoryBytes: Math.min(process.constrainedMemory() || totalmem(), totalmem()),
});
