import { readFile } from 'node:fs/promises';
import type { Region } from '@turnpike/config/region';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { parseCatalogFile } from './parseCatalogFile.ts';

/** The mistakes in a catalog file, one a line, each with file, line and reason, to be printed as they stand. */
export class CatalogFileError extends Error {
  override name = 'CatalogFileError';
  readonly mistakes: string[];

  constructor(mistakes: string[], options?: ErrorOptions) {
    super(mistakes.join('\n'), options);
    this.mistakes = mistakes;
  }
}

/** Reads a region's catalog file. Throws one `CatalogFileError` naming every mistake, or why the file cannot be read. */
export async function readCatalogFile(path: string, region: Region): Promise<CatalogModel[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CatalogFileError([`${path}: cannot be read (${error.code})`], { cause: error });
  });
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const refuse = (mistakes: { at: number; reason: string }[]): CatalogFileError => {
    const lines = mistakes.map(({ at, reason }) => ({ line: lineCounter.linePos(at).line, reason }));
    lines.sort((a, b) => a.line - b.line);
    return new CatalogFileError(lines.map(({ line, reason }) => `${path}:${line}: ${reason}`));
  };

  const broken = findBrokenYaml(document);
  if (broken.length > 0) throw refuse(broken);
  const parsed = parseCatalogFile(toContent(document, path), region);
  if ('models' in parsed) return parsed.models;
  throw refuse(
    parsed.mistakes.map(({ steps, reason }) => ({
      at: offsetOf(document, steps),
      reason: `${toPlace(steps)}: ${reason}`,
    })),
  );
}

/** Returns the entries of a catalog file as they are written. Read with `readCatalogFile` first, which says what is wrong with it. */
export async function readCatalogEntries(path: string): Promise<{ id: string }[]> {
  const { models } = parseDocument(await readFile(path, 'utf8')).toJS() as { models: { id: string }[] };
  return models;
}

function findBrokenYaml(document: Document): { at: number; reason: string }[] {
  const mistakes = document.errors.map(({ pos, message }) => ({ at: pos[0], reason: message }));
  visit(document, {
    Alias(_key, node) {
      if (!node.resolve(document)) mistakes.push({ at: node.range?.[0] ?? 0, reason: `*${node.source} is no anchor` });
    },
  });
  return mistakes;
}

/** Anchors that name each other a thousandfold are refused instead of spelt out. */
function toContent(document: Document, path: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new CatalogFileError([`${path}: ${error instanceof Error ? error.message : 'cannot be read'}`]);
  }
}

const toPlace = (steps: (string | number)[]): string =>
  steps.reduce<string>(
    (place, step) => (typeof step === 'number' ? `${place}[${step}]` : place === '' ? step : `${place}.${step}`),
    '',
  ) || 'file';

/** The offset of a key or an item in the file, or of the nearest value around it when it is missing. */
function offsetOf(document: Document, steps: (string | number)[]): number {
  for (let length = steps.length; length > 0; length -= 1) {
    const around = document.getIn(steps.slice(0, length - 1), true);
    const step = steps[length - 1];
    const node = isMap(around)
      ? around.items.map(({ key }) => key).find((key) => isScalar(key) && key.value === step)
      : document.getIn(steps.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return document.contents?.range?.[0] ?? 0;
}
