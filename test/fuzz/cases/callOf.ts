import fc from 'fast-check';
import { byteChange, changeBytes } from './byteChange.ts';
import type { CallCase } from './fuzzCase.ts';
import { headerFields } from './headerFields.ts';
import { toTree, writeTree } from './jsonTree.ts';
import { applyChange, treeChange } from './treeChange.ts';

export const method = fc.oneof(
  { weight: 100, arbitrary: fc.constant('POST') },
  fc.constantFrom('GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
);
export const chunkBytes = fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, fc.constantFrom(1, 7, 1_000));
const treeChanges = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  { weight: 3, arbitrary: fc.array(treeChange, { minLength: 1, maxLength: 3 }) },
);
export const byteChanges = fc.oneof(
  { weight: 6, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(byteChange, { minLength: 1, maxLength: 2 }) },
);
/** A body so large is sent in few pieces: in single bytes it would be the client that is slow. */
const LARGE_BYTES = 2_000;

/** Calls with a JSON body: well-formed ones, and what becomes of them by changes of their tree, bytes and framing. */
export const callOf = (operation: fc.Arbitrary<readonly [path: string, body: object]>): fc.Arbitrary<CallCase> =>
  fc
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
