import type { ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import { aCatalogModel } from '../../libs/internal-api/src/aCatalogModel.ts';
import { gateRejection, type WireError } from '../../libs/public-api/src/wireError.ts';
import type { Eyes } from './eyes.ts';
import type { OpenWorkspace, RegionalDashboard } from './startRegion.ts';

export const CHAT_MODELS = [
  aCatalogModel({ id: 'large-chat' }),
  aCatalogModel({ id: 'small-embed', category: 'embeddings' }),
];
const READY = { engines: 1, healthy: 1 };
export const LIVE_CHAT_MODELS = { 'large-chat': READY, 'small-embed': READY };

/** Sends a chunk of a streamed answer. */
export function say(res: ServerResponse, delta: object, finish: string | null = null): void {
  if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.write(`: keep-alive\n\ndata: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
}
/** Ends a streamed answer with its usage. */
export function end(res: ServerResponse, cost = 0.00012): void {
  const usage = { prompt_tokens: 9, completion_tokens: 3, cost };
  res.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
}
export const refuse = (res: ServerResponse, { status, body, headers = {} }: WireError): void =>
  void res.writeHead(status, headers).end(JSON.stringify(body));

/** Sends a message from the playground. */
export async function ask(page: Page, question = 'Hi'): Promise<void> {
  await page.getByLabel('Message').fill(question);
  await page.getByRole('button', { name: 'Send' }).click();
}

/** Walks over the playground of a new workspace. */
export async function walkPlayground(
  dashboard: RegionalDashboard,
  { page, path }: OpenWorkspace,
  eyes: Eyes,
): Promise<void> {
  dashboard.catalog.show([], {});
  await eyes.look(page, `${path}/playground`, 'playground-without-models');
  // A page with a route has no cache.
  await page.route('**/console/models', (route) => route.continue());
  dashboard.catalog.show(CHAT_MODELS, LIVE_CHAT_MODELS);
  await eyes.look(page, `${path}/playground`, 'playground');
  const answer = new Promise<ServerResponse>((resolve) => dashboard.answerChats((_req, res) => resolve(res)));
  await ask(page, 'مرحبا');
  const res = await answer;
  say(res, { reasoning: 'Sie fragen nach einem langen Wort. '.repeat(9) });
  say(res, { content: `שלום ${'Donaudampfschifffahrtsgesellschaftskapitän'.repeat(9)}` });
  await page.getByText('Donaudampf').waitFor();
  await eyes.check(page, 'playground-streaming');
  end(res);
  await page.getByText('The answer is whole.').waitFor();
  dashboard.answerChats((_req, refused) =>
    refuse(refused, gateRejection(402, { error: 'account_on_hold', message: 'Add credit first.' })),
  );
  await ask(page);
  await page.getByRole('alert').waitFor();
  await eyes.check(page, 'playground-refused');
}
