import fc from 'fast-check';
import { byteChange, changeBytes } from './byteChange.ts';
import { chatBody } from './chatBody.ts';
import type { CallCase, FuzzCase } from './fuzzCase.ts';
import { headerFields } from './headerFields.ts';
import { toTree, writeTree } from './jsonTree.ts';
import { lookUp } from './lookUp.ts';
import { rawCase } from './rawCase.ts';
import { completionBody, embeddingBody } from './textBodies.ts';
import { applyChange, treeChange } from './treeChange.ts';

const operation: fc.Arbitrary<readonly [path: string, body: object]> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('/v1/chat/completions'), chatBody) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('/v1/completions'), completionBody) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('/v1/embeddings'), embeddingBody) },
);

const method = fc.oneof(
  { weight: 100, arbitrary: fc.constant('POST') },
  fc.constantFrom('GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
);
const chunkBytes = fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, fc.constantFrom(1, 7, 1_000));
const treeChanges = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  { weight: 3, arbitrary: fc.array(treeChange, { minLength: 1, maxLength: 3 }) },
);
const byteChanges = fc.oneof(
  { weight: 6, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(byteChange, { minLength: 1, maxLength: 2 }) },
);
/** A body so large is sent in few pieces: in single bytes it would be the client that is slow. */
const LARGE_BYTES = 2_000;

const call: fc.Arbitrary<CallCase> = fc
  .tuple(operation, treeChanges, byteChanges, method, headerFields, chunkBytes)
  .map(([[path, fields], changes, damages, called, headers, chunks]) => {
    const tree = toTree(fields);
    for (const change of changes) applyChange(tree, change);
    const body = damages.reduce(changeBytes, Buffer.from(writeTree(tree)));
    const isChunked = chunks !== undefined && called !== 'GET';
    const size = body.length > LARGE_BYTES ? 64 * 1_024 : chunks;
    return {
      kind: 'call',
      method: called,
      path,
      headers,
      body: called === 'GET' ? undefined : body,
      chunkBytes: isChunked ? size : undefined,
    };
  });

/** Any input of the text API: well-formed bodies, and what becomes of them by changes of their tree, bytes and framing. */
const anyCase: fc.Arbitrary<FuzzCase> = fc.oneof(
  { weight: 96, arbitrary: call },
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
