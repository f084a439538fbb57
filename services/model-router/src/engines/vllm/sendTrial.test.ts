import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from '@jest/globals';
import { Pool } from 'undici';
import { listenAnywhere } from '../../../test/listenAnywhere.ts';
import { sendTrial } from './vllm.ts';

const BEGINNING = 'data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n';
const END = 'data: {"choices":[],"usage":{"prompt_tokens":1010,"completion_tokens":16}}\n\ndata: [DONE]\n\n';

let server: Server;
let pool: Pool;
afterEach(async () => {
  await pool.destroy();
  server.closeAllConnections();
  server.close();
});

/** Runs a trial on an engine with these answers. Returns the bodies that it received, and the result. */
async function tryOut(
  answer: (res: ServerResponse, req: IncomingMessage) => void,
  { onFirstEvent = () => {}, times = 1 } = {},
): Promise<{ bodies: string[]; heard: string[] }> {
  const bodies: string[] = [];
  const heard: string[] = [];
  server = createServer(async (req, res) => {
    bodies.push(await text(req));
    answer(res, req);
  });
  pool = new Pool(await listenAnywhere(server));
  for (let time = 0; time < times; time += 1)
    await sendTrial(pool, 'a-model', {
      promptTokens: 1_000,
      outputTokens: 16,
      onFirstEvent() {
        heard.push('first event');
        onFirstEvent();
      },
      end: (completionTokens) => void heard.push(`end ${completionTokens}`),
    });
  return { bodies, heard };
}

it('reports the first event when it comes, not when the answer ends', async () => {
  let goOn = () => {};
  const { heard } = await tryOut(
    (res) => {
      res.write(BEGINNING);
      goOn = () => void res.end(END);
    },
    { onFirstEvent: () => goOn() },
  );
  expect(heard).toEqual(['first event', 'end 16']);
});

it('hears the first event whatever comes before it, and in however many pieces', async () => {
  const { heard } = await tryOut((res) => {
    const [begun, rest] = [BEGINNING.slice(0, 12), BEGINNING.slice(12)];
    res.write(': a comment\n\n');
    setImmediate(() => res.write(begun, () => setImmediate(() => res.end(rest + END))));
  });
  expect(heard).toEqual(['first event', 'end 16']);
});

it.each([429, 500, 503])('asks one that answers %i no second time', async (status) => {
  const { bodies, heard } = await tryOut((res) => res.writeHead(status).end());
  expect(bodies).toHaveLength(1);
  expect(heard).toEqual(['end undefined']);
});

it('asks for a completion where there is no chat', async () => {
  const { heard } = await tryOut((res, req) =>
    req.url === '/v1/completions' ? res.end(BEGINNING + END) : res.writeHead(404).end(BEGINNING),
  );
  expect(heard).toEqual(['first event', 'end 16']);
});

it('sends a prompt of about so many tokens that no engine has cached', async () => {
  const { bodies } = await tryOut((res) => res.end(BEGINNING + END), { times: 2 });
  const [first, second] = bodies.map((body) => JSON.parse(body) as { messages: { content: string }[] });
  expect(first).toMatchObject({ model: 'a-model', max_tokens: 16, stream: true });
  expect(first?.messages[0]?.content).toMatch(/^Repeat these letters:( [a-z]){1000}$/);
  expect(second?.messages[0]?.content.slice(0, 80)).not.toBe(first?.messages[0]?.content.slice(0, 80));
});

it.each<[string, (res: ServerResponse) => void]>([
  ['fails', (res) => res.writeHead(500).end(BEGINNING)],
  ['is full', (res) => res.writeHead(503).end()],
  ['answers with an error as an event', (res) => res.end('data: {"error":{"message":"no"}}\n\n')],
  ['breaks off', (res) => res.socket?.destroy()],
])('measures nothing where the engine %s', async (_case, answer) => {
  const { heard } = await tryOut(answer);
  expect(heard).toEqual(['end undefined']);
});

it('does not count an answer that says no count', async () => {
  expect((await tryOut((res) => res.end(BEGINNING))).heard).toEqual(['first event', 'end undefined']);
});
