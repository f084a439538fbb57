import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { NONCE_PLACEHOLDER } from '@turnpike/console-api/pages';
import type { RequestHandler } from 'express';

/** The built files of the dashboard, in memory: they are few and small. */
export interface Pages {
  indexHtml: string;
  /** Files that a page loads beside those of `indexHtml`, by the path of the page. */
  filesOf: Record<string, string[]>;
  /** Files by their names below `assets/`. A name has the hash of its content. */
  assets: Map<string, { type: string; content: Buffer; compressed: Buffer }>;
}

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads the files that a build of the dashboard left in a folder. Throws if it is none. */
export async function readPages(folder: string): Promise<Pages> {
  const indexHtml = await readFile(join(folder, 'index.html'), 'utf8');
  const filesOf: Pages['filesOf'] = JSON.parse(await readFile(join(folder, 'files.json'), 'utf8'));
  const assets: Pages['assets'] = new Map();
  for (const name of await readdir(join(folder, 'assets'))) {
    const content = await readFile(join(folder, 'assets', name));
    const type = TYPES[extname(name)];
    if (type === undefined) throw new Error(`the dashboard has a file of an unknown type: ${name}`);
    assets.set(name, { type, content, compressed: await promisify(gzip)(content) });
  }
  return { indexHtml, filesOf, assets };
}

/**
 * Answers with `index.html` and links to the files of the page, so that a browser loads them all at once. A nonce of this answer lets
 * Mantine add its styles. No other inline style or script runs. The page may call its own origin and the given ones.
 */
export function sendPage({ indexHtml, filesOf }: Pages, path: string, calledOrigins: string[]): RequestHandler {
  const connect = ["'self'", ...calledOrigins].join(' ');
  const html = indexHtml.replace('</head>', (end) => `${(filesOf[path] ?? []).map(toLink).join('')}${end}`);
  return (_req, res) => {
    const nonce = randomBytes(16).toString('base64url');
    res.set({
      'cache-control': 'no-cache',
      'content-security-policy': `default-src 'self'; style-src 'self' 'nonce-${nonce}'; connect-src ${connect}; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
      'content-type': 'text/html; charset=utf-8',
    });
    res.send(html.replaceAll(NONCE_PLACEHOLDER, nonce));
  };
}

const toLink = (file: string): string =>
  file.endsWith('.css')
    ? `<link rel="stylesheet" crossorigin href="/${file}">`
    : `<link rel="modulepreload" crossorigin href="/${file}">`;

/** Answers with a file for good, since another content has another name. */
export function sendAsset({ assets }: Pages): RequestHandler {
  return (req, res, next) => {
    const asset = assets.get(String(req.params.name));
    if (!asset) return next();
    const isCompressed = req.acceptsEncodings('gzip') === 'gzip';
    res.set({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': asset.type,
      vary: 'accept-encoding',
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    });
    res.send(isCompressed ? asset.compressed : asset.content);
  };
}
