import { z } from 'zod';
import { kokoro } from './personalities/kokoro.ts';
import type { Personality } from './personalities/personality.ts';
import { sglang } from './personalities/sglang.ts';
import { speaches } from './personalities/speaches.ts';
import { trtllm } from './personalities/trtllm.ts';
import { vllmAsr } from './personalities/vllmAsr.ts';
import { vllmOmni2026, vllmOmniEarly } from './personalities/vllmOmni.ts';

/** The engines that a replica can play (README, Personalities). */
export const PERSONALITIES = {
  'vllm-omni-2026': vllmOmni2026,
  'vllm-omni-early': vllmOmniEarly,
  sglang,
  trtllm,
  'vllm-asr': vllmAsr,
  speaches,
  kokoro,
} satisfies Record<string, Personality>;

export type PersonalityName = keyof typeof PERSONALITIES;
export const personalityNameSchema = z.enum(Object.keys(PERSONALITIES) as [PersonalityName, ...PersonalityName[]]);
