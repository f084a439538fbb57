import fc from 'fast-check';
import { hostileValue, listHostileValues } from './hostileValues.ts';
import { type JsonTree, listPlaces, textNode, writeTree } from './jsonTree.ts';
import { applyChange, treeChange } from './treeChange.ts';

/** Ids that no thing has, as they stand in a path. */
export const HOSTILE_IDS = [
  'none',
  '%00',
  '%ff',
  '%ed%a0%80',
  '%2e%2e',
  '%2f',
  '%F0%9F%98%80',
  '__proto__',
  'toString',
  "'%20OR%20'1'='1",
  'org_',
  '-1',
  '9'.repeat(400),
  'a'.repeat(8_000),
];
/** Known texts of a length that a body may have. */
const HOSTILE_TEXTS = listHostileValues().filter((value) => value.startsWith('"') && value.length < 1_000);

/** A body of a request: one that the route takes with changes, or any text. */
export const aBody = fc.oneof(
  { weight: 4, arbitrary: fc.record({ changes: fc.array(treeChange, { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ whole: hostileValue }) },
);
export const aContentType = fc.constantFrom(
  'application/json',
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
);

/** Writes a drawn body. `tree` is one that the route takes, and is changed. */
export function writeBody(tree: JsonTree, body: typeof aBody extends fc.Arbitrary<infer Body> ? Body : never): string {
  if ('whole' in body) return body.whole;
  for (const change of body.changes) applyChange(tree, change);
  return writeTree(tree);
}

/** Writes a body for each field and each known hostile text in its place. */
export function* listHostileBodies(makeTree: () => JsonTree): Iterable<string> {
  for (const index of listPlaces(makeTree()).keys())
    for (const value of HOSTILE_TEXTS) {
      const tree = makeTree();
      const place = listPlaces(tree)[index];
      const member = place?.holder.kind === 'object' ? place.holder.members[place.index] : undefined;
      if (member) member.value = textNode(value);
      yield writeTree(tree);
    }
}
