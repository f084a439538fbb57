import fc from 'fast-check';
import { hostileKey, hostileValue } from './hostileValues.ts';
import { type JsonPlace, type JsonTree, listPlaces, textNode } from './jsonTree.ts';

/** One change of a body's tree, at the place that a number leads to. */
export interface TreeChange {
  at: number;
  change:
    | { kind: 'replace'; value: string }
    | { kind: 'remove' }
    | { kind: 'insert'; key: string; value: string }
    | { kind: 'duplicate'; value: string; isFirst: boolean }
    | { kind: 'rename'; key: string }
    | { kind: 'escape' }
    | { kind: 'wrap'; as: 'list' | 'object' };
}

const change = <Kind extends string>(kind: Kind) => fc.constant(kind);

export const treeChange: fc.Arbitrary<TreeChange> = fc.record({
  at: fc.nat(400),
  change: fc.oneof(
    { weight: 10, arbitrary: fc.record({ kind: change('replace'), value: hostileValue }) },
    { weight: 3, arbitrary: fc.record({ kind: change('remove') }) },
    { weight: 4, arbitrary: fc.record({ kind: change('insert'), key: hostileKey, value: hostileValue }) },
    { weight: 3, arbitrary: fc.record({ kind: change('duplicate'), value: hostileValue, isFirst: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ kind: change('rename'), key: hostileKey }) },
    { weight: 1, arbitrary: fc.record({ kind: change('escape') }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: change('wrap'), as: fc.constantFrom('list' as const, 'object' as const) }),
    },
  ),
});

/** Changes a tree in place. The root itself is never replaced; a tree without any place stays as it is. */
export function applyChange(root: JsonTree, { at, change: made }: TreeChange): void {
  const places = listPlaces(root);
  const place = places[at % places.length];
  if (place === undefined) return;
  const { holder, index } = place;
  switch (made.kind) {
    case 'replace':
      setValue(place, textNode(made.value));
      break;
    case 'remove':
      (holder.kind === 'list' ? holder.items : holder.members).splice(index, 1);
      break;
    case 'insert':
      insert(place, made.key, textNode(made.value));
      break;
    case 'duplicate':
      insert({ holder, index: made.isFirst ? index : index + 1 }, keyAt(place), textNode(made.value));
      break;
    case 'rename':
      setKey(place, made.key);
      break;
    case 'escape':
      setKey(place, escapeAll(keyAt(place)));
      break;
    case 'wrap':
      setValue(place, wrap(valueAt(place), made.as));
  }
}

const wrap = (value: JsonTree, as: 'list' | 'object'): JsonTree =>
  as === 'list' ? { kind: 'list', items: [value] } : { kind: 'object', members: [{ key: '"a"', value }] };

function valueAt({ holder, index }: JsonPlace): JsonTree {
  const value = holder.kind === 'list' ? holder.items[index] : holder.members[index]?.value;
  return value ?? textNode('null');
}

const keyAt = ({ holder, index }: JsonPlace): string =>
  (holder.kind === 'object' && holder.members[index]?.key) || '"a"';

function setValue({ holder, index }: JsonPlace, value: JsonTree): void {
  if (holder.kind === 'list') holder.items[index] = value;
  else holder.members[index] = { key: keyAt({ holder, index }), value };
}

function setKey(place: JsonPlace, key: string): void {
  if (place.holder.kind === 'object') place.holder.members[place.index] = { key, value: valueAt(place) };
}

function insert({ holder, index }: JsonPlace, key: string, value: JsonTree): void {
  if (holder.kind === 'list') holder.items.splice(index, 0, value);
  else holder.members.splice(index, 0, { key, value });
}

/** The same key to a reader of JSON, in other bytes. */
const escapeAll = (key: string): string =>
  `"${Array.from(String(JSON.parse(key)), (character) =>
    Array.from(
      { length: character.length },
      (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
    ).join(''),
  ).join('')}"`;
