import { randomBytes, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { html } from '@turnpike/http-service/html';
import { listen } from '@turnpike/http-service/listen';
import type { Context } from '../cli/command.ts';
import { ACCOUNT_PARTS, type Part, REGION_PARTS } from './parts.ts';
import { renderReport } from './renderReport.ts';

const HOST = '127.0.0.1';
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};
/** The files of the page, which show nothing of a stack. */
const FILES: Record<string, { name: string; type: string }> = {
  '/': { name: 'page.html', type: 'text/html; charset=utf-8' },
  '/page.css': { name: 'page.css', type: 'text/css; charset=utf-8' },
  '/page.js': { name: 'page.js', type: 'text/javascript; charset=utf-8' },
};

interface PlacedPart {
  part: Part;
  context: Context;
  /** The name of the region, or of the account layer. */
  region: string;
}

/**
 * Serves the operator's page on this machine alone, until it is closed. The page only reads, by the commands of its parts. Its address
 * has a secret that works once. The tab that opens the address first gets a session for as long as the page is served. Everything but
 * the files of the page is refused without that session, and any request that names another host.
 */
export async function startOperatorPage(regions: Context[]): Promise<{ url: string; close(): void }> {
  const files = new Map(
    await Promise.all(
      Object.entries(FILES).map(
        async ([path, { name, type }]) =>
          [path, { text: await readFile(new URL(name, import.meta.url)), type }] as const,
      ),
    ),
  );
  const parts = listParts(regions);
  let oneTimeSecret: string | undefined = makeSecret();
  const session = makeSecret();

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method, url: path = '', headers } = req;
    const file = files.get(path);
    const bearer = headers.authorization?.replace(/^Bearer /, '') ?? '';
    if (headers.host !== host) return send(res, 404, 'There is nothing here.');
    if (path === '/session') {
      if (method !== 'POST') return send(res, 405, 'This path takes POST.');
      if (oneTimeSecret === undefined || !isEqual(bearer, oneTimeSecret))
        return send(res, 401, 'This address is used.');
      oneTimeSecret = undefined;
      return send(res, 200, session);
    }
    if (method !== 'GET') return send(res, 405, 'This page only reads.');
    if (file) return void res.writeHead(200, { 'content-type': file.type }).end(file.text);
    if (!isEqual(bearer, session)) return send(res, 401, 'This needs the session of the page.');
    if (path === '/parts') {
      const listed = [...parts].map(([of, { region, part }]) => ({ path: of, region, title: part.title }));
      return send(res, 200, JSON.stringify(listed));
    }
    const placed = parts.get(path);
    if (!placed) return send(res, 404, 'There is nothing here.');
    const { markup, isFailure } = await renderPart(placed);
    res.setHeader('x-turnpike-look', isFailure ? 'yes' : 'no');
    send(res, 200, markup);
  }

  const server = await listen(
    (req, res) => {
      for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value);
      void answer(req, res);
    },
    { host: HOST, port: 0 },
  );
  const host = `${HOST}:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/#${oneTimeSecret}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Lists the parts by their paths. The account layer is asked by the operator of the first region. */
function listParts(regions: Context[]): Map<string, PlacedPart> {
  const parts = new Map<string, PlacedPart>();
  for (const context of regions)
    for (const [name, part] of Object.entries(REGION_PARTS))
      parts.set(`/parts/${context.region}/${name}`, { part, context, region: `Region ${context.region}` });
  for (const context of regions.slice(0, 1))
    for (const [name, part] of Object.entries(ACCOUNT_PARTS))
      parts.set(`/parts/account/${name}`, { part, context, region: 'Account layer' });
  return parts;
}

/** Makes the markup of a part. If its report fails, the markup says why. */
async function renderPart({ part, context, region }: PlacedPart): Promise<{ markup: string; isFailure: boolean }> {
  const toReport = (table: Context['table']) => part.report({ ...context, table });
  return renderReport(toReport, { label: `${part.title}, ${region}` }).catch((error: unknown) => ({
    markup: html`<p>${region} gives no answer. ${context.explain(error) ?? `turnpike itself failed: ${error}`}</p>`
      .text,
    isFailure: true,
  }));
}

const makeSecret = (): string => randomBytes(32).toString('base64url');

const isEqual = (given: string, secret: string): boolean =>
  given.length === secret.length && timingSafeEqual(Buffer.from(given), Buffer.from(secret));

function send(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}
