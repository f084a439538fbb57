import { toRequests } from './measureCost.ts';
import type { Target } from './target.ts';
import type { Targets } from './targets.ts';
import { toChatRequest } from './wire.ts';

const CONNECTIONS = 32;
/** Some ten thousand calls and twenty thousand chunks: by then Node's compilers have done what they do. */
const CALLS = 10_000;
const MOST_SECONDS = 15;
const STREAMS = { connections: 200, tokens: 100, everyMs: 20 };
/** It is not compiled while it runs, and takes a hundred times as long. */
const LITELLM_SECONDS = 3;

/** Sends each target what it will be sent, until its code is compiled and its connections are open. */
export async function warmUp(targets: Targets, progress: (text: string) => void): Promise<void> {
  const { nginx, nginxTwice, pipes, edge, router, untracedEdge, tracedEdge, portkey, litellm } = targets;
  for (const target of [nginx, nginxTwice, pipes, portkey, router, edge]) {
    if (!target) continue;
    progress(`warming up ${target.name}`);
    await sendWhole(targets, target, CALLS);
  }
  for (const target of [untracedEdge, tracedEdge]) await sendWhole(targets, target, CALLS / 2);
  if (litellm) await sendWhole(targets, litellm, CALLS, LITELLM_SECONDS);
  const { connections, ...plan } = STREAMS;
  await targets.engine.ask(plan);
  for (const target of [nginx, nginxTwice, pipes, edge, portkey]) {
    if (!target) continue;
    progress(`warming up ${target.name}: streams`);
    const order = { kind: 'once', connections, seconds: 0, rate: 0, withinMs: 1_000 } as const;
    const requests = toRequests(target, toChatRequest({ isStream: true }));
    await targets.load.ask({ ...order, port: target.port, requests });
  }
}

/** A second at a time, until there were enough. What fails here is no figure's business: nobody is warm. */
export async function sendWhole(
  { load }: Pick<Targets, 'load'>,
  target: Target,
  atLeast: number,
  mostSeconds = MOST_SECONDS,
): Promise<void> {
  const order = { kind: 'closed', connections: CONNECTIONS, seconds: 1, rate: 0, withinMs: 0 } as const;
  const requests = toRequests(target, toChatRequest());
  for (let [sent, second] = [0, 0]; sent < atLeast && second < mostSeconds; second += 1)
    sent += (await load.ask({ ...order, port: target.port, requests })).wholeMs.length;
}
