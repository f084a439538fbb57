import { availableParallelism, totalmem } from 'node:os';

const MIB = 1_048_576;

/** Memory that the kernel grants to one tool that decodes: some times what any honest file takes. */
export const DECODER_MEMORY_BYTES = 256 * MIB;
/** The same of one that converts speech as it comes. */
export const CONVERTER_MEMORY_BYTES = 48 * MIB;
/** Conversions mostly wait for an engine. */
const CONVERSIONS_PER_SLOT = 6;
/** The service itself: its heap, the bodies that it reads, and pictures that it decodes. */
export const SERVICE_MEMORY_BYTES = 1_280 * MIB;
/** So that one key never has all of them. */
const LEAST_SLOTS = 2;

export interface DecoderCapacity {
  slots: number;
  conversions: number;
}

/**
 * How much may be decoded and converted at once: one core is left for everything else, and all tools together with the service take no
 * more memory than there is.
 */
export function toDecoderCapacity({ cores, memoryBytes }: { cores: number; memoryBytes: number }): DecoderCapacity {
  const slotBytes = DECODER_MEMORY_BYTES + CONVERSIONS_PER_SLOT * CONVERTER_MEMORY_BYTES;
  const fitting = Math.floor((memoryBytes - SERVICE_MEMORY_BYTES) / slotBytes);
  const slots = Math.max(Math.min(cores - 1, fitting), LEAST_SLOTS);
  return { slots, conversions: CONVERSIONS_PER_SLOT * slots };
}

/** The cores and memory of the machine, or of this process' container. */
export const readMachine = (): { cores: number; memoryBytes: number } => ({
  cores: availableParallelism(),
  memoryBytes: Math.min(process.constrainedMemory() || totalmem(), totalmem()),
});
