import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { listRunning } from '../support/listRunning.ts';
import { whileHeld } from '../support/orderEngines.ts';
import { stack } from './stack.ts';

const MODEL = 'llama-3.1-8b-instruct';
interface GateFields {
  held_usd: number;
  key_remaining_usd: number;
}

const chat = (apiKey: string, content: string, fields: object = {}): Promise<Response> =>
  fetch(`${stack.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content }], ...fields }),
  });

it('one client whose calls break engines’ answers off does not take the model away from another', async () => {
  const [hostile, innocent] = await Promise.all([stack.operator.makeFundedKey(), stack.operator.makeFundedKey()]);
  const breakOff = async () => {
    for (let call = 0; call < 20; call += 1) {
      const response = await chat(hostile, '[[sim: tokens=5 fault=reset_mid_stream after=1]]', {
        stream: call % 2 === 0,
      });
      await response.text().catch(() => undefined);
    }
  };
  const statuses: number[] = [];
  const callOn = async () => {
    for (let call = 0; call < 40; call += 1) {
      const response = await chat(innocent, 'hello [[sim: tokens=3]]');
      await response.text();
      statuses.push(response.status);
    }
  };
  await Promise.all([breakOff(), breakOff(), callOn()]);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

it('a body over 20 MiB is a 400 that its sender gets to read', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  for (const mebibytes of [21, 30, 21, 30, 21]) {
    const response = await chat(apiKey, 'x'.repeat(mebibytes * 1_048_576));
    expect(response.status).toBe(400);
    expect(response.headers.get('x-router-call-id')).not.toBeNull();
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  }
});

it('so is one whose sender closes its connection behind it, and sends all before it reads', async () => {
  const { hostname, port } = new URL(stack.baseUrl);
  for (const framing of [`Content-Length: ${21 * 1_048_576}`, 'Transfer-Encoding: chunked']) {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      // Each its own: what a key sends in vain is bounded.
      const apiKey = await stack.operator.makeFundedKey();
      const socket = connect(Number(port), hostname).pause();
      socket.on('error', () => {});
      const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${apiKey}\r\n`;
      socket.write(`${head}Content-Type: application/json\r\n${framing}\r\n\r\n`);
      if (framing.endsWith('chunked')) socket.write(`${(21 * 1_048_576).toString(16)}\r\n`);
      const error = await new Promise((resolve) => socket.write(Buffer.alloc(21 * 1_048_576, 'x'), resolve));
      const answer = await text(socket).catch(String);
      expect({ framing, error, answer }).toEqual({
        framing,
        error: null,
        answer: expect.stringMatching(/^HTTP\/1\.1 400 .*x-router-call-id: .*"invalid_request_error"/s),
      });
    }
  }
});

it('exactly as many calls are admitted at once as a budget carries at worst, and held money comes back', async () => {
  // 100 output tokens and a short prompt cost at most 2.8e-6 USD on this model: the budget is for some ten of them.
  const apiKey = await stack.operator.makeFundedKey({ maxBudgetUsd: '0.000028' });
  const refusals: number[] = [];
  const { calls, held } = await whileHeld(stack, async () => {
    const calls = Array.from({ length: 60 }, async () => {
      const response = await chat(apiKey, '[[sim: tokens=100]]', { max_tokens: 100 });
      if (response.status !== 200) refusals.push(response.status);
      return response;
    });
    const held = await until('every call to be refused or to wait at an engine', async () => {
      const atEngines = (await listRunning(stack)).flat().length;
      return atEngines + refusals.length === 60 ? atEngines : undefined;
    });
    return { calls, held };
  });
  const answers = await Promise.all(calls);
  const admitted = answers.filter(({ status }) => status === 200);
  expect(new Set(refusals)).toEqual(new Set([402]));
  expect(admitted.length).toBe(held);
  expect(admitted.length).toBeGreaterThan(5);

  // A call is settled as its answer ends, which its client may see first.
  const { key_remaining_usd: remaining } = await until('nothing to be held', async () => {
    const worst = await chat(apiKey, '[[sim: tokens=100]]', { max_tokens: 2_000 });
    const { error } = (await worst.json()) as { error: { provider_specific_fields: GateFields } };
    return error.provider_specific_fields.held_usd === 0 ? error.provider_specific_fields : undefined;
  });
  const key = (await (
    await fetch(`${stack.baseUrl}/svc/key`, { headers: { authorization: `Bearer ${apiKey}` } })
  ).json()) as {
    spend_usd: number;
    remaining_budget_usd: number;
  };
  expect(key.remaining_budget_usd).toBe(remaining);
  expect(key.spend_usd).toBeLessThanOrEqual(0.000028);
});
