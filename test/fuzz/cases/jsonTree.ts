/**
 * A JSON text as it is written, which need not be JSON: a key may stand twice, and any text in place of a value. Keys and
 * texts are as they stand in the bytes, quotes and escapes included.
 */
export type JsonTree =
  | { kind: 'text'; text: string }
  | { kind: 'list'; items: JsonTree[] }
  | { kind: 'object'; members: JsonMember[] };

export interface JsonMember {
  key: string;
  value: JsonTree;
}

/** A place in a tree where something can be changed: a value, and what it is an element or a member of. */
export type JsonPlace = { holder: JsonTree & { kind: 'list' | 'object' }; index: number };

export const textNode = (text: string): JsonTree => ({ kind: 'text', text });

/** The tree of a value that is JSON. */
export function toTree(value: unknown): JsonTree {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(toTree) };
  if (typeof value !== 'object' || value === null) return textNode(JSON.stringify(value));
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => ({ key: JSON.stringify(key), value: toTree(member) }));
  return { kind: 'object', members };
}

export function writeTree(tree: JsonTree): string {
  if (tree.kind === 'text') return tree.text;
  if (tree.kind === 'list') return `[${tree.items.map(writeTree).join(',')}]`;
  return `{${tree.members.map(({ key, value }) => `${key}:${writeTree(value)}`).join(',')}}`;
}

/** Every place below the root, outer ones first. */
export function listPlaces(root: JsonTree): JsonPlace[] {
  const places: JsonPlace[] = [];
  const visit = (tree: JsonTree): void => {
    if (tree.kind === 'text') return;
    const children = tree.kind === 'list' ? tree.items : tree.members.map(({ value }) => value);
    for (const index of children.keys()) places.push({ holder: tree, index });
    for (const child of children) visit(child);
  };
  visit(root);
  return places;
}
