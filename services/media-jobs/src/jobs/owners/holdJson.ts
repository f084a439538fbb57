import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { z } from 'zod';

const holdSchema = z.object({
  callId: z.string(),
  keyId: z.string(),
  workspaceId: z.string(),
  holdNanoUsd: z.string().transform(BigInt),
  admittedAtMs: z.number(),
  session: z.string(),
  estimatedPromptTokens: z.number(),
  rpm: z.number(),
  tpm: z.number(),
  unknownEventJson: z.string(),
});

/** A hold as it stands in a row: the amount is a text. */
export const toHoldJson = (hold: Hold): unknown => ({ ...hold, holdNanoUsd: hold.holdNanoUsd.toString() });
export const fromHoldJson = (json: unknown): Hold => holdSchema.parse(json);
