import fc from 'fast-check';
import { callOf } from './callOf.ts';
import { chatBody } from './chatBody.ts';
import type { FuzzCase } from './fuzzCase.ts';
import { lookUp } from './lookUp.ts';
import { mediaCase } from './mediaCase.ts';
import { rawCase } from './rawCase.ts';
import { completionBody, embeddingBody } from './textBodies.ts';

const operation: fc.Arbitrary<readonly [path: string, body: object]> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('/v1/chat/completions'), chatBody) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('/v1/completions'), completionBody) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('/v1/embeddings'), embeddingBody) },
);

/** Any input of the API: well-formed bodies, and what becomes of them by changes of their tree, bytes and framing. */
const anyCase: fc.Arbitrary<FuzzCase> = fc.oneof(
  { weight: 92, arbitrary: callOf(operation) },
  { weight: 4, arbitrary: mediaCase },
  { weight: 2, arbitrary: lookUp },
  { weight: 2, arbitrary: rawCase },
);

/** Case number `index` of a seed: the same whenever it is drawn, whatever was drawn before. */
export function drawCase(seed: number, index: number): FuzzCase {
  const [drawn] = fc.sample(anyCase, { seed: mixSeed(seed, index), numRuns: 1 });
  if (drawn === undefined) throw new Error('fast-check drew nothing');
  return drawn;
}

/** The smallest case found, below that of a seed and number, of which `fails` is true; undefined if not even that one fails. */
export async function shrinkCase(
  { seed, index }: { seed: number; index: number },
  fails: (fuzzCase: FuzzCase) => Promise<boolean>,
): Promise<FuzzCase | undefined> {
  const property = fc.asyncProperty(anyCase, async (drawn) => !(await fails(drawn)));
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
