import type { JsonPath } from '@turnpike/request-reading/body/scanJson';

/** Literal bytes by the path of their value. */
export type LiteralTree = Map<string | number, LiteralTree | readonly Buffer[]>;

/** A value's JSON in pieces, with its path. */
export interface PlacedLiteral {
  path: JsonPath;
  pieces: readonly Buffer[];
}

/** Builds the tree of literals. A later literal replaces those inside it. */
export function toLiteralTree(literals: Iterable<PlacedLiteral>): LiteralTree {
  const tree: LiteralTree = new Map();
  for (const { path, pieces } of literals) {
    let node = tree;
    for (const step of path.slice(0, -1)) {
      const below = node.get(step);
      const next: LiteralTree = below instanceof Map ? below : new Map();
      node.set(step, next);
      node = next;
    }
    const last = path.at(-1);
    if (last !== undefined) node.set(last, pieces);
  }
  return tree;
}

/** Writes a value as JSON in pieces. What has a literal at its place is not written but copied from there. */
export function writeJson(value: unknown, literals: LiteralTree | readonly Buffer[] | undefined): Buffer[] {
  const pieces: Buffer[] = [];
  let text = '';
  const write = (part: unknown, here: LiteralTree | readonly Buffer[] | undefined): void => {
    if (here === undefined) {
      text += JSON.stringify(part);
    } else if (!(here instanceof Map)) {
      pieces.push(Buffer.from(text), ...here);
      text = '';
    } else if (Array.isArray(part)) {
      text += '[';
      for (const [index, element] of part.entries()) {
        if (index > 0) text += ',';
        write(element, here.get(index));
      }
      text += ']';
    } else {
      let separator = '{';
      for (const [key, member] of Object.entries(part as object)) {
        if (member === undefined) continue;
        text += `${separator}${JSON.stringify(key)}:`;
        separator = ',';
        write(member, here.get(key));
      }
      text += separator === '{' ? '{}' : '}';
    }
  };
  write(value, literals);
  if (text !== '') pieces.push(Buffer.from(text));
  return pieces;
}
