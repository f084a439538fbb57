import { afterEach, expect, it } from '@jest/globals';
import { anHttpEngine, type HttpEngine } from '../../test/anHttpEngine.ts';
import { EngineExchange, type EngineListener } from './engineExchange.ts';

let engine: HttpEngine;
afterEach(() => engine.close());

const OURS = new TypeError('a mistake of ours');
const throws = (): never => {
  throw OURS;
};

/** Resolves with what ends an exchange for its listener. */
async function dispatch(listener: Partial<EngineListener>): Promise<unknown[]> {
  const heard: unknown[] = [];
  const over = Promise.withResolvers<void>();
  const end =
    (name: string) =>
    (what?: unknown): void => {
      heard.push(name, what);
      over.resolve();
    };
  const request = {
    path: '/v1/chat/completions',
    body: [Buffer.from('{}')],
    requestId: 'call',
    traceparent: undefined,
  };
  const exchange = new EngineExchange(engine.engine, {
    onHeaders: () => {},
    onData: () => {},
    onEnd: end('end'),
    onError: end('error'),
    onUnforeseen: end('unforeseen'),
    ...listener,
  });
  await exchange.send(request);
  await over.promise;
  return heard;
}

it.each(['onHeaders', 'onData', 'onEnd'] as const)(
  'says that what %s throws is an error of ours, and uses its connection no more',
  async (name) => {
    const sockets = new Set<unknown>();
    engine = await anHttpEngine('engine-1', (res) => {
      sockets.add(res.socket);
      res.end('{}');
    });
    expect(await dispatch({ [name]: throws })).toEqual(['unforeseen', OURS]);
    expect(engine.engine.traffic.openCalls).toBe(0);
    expect(await dispatch({})).toEqual(['end', undefined]);
    expect(sockets.size).toBe(2);
  },
);

it('says that a request that cannot be written is an error of ours', async () => {
  engine = await anHttpEngine('engine-1', (res) => void res.end('{}'));
  const body = new Proxy([], { get: throws }) as Buffer[];
  const over = Promise.withResolvers<unknown>();
  const listener = { onHeaders: throws, onData: throws, onEnd: throws, onError: over.reject };
  const request = { path: '/', body, requestId: 'call', traceparent: undefined };
  const exchange = new EngineExchange(engine.engine, { ...listener, onUnforeseen: over.resolve });
  await exchange.send(request);
  expect(await over.promise).toBe(OURS);
  expect(engine.engine.traffic.openCalls).toBe(0);
});
