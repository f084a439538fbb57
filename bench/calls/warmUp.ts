import { toRequests } from './measureCost.ts';
import type { Target } from './target.ts';
import type { Targets } from './targets.ts';
import { toChatRequest } from './wire.ts';

const CONNECTIONS = 32;
/** Some ten thousand calls and twenty thousand chunks: by then Node's compilers have done most of what they do. */
const CALLS = 10_000;
const MOST_SECONDS = 15;
/** LiteLLM is not compiled while it runs, and takes a hundred times as long. */
const LITELLM_SECONDS = 2;
/** Streams for each target, all targets at the same time: the first paced, the others all at once. */
const STREAMS = [
  { tokens: 100, everyMs: 20, each: 40 },
  { tokens: 1_000, everyMs: 0, each: 16 },
];

/** Sends each target what it will be sent, until its code is compiled and its connections are open. */
export async function warmUp(targets: Targets, progress: (text: string) => void): Promise<void> {
  const { engine, load, otherLoad, nginxTwice, pipes, edge, router } = targets;
  const { portkey, litellm } = targets;
  progress('warming up the baselines and the other gateways');
  const baselines = async (): Promise<void> => {
    await sendWhole(targets, nginxTwice, CALLS);
    await sendWhole(targets, pipes, CALLS);
    if (litellm) await sendWhole(targets, litellm, CALLS, LITELLM_SECONDS);
  };
  // Portkey takes the longest.
  await Promise.all([portkey && sendWhole({ load: otherLoad }, portkey, CALLS), baselines()]);
  progress(`warming up ${edge.name}`);
  await sendWhole(targets, edge, CALLS);
  // The router is warm by now, but for its own listener.
  await sendWhole(targets, router, CALLS / 10);
  progress('warming up with streams');
  const streamed = [nginxTwice, pipes, edge, ...(portkey ? [portkey] : [])];
  for (const { each, ...plan } of STREAMS) {
    await engine.ask(plan);
    const order = { kind: 'once', connections: each * streamed.length, seconds: 0, rate: 0, withinMs: 1_000 } as const;
    // The n-th request goes to the n-th port, counted round and round.
    const requests = Array.from({ length: each }, (_, index) =>
      streamed.map((target) => {
        const ofTarget = toRequests(target, toChatRequest({ isStream: true }));
        return ofTarget[index % ofTarget.length] ?? '';
      }),
    ).flat();
    await load.ask({ ...order, port: edge.port, ports: streamed.map(({ port }) => port), requests });
  }
  await edge.settled();
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
