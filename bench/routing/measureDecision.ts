import { createHash } from 'node:crypto';
import { hashPrefix, renderPrefix } from '../../services/model-router/src/engines/promptPrefix.ts';
import { Placer } from '../../services/model-router/src/placement/placer.ts';
import { CHAT } from '../../services/model-router/src/request/chatRequest.ts';
import { anEngine } from '../../services/model-router/test/anEngine.ts';

const ENGINES = 16;
const PROMPT_BYTES = 102_400;
const OTHER_PROMPTS = 400;
/** Many: the first hundreds run before the code is compiled. */
const ROUNDS = 6_000;

/**
 * Measures one decision for a prompt of 100 KB and 16 engines, in µs, beside one SHA-256 of such a prompt. Each is the middle of
 * many, so that a busy machine does not matter.
 */
export function measureDecision(): { prepareUs: number; placeUs: number; sha256Us: number } {
  const placer = new Placer();
  const engines = Array.from({ length: ENGINES }, (_, index) => anEngine(`engine-${index + 1}`, { tryOut() {} }));
  const hashesOf = (number: number): number[] => hashPrefix('salt', Buffer.alloc(PROMPT_BYTES, `prompt ${number} `));
  const place = (prefixHashes: number[]): void => {
    const placed = placer.place(engines, {
      modelId: 'model',
      keyId: 'key',
      prefixHashes,
      promptBytes: PROMPT_BYTES,
      estimatedPromptTokens: PROMPT_BYTES / 4,
      maxOutputTokens: 1_000,
      isStream: true,
    });
    placed?.firstEvent();
    const counted = { promptTokens: PROMPT_BYTES / 4, cachedPromptTokens: 20_000, completionTokens: 100 };
    placed?.end({ kind: 'whole', usage: counted });
  };
  const prompts = Array.from({ length: OTHER_PROMPTS }, (_, number) => hashesOf(number));
  for (const hashes of prompts) place(hashes);

  const content = 'some words of it '.repeat(PROMPT_BYTES / 17);
  const written = { messages: [{ role: 'user', content }] };
  const bytes = Buffer.from(content);
  return {
    sha256Us: medianUs(() => createHash('sha256').update(bytes).digest()),
    prepareUs: medianUs(() => hashPrefix('salt', renderPrefix({ operation: CHAT, written }).beginning)),
    placeUs: medianUs((round) => place(prompts[round % OTHER_PROMPTS] ?? [])),
  };
}

function medianUs(work: (round: number) => void): number {
  const tookUs = Array.from({ length: ROUNDS }, (_, round) => {
    const startedAt = performance.now();
    work(round);
    return (performance.now() - startedAt) * 1_000;
  });
  return tookUs.sort((a, b) => a - b)[ROUNDS / 2] ?? Number.NaN;
}
