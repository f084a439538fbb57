import fc from 'fast-check';
import { countedBody, messagesBody, responsesBody } from './agentBodies.ts';
import { callOf } from './callOf.ts';
import { chatBody } from './chatBody.ts';
import type { FuzzCase } from './fuzzCase.ts';
import { lookUp } from './lookUp.ts';
import { formCall, mediaCase } from './mediaCase.ts';
import { rawCase } from './rawCase.ts';
import { completionBody, embeddingBody } from './textBodies.ts';

const operation: fc.Arbitrary<readonly [path: string, body: object]> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('/v1/chat/completions'), chatBody) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('/v1/responses'), responsesBody) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('/v1/messages', '/v1/messages?beta=true'), messagesBody) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('/v1/messages/count_tokens'), countedBody) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('/v1/completions'), completionBody) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('/v1/embeddings'), embeddingBody) },
);

const textCall = callOf(operation);

/** Kinds of inputs that a run can be drawn from: well-formed requests, and changes of their tree, bytes and framing. */
const CASES = {
  all: fc.oneof(
    { weight: 92, arbitrary: textCall },
    { weight: 4, arbitrary: mediaCase },
    { weight: 2, arbitrary: lookUp },
    { weight: 2, arbitrary: rawCase },
  ),
  text: textCall,
  media: mediaCase,
  forms: formCall,
} satisfies Record<string, fc.Arbitrary<FuzzCase>>;

export type CaseKind = keyof typeof CASES;
export const CASE_KINDS = Object.keys(CASES) as CaseKind[];

/** Names a run: equal draws have equal cases. */
export interface Draw {
  seed: number;
  of: CaseKind;
}

/** Case number `index` of a draw: the same whenever it is drawn, whatever was drawn before. */
export function drawCase({ seed, of }: Draw, index: number): FuzzCase {
  const [drawn] = fc.sample<FuzzCase>(CASES[of], { seed: mixSeed(seed, index), numRuns: 1 });
  if (drawn === undefined) throw new Error('fast-check drew nothing');
  return drawn;
}

/** The smallest case found, below that of a draw and number, of which `fails` is true; undefined if not even that one fails. */
export async function shrinkCase(
  { seed, of }: Draw,
  index: number,
  fails: (fuzzCase: FuzzCase) => Promise<boolean>,
): Promise<FuzzCase | undefined> {
  const property = fc.asyncProperty<[FuzzCase]>(CASES[of], async (drawn) => !(await fails(drawn)));
  const { counterexample } = await fc.check(property, { seed: mixSeed(seed, index), numRuns: 1 });
  return counterexample?.[0];
}

/** Neighbouring numbers give seeds that have nothing in common (the finaliser of MurmurHash3). */
function mixSeed(seed: number, index: number): number {
  let mixed = (seed ^ Math.imul(index + 1, 0x9e3779b1)) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) | 0;
}
