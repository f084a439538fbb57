import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { parsePrice } from '@turnpike/money/price';

/** A difference between two catalogs: a model that came or went, or a field of a model with another value. */
export interface CatalogChange {
  model: string;
  kind: 'added' | 'removed' | 'changed';
  /** The place of the value in the model: `pricing.prompt`. Absent if the model came or went. */
  field?: string;
  from?: string;
  to?: string;
  /** The new price divided by the old one. Infinity if the old one was nothing. Absent of a field that is no price. */
  factor?: number;
}

/** A price that rises or falls by more than this is more often a mistake than a wish. */
const LARGE_FACTOR = 10;

/** Lists the differences between two catalogs of a region, by model and field. */
export function compareCatalogs(before: readonly CatalogModel[], after: readonly CatalogModel[]): CatalogChange[] {
  const old = new Map(before.map((model) => [model.id, model]));
  const kept = new Set(after.map(({ id }) => id));
  return [
    ...after.flatMap((model): CatalogChange[] => {
      const known = old.get(model.id);
      return known ? compareModels(known, model) : [{ model: model.id, kind: 'added' }];
    }),
    ...before.filter(({ id }) => !kept.has(id)).map(({ id }): CatalogChange => ({ model: id, kind: 'removed' })),
  ];
}

/** Whether a change is of a price, to or from nothing, or by more than a factor of ten. */
export const isLargeChange = ({ factor }: CatalogChange): boolean =>
  factor !== undefined && (factor > LARGE_FACTOR || factor < 1 / LARGE_FACTOR);

function compareModels(before: CatalogModel, after: CatalogModel): CatalogChange[] {
  const [old, latest] = [toLeaves(before), toLeaves(after)];
  return [...new Set([...old.keys(), ...latest.keys()])].flatMap((field): CatalogChange[] => {
    const [from = '-', to = '-'] = [old.get(field), latest.get(field)];
    if (from === to) return [];
    const factor = isPrice(field) ? toFactor(from, to) : undefined;
    return [{ model: after.id, kind: 'changed', field, from, to, ...(factor !== undefined && { factor }) }];
  });
}

const isPrice = (field: string): boolean => field.startsWith('pricing.') || field === 'media.unitPrice';

function toFactor(from: string, to: string): number | undefined {
  if (from === '-' || to === '-') return undefined;
  const [old, latest] = [parsePrice(from), parsePrice(to)];
  return old === 0n ? Number.POSITIVE_INFINITY : Number(latest) / Number(old);
}

/** Returns the values of a model as texts, by their place in it. A list is one value. */
function toLeaves(value: object, place = ''): Map<string, string> {
  const leaves = new Map<string, string>();
  for (const [name, inner] of Object.entries(value)) {
    const path = place === '' ? name : `${place}.${name}`;
    if (inner === undefined || inner === null) continue;
    if (typeof inner === 'object' && !Array.isArray(inner))
      for (const [below, text] of toLeaves(inner, path)) leaves.set(below, text);
    else leaves.set(path, Array.isArray(inner) ? inner.join(', ') : String(inner));
  }
  return leaves;
}
