/** Pattern of a model's id in the catalog. */
const ID_PATTERN = /^[a-z0-9][a-z0-9._-]{0,95}$/;
/** Leaves room for a number behind it. */
const MAX_BASE_LENGTH = 90;

/**
 * A catalog id for each of the engines' own names, which are all different, and so are the ids. A name that can be an id
 * is one; any other gives its last segment in the letters of an id: `Qwen/Qwen3-0.6B` becomes `qwen3-0.6b`.
 */
export function nameModels(servedNames: string[]): Map<string, string> {
  const ids = new Map(servedNames.filter((name) => ID_PATTERN.test(name)).map((name) => [name, name]));
  const taken = new Set(ids.values());
  for (const name of servedNames) {
    if (ids.has(name)) continue;
    const base = toIdLetters(name);
    let id = base;
    for (let count = 2; taken.has(id); count += 1) id = `${base}-${count}`;
    ids.set(name, id);
    taken.add(id);
  }
  return ids;
}

function toIdLetters(name: string): string {
  const lastSegment = name.split('/').findLast((segment) => segment !== '') ?? '';
  const letters = lastSegment
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '');
  return letters.slice(0, MAX_BASE_LENGTH) || 'model';
}
